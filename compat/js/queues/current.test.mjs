// The official JavaScript client, @azure/storage-queue.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AccountSASPermissions, QueueClient, QueueSASPermissions, QueueServiceClient, StorageSharedKeyCredential,
  generateAccountSASQueryParameters, generateQueueSASQueryParameters,
} from "@azure/storage-queue";
import { account, collect, connection, key, newName, url } from "../connection.mjs";

const options = { retryOptions: { maxTries: 1 } };
const credential = new StorageSharedKeyCredential(account, key);
const service = QueueServiceClient.fromConnectionString(connection, options);
const expiresOn = new Date("2040-01-01T00:00:00Z");

async function freshQueue(prefix) {
  const client = service.getQueueClient(newName(prefix));
  await client.create();
  return client;
}

test("messages", async () => {
  const client = await freshQueue("jsq");
  const sent = await client.sendMessage("it's <é> &", { messageTimeToLive: -1 });
  assert.equal(sent.expiresOn.getUTCFullYear(), 9999);
  const { peekedMessageItems: [peeked] } = await client.peekMessages();
  assert.deepEqual([peeked.messageId, peeked.messageText, peeked.dequeueCount], [sent.messageId, "it's <é> &", 0]);
  const { receivedMessageItems: [received] } = await client.receiveMessages({ visibilityTimeout: 600 });
  assert.equal(received.dequeueCount, 1);
  assert.equal((await client.receiveMessages()).receivedMessageItems.length, 0);
  const updated = await client.updateMessage(received.messageId, received.popReceipt, "changed", 0);
  await assert.rejects(client.deleteMessage(received.messageId, received.popReceipt), (error) => error.statusCode >= 400);
  assert.equal((await client.peekMessages()).peekedMessageItems[0].messageText, "changed");
  await client.deleteMessage(received.messageId, updated.popReceipt);
  assert.equal((await client.getProperties()).approximateMessagesCount, 0);
  await client.delete();
});

test("an update without a text keeps it", async () => {
  const client = await freshQueue("jskeep");
  const sent = await client.sendMessage("kept");
  await client.updateMessage(sent.messageId, sent.popReceipt, undefined, 0);
  assert.equal((await client.peekMessages()).peekedMessageItems[0].messageText, "kept");
  await client.delete();
});

test("32 messages at once", async () => {
  const client = await freshQueue("jsmany");
  await Promise.all(Array.from({ length: 40 }, (_, number) => client.sendMessage(String(number))));
  const { receivedMessageItems: first } = await client.receiveMessages({ numberOfMessages: 32 });
  const { receivedMessageItems: rest } = await client.receiveMessages({ numberOfMessages: 32 });
  assert.deepEqual([first.length, rest.length], [32, 8]);
  assert.equal(new Set([...first, ...rest].map((message) => message.messageText)).size, 40);
  await client.clearMessages();
  assert.equal((await client.getProperties()).approximateMessagesCount, 0);
  await client.delete();
});

test("queues of the account", async () => {
  const prefix = newName("jslist");
  for (const letter of "abc") await service.createQueue(`${prefix}${letter}`, { metadata: { letter } });
  const found = await collect(service.listQueues({ prefix, includeMetadata: true }));
  assert.deepEqual(found.map(({ name, metadata }) => [name, metadata.letter]), [..."abc"].map((letter) => [prefix + letter, letter]));
  const pages = await collect(service.listQueues({ prefix }).byPage({ maxPageSize: 2 }));
  assert.deepEqual(pages.map((page) => page.queueItems.length), [2, 1]);
  for (const letter of "abc") await service.deleteQueue(prefix + letter);
});

test("creating and deleting twice", async () => {
  const client = await freshQueue("jstwice");
  assert.equal((await client.createIfNotExists()).succeeded, false);
  await assert.rejects(client.create({ metadata: { a: "1" } }), (error) => error.code === "QueueAlreadyExists");
  assert.equal(await client.exists(), true);
  await client.setMetadata({ a: "2" });
  assert.equal((await client.getProperties()).metadata.a, "2");
  await client.delete();
  assert.equal((await client.deleteIfExists()).succeeded, false);
  assert.equal(await client.exists(), false);
});

test("errors", async () => {
  const client = await freshQueue("jserrors");
  await assert.rejects(client.sendMessage("x".repeat(65537)), (error) => error.code === "RequestBodyTooLarge");
  await assert.rejects(client.peekMessages({ numberOfMessages: 33 }), (error) => error.code === "OutOfRangeQueryParameterValue");
  await assert.rejects(service.getQueueClient("no-such-queue").sendMessage("x"), (error) => error.code === "QueueNotFound");
  await client.delete();
});

test("access policies and SAS", async () => {
  const client = await freshQueue("jssas");
  await client.sendMessage("text");
  const accessPolicy = { startsOn: new Date("2020-01-01T00:00:00Z"), expiresOn, permissions: "r" };
  await client.setAccessPolicy([{ id: "mine", accessPolicy }]);
  const { signedIdentifiers: [found] } = await client.getAccessPolicy();
  assert.deepEqual([found.id, found.accessPolicy.permissions, found.accessPolicy.expiresOn], ["mine", "r", expiresOn]);
  const stored = generateQueueSASQueryParameters({ queueName: client.name, identifier: "mine" }, credential);
  const reader = new QueueClient(`${url}/${client.name}?${stored}`, undefined, options);
  assert.equal((await reader.peekMessages()).peekedMessageItems.length, 1);
  await assert.rejects(reader.sendMessage("no"), (error) => error.statusCode === 403);
  const given = generateQueueSASQueryParameters(
    { queueName: client.name, expiresOn, permissions: QueueSASPermissions.parse("ap") }, credential);
  const worker = new QueueClient(`${url}/${client.name}?${given}`, undefined, options);
  await worker.sendMessage("more");
  const { receivedMessageItems: [message] } = await worker.receiveMessages();
  await worker.deleteMessage(message.messageId, message.popReceipt);
  await assert.rejects(worker.peekMessages(), (error) => error.statusCode === 403);
  const whole = generateAccountSASQueryParameters(
    { expiresOn, permissions: AccountSASPermissions.parse("rl"), services: "q", resourceTypes: "sco" }, credential);
  const lister = new QueueServiceClient(`${url}?${whole}`, undefined, options);
  assert.ok((await collect(lister.listQueues())).some(({ name }) => name === client.name));
  await client.delete();
});

test("service properties", async () => {
  const retentionPolicy = { enabled: true, days: 3 };
  await service.setProperties({
    queueAnalyticsLogging: { version: "1.0", read: true, write: false, deleteProperty: true, retentionPolicy },
    cors: [{ allowedOrigins: "*", allowedMethods: "GET", allowedHeaders: "", exposedHeaders: "", maxAgeInSeconds: 5 }],
  });
  const found = await service.getProperties();
  assert.equal(found.queueAnalyticsLogging.retentionPolicy.days, 3);
  assert.equal(found.cors[0].maxAgeInSeconds, 5);
  await service.setProperties({
    queueAnalyticsLogging: { version: "1.0", read: false, write: false, deleteProperty: false, retentionPolicy: { enabled: false } },
    cors: [] });
  assert.equal((await service.getProperties()).queueAnalyticsLogging.read, false);
});
