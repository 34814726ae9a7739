// The retired JavaScript client, azure-storage 2.10.7: version 2018-03-28, base64 by default.

import assert from "node:assert/strict";
import { test } from "node:test";
import { promisify } from "node:util";
import azure from "azure-storage";
import { connection, newName } from "../connection.mjs";

const service = azure.createQueueService(connection).withFilter(new azure.LinearRetryPolicyFilter(0));
const call = (method, ...values) => promisify(service[method]).call(service, ...values);

async function freshQueue(prefix) {
  const name = newName(prefix);
  await call("createQueue", name);
  return name;
}

test("messages", async () => {
  const queue = await freshQueue("oldq");
  const put = await call("createMessage", queue, "it's é <&>");
  assert.ok(put.messageId && put.popReceipt);
  const peeked = await call("peekMessage", queue);
  assert.equal(peeked.messageText, "it's é <&>");
  const taken = await call("getMessage", queue);
  assert.equal(Number(taken.dequeueCount), 1);
  assert.equal(await call("getMessage", queue), undefined);
  const updated = await call("updateMessage", queue, taken.messageId, taken.popReceipt, 0, { messageText: "changed" });
  assert.notEqual(updated.popReceipt, taken.popReceipt);
  const [again] = await call("getMessages", queue, { numOfMessages: 32 });
  assert.deepEqual([again.messageText, Number(again.dequeueCount)], ["changed", 2]);
  await call("deleteMessage", queue, again.messageId, again.popReceipt);
  await assert.rejects(call("deleteMessage", queue, again.messageId, again.popReceipt), (error) => error.statusCode === 404);
  await call("createMessage", queue, "one");
  await call("clearMessages", queue);
  assert.deepEqual(await call("peekMessages", queue), []);
  await call("deleteQueue", queue);
});

test("queues", async () => {
  const queue = await freshQueue("oldlist");
  assert.equal((await call("createQueueIfNotExists", queue)).created, false);
  assert.equal((await call("doesQueueExist", queue)).exists, true);
  await call("setQueueMetadata", queue, { name: "value" });
  const { metadata, approximateMessageCount } = await call("getQueueMetadata", queue);
  assert.deepEqual([metadata.name, Number(approximateMessageCount)], ["value", 0]);
  for (const number of [1, 2, 3]) await call("createQueue", `${queue}-${number}`);
  const first = await call("listQueuesSegmentedWithPrefix", `${queue}-`, null, { maxResults: 2 });
  const rest = await call("listQueuesSegmentedWithPrefix", `${queue}-`, first.continuationToken, { maxResults: 2 });
  assert.deepEqual([...first.entries, ...rest.entries].map(({ name }) => name), [1, 2, 3].map((number) => `${queue}-${number}`));
  for (const number of [1, 2, 3]) await call("deleteQueue", `${queue}-${number}`);
  await call("deleteQueue", queue);
  assert.equal(await call("deleteQueueIfExists", queue), false);
});

test("policies", async () => {
  const queue = await freshQueue("oldacl");
  const policy = { Permissions: "r", Start: new Date("2020-01-01"), Expiry: new Date("2040-01-01") };
  await call("setQueueAcl", queue, { mine: policy });
  assert.equal((await call("getQueueAcl", queue)).signedIdentifiers.mine.Permissions, "r");
  const token = service.generateSharedAccessSignature(queue, { Id: "mine" });
  const reader = azure.createQueueServiceWithSas(service.host.primaryHost, token)
    .withFilter(new azure.LinearRetryPolicyFilter(0));
  assert.deepEqual(await promisify(reader.peekMessages).call(reader, queue), []);
  await assert.rejects(promisify(reader.createMessage).call(reader, queue, "no"), (error) => error.statusCode === 403);
  await call("deleteQueue", queue);
});
