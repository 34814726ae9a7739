// Parameters that ../cases/test_node_clients.py passes, and names for new tables.

export const connection = process.env.TABLE_CONNECTION;
export const url = process.env.TABLE_URL;
export const account = process.env.TABLE_ACCOUNT;
export const key = process.env.TABLE_KEY;

let count = 0;

export function newName(prefix) {
  count += 1;
  return `${prefix}${Date.now() % 1e9}n${process.pid}n${count}`;
}

export async function collect(iterator) {
  const found = [];
  for await (const item of iterator) found.push(item);
  return found;
}
