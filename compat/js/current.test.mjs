// The official JavaScript client, @azure/data-tables: Shared Key Lite, its own way to write batches, tokens unescaped.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AzureNamedKeyCredential, AzureSASCredential, TableClient, TableServiceClient, TableTransaction, generateAccountSas,
  generateTableSas, odata,
} from "@azure/data-tables";
import { account, collect, connection, key, newName, url } from "./connection.mjs";

const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const clientOf = (name) => TableClient.fromConnectionString(connection, name, options);

async function freshTable(prefix) {
  const client = clientOf(newName(prefix));
  await client.createTable();
  return client;
}

const typed = {
  partitionKey: "it's é", rowKey: "r%1+ é", text: "tex't 😀", empty: "", flag: false, number: 5, fraction: 5.5,
  big: 9007199254740993n, date: new Date("2024-01-02T03:04:05.006Z"), bytes: new Uint8Array([0, 1, 255]),
  guid: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" }, whole: { type: "Double", value: "7" },
  ticks: { type: "DateTime", value: "2013-08-02T17:37:43.9004348Z" }, nothing: null,
};

test("types round-trip", async () => {
  const client = await freshTable("jstypes");
  await client.createEntity(typed);
  const found = await client.getEntity(typed.partitionKey, typed.rowKey);
  assert.equal(found.text, typed.text);
  assert.equal(found.empty, "");
  assert.equal(found.flag, false);
  assert.equal(found.number, 5);
  assert.equal(found.fraction, 5.5);
  assert.equal(found.big, 9007199254740993n);
  assert.equal(found.date.toISOString(), "2024-01-02T03:04:05.006Z");
  assert.deepEqual([...found.bytes], [0, 1, 255]);
  assert.equal(found.guid.value, typed.guid.value);
  assert.equal(found.whole, 7);
  assert.ok(!("nothing" in found) || found.nothing === undefined);
  const exact = await client.getEntity(typed.partitionKey, typed.rowKey, { disableTypeConversion: true });
  assert.deepEqual(exact.ticks, typed.ticks);
  assert.match(found.etag, /^W\/"datetime'/);
  await client.deleteTable();
});

test("conditions on updates and deletes", async () => {
  const client = await freshTable("jsconditions");
  const entity = { partitionKey: "p", rowKey: "r", a: 1, b: 1 };
  const { etag } = await client.createEntity(entity);
  await assert.rejects(client.createEntity(entity), (error) => error.statusCode === 409);
  await client.updateEntity({ partitionKey: "p", rowKey: "r", a: 2 }, "Merge", { etag });
  await assert.rejects(client.updateEntity(entity, "Replace", { etag }), (error) => error.statusCode === 412);
  await assert.rejects(client.deleteEntity("p", "r", { etag }), (error) => error.statusCode === 412);
  const found = await client.getEntity("p", "r");
  assert.deepEqual([found.a, found.b], [2, 1]);
  await client.upsertEntity({ partitionKey: "p", rowKey: "r", c: 3 }, "Replace");
  assert.equal((await client.getEntity("p", "r")).a, undefined);
  await client.deleteEntity("p", "r");
  await assert.rejects(client.getEntity("p", "r"), (error) => error.statusCode === 404);
  await client.deleteTable();
});

test("transactions", async () => {
  const client = await freshTable("jsbatch");
  await client.createEntity({ partitionKey: "p", rowKey: "old", a: 1, b: 1 });
  const work = new TableTransaction();
  work.createEntity({ partitionKey: "p", rowKey: "new é", a: 1 });
  work.updateEntity({ partitionKey: "p", rowKey: "old", a: 2 }, "Merge");
  work.upsertEntity({ partitionKey: "p", rowKey: "up", a: 3 }, "Replace");
  const answer = await client.submitTransaction(work.actions);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.subResponses.map((part) => part.status), [204, 204, 204]);
  assert.ok(answer.subResponses.every((part) => part.etag));
  const merged = await client.getEntity("p", "old");
  assert.deepEqual([merged.a, merged.b], [2, 1]);
  const failing = [["create", { partitionKey: "p", rowKey: "never" }], ["create", { partitionKey: "p", rowKey: "old" }]];
  await assert.rejects(client.submitTransaction(failing), (error) => error.statusCode === 409);
  await assert.rejects(client.getEntity("p", "never"), (error) => error.statusCode === 404);
  await client.submitTransaction([["delete", { partitionKey: "p", rowKey: "old" }]]);
  await client.deleteTable();
});

test("a transaction of 100, and pages", async () => {
  const client = await freshTable("jspages");
  for (const partition of ["a", "b"]) {
    const rows = Array.from({ length: 100 }, (_, row) => ["create", {
      partitionKey: partition, rowKey: String(row).padStart(3, "0"), n: row }]);
    await client.submitTransaction(rows);
  }
  const all = await collect(client.listEntities());
  assert.equal(all.length, 200);
  const pages = await collect(client.listEntities({ queryOptions: { filter: odata`n lt ${50}` } }).byPage({ maxPageSize: 30 }));
  assert.deepEqual(pages.map((page) => page.length), [30, 30, 30, 10]);
  const iterator = client.listEntities().byPage({ maxPageSize: 150 });
  const first = (await iterator.next()).value;
  const rest = await collect(client.listEntities().byPage({ maxPageSize: 150, continuationToken: first.continuationToken }));
  assert.deepEqual(rest.map((page) => page.length), [50]);
  await client.deleteTable();
});

test("filters of every type", async () => {
  const client = await freshTable("jsfilter");
  await client.createEntity(typed);
  const filters = [
    odata`text eq ${typed.text}`, odata`flag eq ${false}`, odata`number eq ${5}`, odata`fraction eq ${5.5}`,
    odata`date eq ${typed.date}`, "big eq 9007199254740993L", odata`empty eq ${""}`, "bytes eq X'0001ff'",
    "guid eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'", "PartitionKey eq 'it''s é' and number gt 4",
    "whole eq 7.0", "ticks gt datetime'2013-08-02T17:37:43.9004347Z'", "not (number eq 6)",
  ];
  for (const filter of filters) {
    assert.equal((await collect(client.listEntities({ queryOptions: { filter } }))).length, 1, filter);
  }
  const selected = await collect(client.listEntities({ queryOptions: { select: ["number", "text"] } }));
  assert.equal(selected[0].number, 5);
  assert.equal(selected[0].partitionKey, undefined);
  await client.deleteTable();
});

test("tables of the account", async () => {
  const service = TableServiceClient.fromConnectionString(connection, options);
  const name = newName("jstables");
  await service.createTable(name);
  await service.createTable(name);
  const found = await collect(service.listTables({ queryOptions: { filter: odata`TableName eq ${name}` } }));
  assert.deepEqual(found.map((table) => table.name), [name]);
  await service.deleteTable(name);
  await service.deleteTable(name);
});

test("service properties", async () => {
  const service = TableServiceClient.fromConnectionString(connection, options);
  const retentionPolicy = { enabled: true, days: 3 };
  await service.setProperties({
    logging: { version: "1.0", read: true, write: false, delete: true, retentionPolicy },
    cors: [{ allowedOrigins: "*", allowedMethods: "GET", allowedHeaders: "", exposedHeaders: "", maxAgeInSeconds: 5 }],
  });
  const found = await service.getProperties();
  assert.equal(found.logging.retentionPolicy.days, 3);
  assert.equal(found.cors[0].maxAgeInSeconds, 5);
  await service.setProperties({
    logging: { version: "1.0", read: false, write: false, delete: false, retentionPolicy: { enabled: false } }, cors: [] });
  assert.equal((await service.getProperties()).logging.read, false);
});

test("access policies and SAS", async () => {
  const client = await freshTable("jssas");
  const expiresOn = new Date("2040-01-01T00:00:00Z");
  await client.setAccessPolicy([
    { id: "mine", accessPolicy: { start: new Date("2020-01-01T00:00:00Z"), expiry: expiresOn, permission: "r" } }]);
  const policies = await client.getAccessPolicy();
  assert.equal(policies[0].id, "mine");
  assert.equal(policies[0].accessPolicy.permission, "r");
  await client.createEntity({ partitionKey: "p", rowKey: "r" });
  const credential = new AzureNamedKeyCredential(account, key);
  const stored = generateTableSas(client.tableName, credential, { identifier: "mine" });
  const reader = new TableClient(url, client.tableName, new AzureSASCredential(stored), options);
  assert.equal((await collect(reader.listEntities())).length, 1);
  await assert.rejects(reader.createEntity({ partitionKey: "p", rowKey: "new" }), (error) => error.statusCode === 403);
  const full = generateAccountSas(credential, { expiresOn });
  const service = new TableServiceClient(url, new AzureSASCredential(full), options);
  assert.ok((await collect(service.listTables())).some((table) => table.name === client.tableName));
  const add = generateTableSas(client.tableName, credential, { expiresOn, permissions: { add: true } });
  const adder = new TableClient(url, client.tableName, new AzureSASCredential(add), options);
  await adder.submitTransaction([["create", { partitionKey: "p", rowKey: "1" }], ["create", { partitionKey: "p", rowKey: "2" }]]);
  await assert.rejects(collect(adder.listEntities()), (error) => error.statusCode === 403);
  await client.deleteTable();
});

test("a host named localhost", async () => {
  const client = TableClient.fromConnectionString(connection.replace("127.0.0.1", "localhost"), newName("jslocal"), options);
  await client.createTable();
  await client.upsertEntity({ partitionKey: "p", rowKey: "r", a: 1 }, "Merge");
  await client.updateEntity({ partitionKey: "p", rowKey: "r", b: 2 }, "Merge");
  await client.submitTransaction([["upsert", { partitionKey: "p", rowKey: "r", c: 3 }, "Merge"]]);
  const found = await client.getEntity("p", "r");
  assert.deepEqual([found.a, found.b, found.c], [1, 2, 3]);
  await client.deleteTable();
});

test("concurrent writers", async () => {
  const client = await freshTable("jsmany");
  await Promise.all(Array.from({ length: 200 }, (_, row) => client.upsertEntity({
    partitionKey: `p${row % 7}`, rowKey: String(row), n: row })));
  assert.equal((await collect(client.listEntities())).length, 200);
  await client.deleteTable();
});
