// The official JavaScript client on a server with a target of 20 entities/s for each partition. The server admits a
// transaction of 100 rows. That leaves a debt of 4 s, so the server refuses the next request.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RestError, TableClient } from "@azure/data-tables";
import { connection, newName } from "./connection.mjs";

const clientOf = (name, options = {}) => TableClient.fromConnectionString(connection, name, { allowInsecureConnection: true, ...options });

async function inDebt(prefix) {
  const client = clientOf(newName(prefix));
  await client.createTable();
  await client.submitTransaction(Array.from({ length: 100 }, (_, row) => ["create", { partitionKey: "hot", rowKey: `${row}` }]));
  return client;
}

test("without retries a throttled partition is an error", async () => {
  const { tableName } = await inDebt("jstold");
  const client = clientOf(tableName, { retryOptions: { maxRetries: 0 } });
  const calls = [
    () => client.createEntity({ partitionKey: "hot", rowKey: "new" }), () => client.getEntity("hot", "0"),
    () => client.submitTransaction([["create", { partitionKey: "hot", rowKey: "new" }]]),
  ];
  for (const call of calls) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof RestError, String(error));
      assert.equal(error.statusCode, 503);
      assert.equal(error.response.headers.get("x-partita-reason"), "partition-target");
      assert.ok(Number(error.response.headers.get("retry-after")) >= 1);
      return true;
    });
  }
  await client.createEntity({ partitionKey: "cool", rowKey: "new" });
});

test("with default retries a throttled partition is slow, without errors", async () => {
  const client = await inDebt("jsslow");
  await client.createEntity({ partitionKey: "hot", rowKey: "new" });
  await client.submitTransaction([["upsert", { partitionKey: "hot", rowKey: "new", n: 1 }, "Merge"]]);
  assert.equal((await client.getEntity("hot", "new")).n, 1);
});
