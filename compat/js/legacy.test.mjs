// The retired JavaScript client, azure-storage 2.10.7: version 2018-03-28, MERGE, its own forms of batches and tokens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { promisify } from "node:util";
import azure from "azure-storage";
import { connection, newName } from "./connection.mjs";

const service = azure.createTableService(connection);
const { entityGenerator: entity } = azure.TableUtilities;
const call = (method, ...values) => promisify(service[method]).call(service, ...values);

const row = (partition, name, number) => ({
  PartitionKey: entity.String(partition), RowKey: entity.String(name), Number: entity.Int32(number),
  Big: entity.Int64("9007199254740993"), Text: entity.String("it's é"), When: entity.DateTime(new Date(1e12)),
});

async function freshTable(prefix) {
  const name = newName(prefix);
  await call("createTable", name);
  return name;
}

test("operations", async () => {
  const table = await freshTable("oldjs");
  const inserted = await call("insertEntity", table, row("it's", "a", 1));
  assert.match(inserted[".metadata"].etag, /^W\/"datetime'/);
  const found = await call("retrieveEntity", table, "it's", "a");
  assert.equal(found.Big._, "9007199254740993");
  assert.equal(found.Text._, "it's é");
  assert.equal(found.When._.getTime(), 1e12);
  await call("mergeEntity", table, { PartitionKey: entity.String("it's"), RowKey: entity.String("a"), More: entity.Boolean(true) });
  await call("insertOrReplaceEntity", table, row("it's", "b", 2));
  await call("replaceEntity", table, row("it's", "b", 3));
  await assert.rejects(call("insertEntity", table, row("it's", "b", 2)), (error) => error.statusCode === 409);
  const stale = { ...row("it's", "b", 4), ".metadata": { etag: inserted[".metadata"].etag } };
  await assert.rejects(call("replaceEntity", table, stale), (error) => error.statusCode === 412);
  await call("deleteEntity", table, row("it's", "a", 0));
  await assert.rejects(call("retrieveEntity", table, "it's", "a"), (error) => error.code === "ResourceNotFound");
  await call("deleteTable", table);
});

test("batches", async () => {
  const table = await freshTable("oldjsbatch");
  const batch = new azure.TableBatch();
  for (let number = 0; number < 100; number += 1) {
    batch.insertEntity(row("p", String(number).padStart(3, "0"), number), { echoContent: false });
  }
  const results = await call("executeBatch", table, batch);
  assert.equal(results.length, 100);
  const failing = new azure.TableBatch();
  failing.insertEntity(row("p", "new", 1), { echoContent: true });
  failing.insertEntity(row("p", "000", 1), { echoContent: true });
  await assert.rejects(call("executeBatch", table, failing), (error) => error.code === "EntityAlreadyExists");
  const mixed = new azure.TableBatch();
  mixed.mergeEntity({ PartitionKey: entity.String("p"), RowKey: entity.String("000"), Extra: entity.Int32(5) });
  mixed.deleteEntity(row("p", "001", 0));
  mixed.insertOrMergeEntity(row("p", "fresh", 7));
  await call("executeBatch", table, mixed);
  const found = await call("retrieveEntity", table, "p", "000");
  assert.deepEqual([found.Extra._, found.Number._], [5, 0]);
  await call("deleteTable", table);
});

test("a single query in a batch", async () => {
  const table = await freshTable("oldjsquery");
  await call("insertEntity", table, row("p", "a", 1));
  const batch = new azure.TableBatch();
  batch.retrieveEntity("p", "a");
  const [result] = await call("executeBatch", table, batch);
  assert.equal(result.entity.Number._, 1);
  await call("deleteTable", table);
});

test("queries and continuation", async () => {
  const table = await freshTable("oldjspages");
  const batch = new azure.TableBatch();
  for (let number = 0; number < 25; number += 1) batch.insertEntity(row("p", String(number).padStart(3, "0"), number));
  await call("executeBatch", table, batch);
  const query = new azure.TableQuery().where("Number ge ?int32? and Text eq ?string?", 5, "it's é").top(8);
  const counts = [];
  let token = null;
  do {
    const page = await call("queryEntities", table, query, token);
    counts.push(page.entries.length);
    token = page.continuationToken;
  } while (token);
  assert.deepEqual(counts, [8, 8, 4]);
  await call("deleteTable", table);
});

test("tables and policies", async () => {
  const table = await freshTable("oldjsacl");
  assert.equal((await call("doesTableExist", table)).exists, true);
  const listed = await call("listTablesSegmentedWithPrefix", table, null);
  assert.deepEqual(listed.entries, [table]);
  const policy = { Permissions: "r", Start: new Date("2020-01-01"), Expiry: new Date("2040-01-01") };
  await call("setTableAcl", table, { mine: policy });
  const found = await call("getTableAcl", table);
  assert.equal(found.signedIdentifiers.mine.Permissions, "r");
  const token = service.generateSharedAccessSignature(table, { Id: "mine" });
  const reader = azure.createTableServiceWithSas(service.host.primaryHost, token);
  const page = await promisify(reader.queryEntities).call(reader, table, null, null);
  assert.deepEqual(page.entries, []);
  await call("deleteTable", table);
  assert.equal((await call("doesTableExist", table)).exists, false);
});
