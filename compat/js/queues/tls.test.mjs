// The official JavaScript client over TLS. It trusts the certificate only because NODE_EXTRA_CA_CERTS names it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueClient } from "@azure/storage-queue";
import { connection, newName } from "../connection.mjs";

test("over TLS", async () => {
  const client = new QueueClient(connection, newName("jstls"), { retryOptions: { maxTries: 1 } });
  await client.create();
  await client.sendMessage("text");
  assert.equal((await client.receiveMessages()).receivedMessageItems[0].messageText, "text");
  await client.delete();
});
