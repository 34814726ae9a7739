// The official JavaScript client over TLS. It trusts the certificate only because NODE_EXTRA_CA_CERTS names it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { collect, connection, newName } from "./connection.mjs";

test("over TLS", async () => {
  const client = TableClient.fromConnectionString(connection, newName("jstls"), { retryOptions: { maxRetries: 0 } });
  await client.createTable();
  await client.createEntity({ partitionKey: "p", rowKey: "r", n: 5 });
  await client.submitTransaction([["create", { partitionKey: "p", rowKey: "s" }], ["delete", { partitionKey: "p", rowKey: "r" }]]);
  assert.deepEqual((await collect(client.listEntities())).map((row) => row.rowKey), ["s"]);
  await client.deleteTable();
});
