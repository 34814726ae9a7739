// A test as a user of the npm package writes it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { TableClient } from "@azure/data-tables";
import { startPartita } from "partita";

// Whether a process runs: it exists, and is not one that has ended and that nobody has asked about.
const isRunning = (pid) => {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

test("a row", async () => {
  const server = await startPartita();
  const people = TableClient.fromConnectionString(server.connectionString, "people", { allowInsecureConnection: true });
  await people.createTable();
  await people.createEntity({ partitionKey: "a", rowKey: "1", name: "Ada" });
  assert.equal((await people.getEntity("a", "1")).name, "Ada");
  assert.match(server.queueEndpoint, /^http:\/\/127\.0\.0\.1:\d+\/devstoreaccount1$/);
  await server.stop();
  assert.equal(isRunning(server.pid), false);
});

test("a server ends with its process", async () => {
  const program = 'import { startPartita } from "partita"; console.log((await startPartita()).pid); process.exit(0);';
  const pid = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  // The signal is sent at the exit, and takes effect a moment later.
  const deadline = Date.now() + 10_000;
  while (isRunning(Number(pid)) && Date.now() < deadline) await setTimeout(10);
  assert.equal(isRunning(Number(pid)), false);
});

test("a wrong argument is an error with the server's output", async () => {
  await assert.rejects(startPartita({ arguments: ["--no-such-flag"] }), /--no-such-flag/);
});
