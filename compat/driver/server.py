"""Starts a server (Partita or Azurite) as a child process, waits for its ready line, and stops it.

The server uses free ports and a temporary data directory. As other projects do, this module waits for the ready line
"Azurite Table service is successfully listening at URL", with a deadline and without sleeps. (Azurite's programs for a
single service have other ready lines.)
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from .signing import WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPS = ROOT / ".deps"
READY = r"{} service (?:is successfully listening at|successfully started on|successfully listens on) (\S+)"
READY_DEADLINE_S = 30
STOP_DEADLINE_S = 15
TARGETS = ("partita", "azurite")


# The ports that were chosen: the system may offer one again as long as no program listens there.
CHOSEN = set()


def free_port():
    """A port that is free now, another one with each call."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in CHOSEN:
            CHOSEN.add(port)
            return port


def command(target, service, location, options):
    """The command line of a server of one service on a free port, with the data directory `location` if given.

    Partita always serves tables. It serves queues too if `service` is "queue".
    """
    port = str(free_port())
    if target == "partita":
        binary = os.environ.get("PARTITA_BIN", ROOT / "target/release/partita")
        flags = ["--table-port", port, "--queue-port", "auto" if service == "queue" else "0", "--admin-port", "0"]
        program = [str(binary), "serve"]
    else:
        packages = DEPS / "node/node_modules"
        flags = [f"--{service}Host", "127.0.0.1", f"--{service}Port", port, "--skipApiVersionCheck", "--disableTelemetry"]
        program = [str(packages / "node/bin/node"), str(packages / f"azurite/dist/src/{service}/main.js")]
    if location:
        flags += ["--location", str(location)]
    return [*program, *flags, *options]


class Server:
    """A running server; use it as a context manager.

    `accounts` maps names to base64 keys. `options` are further flags of the target. `location` is a data directory that
    is kept; None creates a temporary one, False starts the server without one. `service` is "table" or "queue"; `url` is
    the URL of this service.
    """

    def __init__(self, target="partita", accounts=None, options=(), location=None, environment=None, service="table"):
        self.target = target
        self.service = service
        self.ready = re.compile(READY.format(service.capitalize()))
        self.accounts = accounts or {WELL_KNOWN_ACCOUNT: WELL_KNOWN_KEY}
        self.options = list(options)
        self.own_folder = not location
        self.folder = pathlib.Path(location or tempfile.mkdtemp(prefix="partita-compat-"))
        self.location = None if location is False else self.folder
        self.environment = environment or {}
        self.process = None
        self.output = []
        self.said = threading.Condition()
        self.url = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Starts the process and waits until it is ready; raises with its output if it fails."""
        listed = ";".join(f"{name}:{key}" for name, key in self.accounts.items())
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PARTITA_")}
        environment |= {"AZURITE_ACCOUNTS": listed, "PARTITA_ACCOUNTS": listed} | self.environment
        self.process = subprocess.Popen(
            command(self.target, self.service, self.location, self.options), env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder)
        ready = threading.Event()
        threading.Thread(target=self.read_output, args=(ready,), daemon=True).start()
        if not ready.wait(READY_DEADLINE_S) or not self.url:
            self.stop()
            raise RuntimeError(f"{self.target} did not start in time:\n" + "".join(self.output[-40:]))

    def read_output(self, ready):
        """Reads the child's output until it ends; sets `ready` at the ready line or at the end."""
        for line in self.process.stdout:
            with self.said:
                self.output.append(line)
                del self.output[:-1000]
                self.said.notify_all()
            if not self.url and (found := self.ready.search(line)):
                self.url = self.with_scheme(found.group(1))
                ready.set()
        ready.set()

    def wait_for(self, pattern):
        """Waits for the first match of `pattern` in the server's output."""
        expression = re.compile(pattern)

        def found():
            return next((match for line in self.output if (match := expression.search(line))), None)

        with self.said:
            if not self.said.wait_for(found, READY_DEADLINE_S):
                raise RuntimeError(f"no match of {pattern!r} in the output:\n" + "".join(self.output))
            return found()

    def with_scheme(self, address):
        """The address as a URL. Azurite's programs for a single service print only host and port."""
        if "://" in address:
            return address
        return ("https://" if "--cert" in self.options else "http://") + address

    def stop(self):
        """Stops the process (SIGTERM, later SIGKILL); returns its exit code. Removes a temporary directory."""
        code = None
        if self.process:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            try:
                code = self.process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = self.process.wait()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def kill(self):
        """Kills the process (SIGKILL); the data directory remains."""
        self.process.kill()
        self.process.wait()
