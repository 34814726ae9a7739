// Starts servers for tests.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** What is to be stopped when this process ends. */
const running = new Set();

// Only synchronous work is done at an exit.
process.on("exit", () => {
  for (const server of running) server.abandon();
});

export function programPath() {
  return process.env.PARTITA_PROGRAM ?? fileURLToPath(new URL("bin/partita", import.meta.url));
}

export async function startPartita({ arguments: further = [], timeout = 30_000 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "partita-"));
  const ports = ["--table-port", "0", "--queue-port", "auto", "--admin-port", "0"];
  const child = spawn(programPath(), ["serve", "--location", folder, ...ports, ...further], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const server = new Server(child, folder);
  running.add(server);
  try {
    server.read(await connectionString(child, timeout));
  } catch (error) {
    server.abandon();
    throw error;
  }
  return server;
}

/** Waits for the connection string in the output. */
function connectionString(child, timeout) {
  const output = [];
  return new Promise((resolve, reject) => {
    const fail = (reason) => reject(new Error(`partita serve ${reason}:\n${output.join("\n")}`));
    const timer = setTimeout(() => fail(`did not start within ${timeout} ms`), timeout);
    const settle = (then) => (value) => {
      clearTimeout(timer);
      then(value);
    };
    child.once("error", settle((error) => fail(`could not be started: ${error.message}`)));
    child.once("close", settle(() => fail("ended")));
    for (const stream of [child.stdout, child.stderr]) {
      // Lines are also read after the start, so that the server can always write.
      createInterface({ input: stream }).on("line", (line) => {
        if (line.startsWith("DefaultEndpointsProtocol=")) settle(resolve)(line);
        else output.push(line);
      });
    }
  });
}

class Server {
  #child;
  #folder;

  constructor(child, folder) {
    this.#child = child;
    this.#folder = folder;
  }

  read(connectionString) {
    const parts = connectionString.replace(/;$/, "").split(";");
    const fields = Object.fromEntries(parts.map((part) => part.split(/=(.*)/s, 2)));
    this.connectionString = connectionString;
    this.accountName = fields.AccountName;
    this.accountKey = fields.AccountKey;
    this.tableEndpoint = fields.TableEndpoint;
    this.queueEndpoint = fields.QueueEndpoint;
  }

  get pid() {
    return this.#child.pid;
  }

  async stop() {
    running.delete(this);
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, "exit");
      this.#child.kill("SIGTERM");
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Kills the server: for the end of this process, and for a server that did not start. */
  abandon() {
    running.delete(this);
    this.#child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
