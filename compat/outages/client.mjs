// As client.py, with the official JavaScript clients. Their retries repeat a POST whose connection broke, too.
//
//     node client.mjs NAME          with the connection string in STORAGE_CONNECTION

import { TableClient, odata } from "@azure/data-tables";
import { QueueServiceClient } from "@azure/storage-queue";
import { setTimeout as pause } from "node:timers/promises";

const TABLE = "sdkrows";
const [PARTITION_ROWS, BATCH_ROWS] = [40, 4];
const PAUSE_MS = 30;
const [HIDDEN_S, WAITING_MAX] = [20, 30];
const LAST_MS = 120_000;
const TEXT = "a row of an official client ".repeat(4);

const name = process.argv[2];
const connection = process.env.STORAGE_CONNECTION;
const counts = {};

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const count = (what, number = 1) => { counts[what] = (counts[what] ?? 0) + number; };
const check = (right, message) => { if (!right) say({ wrong: message }); };

class Expected extends Error {}

// Sends a request; returns whether it was answered, and the answer. Reports an error. An answer with one of the
// `expected` statuses throws `Expected`.
async function call(what, request, expected = []) {
  const began = Date.now();
  try {
    const answer = await request();
    count("requests");
    return [true, answer];
  } catch (error) {
    if (expected.includes(error.statusCode)) throw new Expected(String(error.statusCode));
    // The pipeline of tables does not know this name of a broken connection.
    if (error.code === "EPIPE") count("broken");
    else {
      const text = `${what}: ${error.name} ${error.code ?? ""} ${error.statusCode ?? ""}: ${error.message}`;
      const reason = error.response?.headers.get("x-partita-reason");
      say({ error: text.replace(/\s+/g, " ").slice(0, 500), reason, seconds: (Date.now() - began) / 1000 });
    }
    return [false, undefined];
  }
}

// Runs a request that may be answered with an expected status; returns whether it was.
async function unless(run) {
  try {
    await run();
    return true;
  } catch (error) {
    if (error instanceof Expected) return false;
    throw error;
  }
}

class Rows {
  client = TableClient.fromConnectionString(connection, TABLE, { allowInsecureConnection: true });
  rows = new Map();
  number = 0;
  counter = [0];

  async start() {
    await this.client.createTable();
    await this.client.upsertEntity(this.counterEntity(0), "Replace");
  }

  counterEntity(number) {
    return { partitionKey: `${name}-counter`, rowKey: "r", V: number };
  }

  newEntity() {
    const place = (Math.floor(this.number / PARTITION_ROWS) * 7919) % 1000;
    const entity = {
      partitionKey: `s${String(place).padStart(3, "0")}-${name}`, rowKey: String(this.number).padStart(8, "0"), V: this.number, T: TEXT,
    };
    this.number += 1;
    return entity;
  }

  note(entity, isCertain) {
    if (!this.rows.has(entity.partitionKey)) this.rows.set(entity.partitionKey, new Map());
    this.rows.get(entity.partitionKey).set(entity.rowKey, isCertain);
  }

  any(list) {
    return list[Math.floor(Math.random() * list.length)];
  }

  async step() {
    const chosen = Math.random() * 100;
    if (chosen < 20) await this.create();
    else if (chosen < 45) await this.upsert();
    else if (chosen < 55) await this.transact();
    else if (chosen < 65) await this.update();
    else if (this.rows.size > 0) {
      const partition = this.any([...this.rows.keys()]);
      if (chosen < 90) await this.get(partition, this.any([...this.rows.get(partition).keys()]));
      else await this.query(partition);
    }
  }

  async create() {
    const entity = this.newEntity();
    let done = true;
    const answered = await unless(async () => { [done] = await call("createEntity", () => this.client.createEntity(entity), [409]); });
    if (!answered) count("own");
    this.note(entity, done);
    if (done) await this.get(entity.partitionKey, entity.rowKey);
  }

  async upsert() {
    const entity = this.newEntity();
    const [done] = await call("upsertEntity", () => this.client.upsertEntity(entity, "Replace"));
    this.note(entity, done);
    if (done) await this.get(entity.partitionKey, entity.rowKey);
  }

  async transact() {
    const entities = Array.from({ length: BATCH_ROWS }, () => this.newEntity());
    for (const entity of entities) entity.partitionKey = entities[0].partitionKey;
    const actions = entities.map((entity) => ["upsert", entity, "Replace"]);
    const [done] = await call("submitTransaction", () => this.client.submitTransaction(actions));
    for (const entity of entities) this.note(entity, done);
  }

  async update() {
    const read = () => call("getEntity", () => this.client.getEntity(`${name}-counter`, "r"));
    const [done, found] = await read();
    if (!done) return;
    check(this.counter.includes(found.V), `the counter of ${name} is ${found.V}, not ${this.counter}`);
    const after = found.V + 1;
    let updated;
    const answered = await unless(async () => {
      const request = () => this.client.updateEntity(this.counterEntity(after), "Replace", { etag: found.etag });
      [updated] = await call("updateEntity", request, [412]);
    });
    if (answered) {
      this.counter = updated ? [after] : [found.V, after];
      return;
    }
    // No other task writes it, so an earlier try of this request has.
    count("own");
    this.counter = [after];
    const [reread, now] = await read();
    check(!reread || now.V === after, `412, but the counter of ${name} is ${now?.V}`);
  }

  async get(partition, row) {
    const isCertain = this.rows.get(partition).get(row);
    const answered = await unless(async () => {
      const [done, found] = await call("getEntity", () => this.client.getEntity(partition, row), [404]);
      if (done) this.check(found);
    });
    check(answered || !isCertain, `${partition} ${row} is missing`);
  }

  check(found) {
    check(found.V === Number(found.rowKey) && found.T === TEXT, `${found.partitionKey} ${found.rowKey} has ${found.V}`);
  }

  async query(partition) {
    const [done, found] = await call("listEntities", async () => {
      const all = [];
      for await (const entity of this.client.listEntities({ queryOptions: { filter: odata`PartitionKey eq ${partition}` } })) all.push(entity);
      return all;
    });
    if (!done) return;
    const [expected, rows] = [this.rows.get(partition), found.map((entity) => entity.rowKey)];
    check(rows.every((row, index) => index === 0 || rows[index - 1] < row), `a query of ${partition} is not in order: ${rows}`);
    const missing = [...expected].filter(([row, isCertain]) => isCertain && !rows.includes(row)).map(([row]) => row);
    const others = rows.filter((row) => !expected.has(row));
    check(missing.length + others.length === 0, `a query of ${partition} lacks ${missing}, and has ${others}`);
    found.forEach((entity) => this.check(entity));
  }

  async finish() {
    for (const partition of this.rows.keys()) await this.query(partition);
    await this.update();
    count("rows", [...this.rows.values()].reduce((sum, rows) => sum + rows.size, 0));
  }
}

class Messages {
  queue = QueueServiceClient.fromConnectionString(connection).getQueueClient(`sdk-${name}`);
  number = 0;
  waiting = new Set();
  deletedTexts = new Set();
  deletedIds = new Set();

  async start() {
    await this.queue.createIfNotExists();
  }

  async step() {
    if (this.waiting.size < WAITING_MAX && this.number % 3 !== 2) {
      const text = `message ${this.number}`;
      const [done] = await call("sendMessage", () => this.queue.sendMessage(text));
      if (done) this.waiting.add(text);
    } else await this.receive();
    this.number += 1;
  }

  async receive() {
    const options = { numberOfMessages: 8, visibilityTimeout: HIDDEN_S };
    const [done, received] = await call("receiveMessages", () => this.queue.receiveMessages(options));
    for (const message of done ? received.receivedMessageItems : []) {
      const { messageId, messageText, popReceipt } = message;
      check(!this.deletedIds.has(messageId), `${messageText} came after it was deleted`);
      if (this.deletedTexts.has(messageText)) count("doubled");
      let deleted = true;
      const remove = () => this.queue.deleteMessage(messageId, popReceipt);
      // 404: an earlier try of this request has deleted it.
      if (!await unless(async () => { [deleted] = await call("deleteMessage", remove, [404]); })) count("own");
      if (!deleted) continue;
      this.deletedIds.add(messageId);
      this.deletedTexts.add(messageText);
      this.waiting.delete(messageText);
    }
  }

  async finish() {
    const deadline = Date.now() + LAST_MS;
    while (this.waiting.size > 0 && Date.now() < deadline) {
      await this.receive();
      await pause(PAUSE_MS);
    }
    check(this.waiting.size === 0, `lost messages: ${[...this.waiting].slice(0, 10)}`);
    count("messages", this.deletedIds.size);
  }
}

const tasks = [new Rows(), new Messages()];
for (const task of tasks) await task.start();
let stopped = false;
process.stdin.on("end", () => { stopped = true; });
process.stdin.resume();
say({ ready: true });
await Promise.all(tasks.map(async (task) => {
  while (!stopped) {
    await task.step();
    await pause(PAUSE_MS);
  }
}));
for (const task of tasks) await task.finish();
say({ done: counts });
