// Parameters that ../cases/node_runner.py passes, and names for new tables and queues.

export const connection = process.env.STORAGE_CONNECTION;
export const url = process.env.STORAGE_URL;
export const account = process.env.STORAGE_ACCOUNT;
export const key = process.env.STORAGE_KEY;

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
