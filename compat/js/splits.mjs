// Run by ../cases/test_splits.py. Writes and reads a table, with the client's default retries, until stdin ends. Then
// prints as JSON how many rows it wrote, how many of them are missing, and whether the table lists its rows in order.
// For each input on stdin, prints a line when every worker has completed a round that began after that input. Any error
// ends the program with a nonzero exit code.

import { TableClient } from "@azure/data-tables";

const WORKERS = 4;
const partitions = Number(process.env.TABLE_PARTITIONS);
const client = TableClient.fromConnectionString(process.env.TABLE_CONNECTION, "splits", { allowInsecureConnection: true });

let working = true;
const rounds = new Array(WORKERS).fill(0);
let goals = null;

process.stdin.on("data", () => { goals = rounds.map((done) => done + 2); });
process.stdin.on("end", () => { working = false; });

function roundDone(worker) {
  rounds[worker] += 1;
  if (goals && rounds.every((done, index) => done >= goals[index])) {
    goals = null;
    console.log("worked");
  }
}

async function work(worker) {
  const name = `w${worker}`;
  const written = [];
  for (let number = 0; working; number += 1) {
    const partitionKey = `p${String(number % partitions).padStart(2, "0")}`;
    const rowKey = `${name}-${String(number).padStart(6, "0")}`;
    const { etag } = await client.createEntity({ partitionKey, rowKey, n: number });
    await client.updateEntity({ partitionKey, rowKey, m: 1 }, "Merge", { etag });
    const batch = Array.from({ length: 10 }, (_, row) => ["upsert", { partitionKey, rowKey: `${name}-batch-${row}`, n: number }]);
    await client.submitTransaction(batch);
    const found = await client.getEntity(partitionKey, rowKey);
    if (found.n !== number || found.m !== 1) throw new Error(`${partitionKey}/${rowKey} is ${JSON.stringify(found)}`);
    written.push(`${partitionKey}/${rowKey}`);
    roundDone(worker);
  }
  return written;
}

await client.createTable();
const underWay = Array.from({ length: WORKERS }, (_, index) => work(index));
console.log("working");
const written = (await Promise.all(underWay)).flat();
const keys = [];
for await (const { partitionKey, rowKey } of client.listEntities()) keys.push(`${partitionKey}/${rowKey}`);
const there = new Set(keys);
const missing = written.filter((key) => !there.has(key)).length;
const ordered = keys.every((key, index) => index === 0 || keys[index - 1] < key);
console.log(JSON.stringify({ rows: written.length, missing, ordered }));
