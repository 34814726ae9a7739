"""Runs `partita cluster try` in a temporary folder, shows which server owns which range, and kills a server."""

import contextlib
import errno
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from driver.server import DEPS, ROOT

BINARY = os.environ.get("PARTITA_BIN", ROOT / "target/release/partita")
ETCD = DEPS / "etcd/etcd"
SERVERS = [f"server-{number}" for number in (1, 2, 3)]
# From the ports of one server to those of the next; from a table port to the queue, table, admin and peer ports.
PORT_STEP, PORT_OFFSETS, ADMIN_OFFSET = 100, (-1, 0, 8, 9), 8
DEADLINE_S = 60
# The time between two looks at a condition.
POLL_S = 0.05


def until(condition, what):
    """Waits until `condition` returns something true, and returns that; raises after a deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"timed out after {DEADLINE_S}s, waiting for {what}")
        time.sleep(POLL_S)
    return found


def are_free(table_port):
    """Whether no program listens at the ports that `cluster try` derives from a table port."""
    with contextlib.ExitStack() as listeners:
        try:
            for number, offset in itertools.product(range(len(SERVERS)), PORT_OFFSETS):
                address = ("127.0.0.1", table_port + PORT_STEP * number + offset)
                listeners.enter_context(socket.create_server(address))
        except OSError:
            return False
    return True


def free_table_port():
    """A table port for `cluster try`. It is below the ports that the system assigns, so that it stays free."""
    return next(port for port in range(20_000 + os.getpid() % 10_000, 32_000, 20) if are_free(port))


class Cluster:
    """A running cluster of three servers; use it as a context manager. `folder` has its data and its log."""

    def __init__(self):
        self.table_port = free_table_port()
        self.temporary = tempfile.TemporaryDirectory(prefix="partita-cluster-", ignore_cleanup_errors=True)
        self.folder = pathlib.Path(self.temporary.name)
        self.log = self.folder / "log"
        self.connections = {}
        self.child = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.log.read_text()[-10_000:], file=sys.stderr)
        code = self.stop()
        assert kind or code == 0, f"`partita cluster try` ended with exit code {code}"

    def start(self):
        """Starts the command and reads the connection strings that it prints."""
        if not ETCD.exists():
            raise SystemExit(f"{ETCD} not found: run crates/coordinator/setup")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PARTITA_")}
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(
                [str(BINARY), "cluster", "try", "--etcd", str(ETCD), "--folder", str(self.folder / "cluster"),
                 "--table-port", str(self.table_port)], env=environment, cwd=self.folder, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        for name in SERVERS:
            line = self.child.stdout.readline().strip()
            if not line:
                raise RuntimeError("`partita cluster try` failed to start:\n" + self.log.read_text())
            self.connections[name] = line

    def stop(self):
        """Stops everything and removes the folder; returns the exit code of the command."""
        code = None
        if self.child:
            self.child.send_signal(signal.SIGCONT)
            self.child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self.child.wait(DEADLINE_S)
            self.child.kill()
            self.child.wait()
            self.child.stdout.close()
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.temporary.cleanup()
        return code

    def processes(self, *texts):
        """The processes of this cluster whose command lines contain all `texts`."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if all(text in line for text in (str(self.folder), *texts)):
                    found.append(int(path.parent.name))
        return found

    def port(self, name, offset=0):
        """A port of a server: without an offset its table port."""
        return self.table_port + PORT_STEP * SERVERS.index(name) + offset

    def url(self, name):
        """The URL of a server's tables, as its connection string has it, without the account."""
        return re.search(r"TableEndpoint=(\w+://[^/;]+)", self.connections[name]).group(1)

    def ask(self, command, through):
        """What `partita servers` or `partita ranges` prints; an empty dictionary if the server does not answer."""
        admin = f"http://127.0.0.1:{self.port(through, ADMIN_OFFSET)}"
        done = subprocess.run([str(BINARY), command, "--output", "json", "--admin", admin], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def members(self, through):
        """The servers by name, according to one of them; empty until all are ready and every range is served."""
        found = self.ask("servers", through)
        servers = {server["name"]: server for server in found.get("servers", [])}
        is_ready = all(server.get("health", {}).get("state") == "ready" for server in servers.values())
        is_served = not found.get("unserved") and any(server["ranges"] for server in servers.values())
        return servers if is_ready and is_served else {}

    def owners(self, through):
        """The server of each range by the number of the range, according to one of the servers."""
        return {found["id"]: found["server"] for found in self.ask("ranges", through).get("ranges", [])}

    def until_complete(self, through):
        """Waits until all servers are ready and every range is served; returns the servers by name."""
        def complete():
            members = self.members(through)
            return members if len(members) == len(SERVERS) else None

        return until(complete, f"{len(SERVERS)} ready servers")

    def until_other_owner(self, front):
        """Waits until a server other than `front` owns a range; returns its name."""
        def other():
            return next((owner for owner in self.owners(front).values() if owner not in (None, front)), None)

        return until(other, f"a range of a server other than {front}")

    def kill(self, name):
        """Kills a server and waits until its port is closed. Suspends `cluster try`, which would restart the server."""
        [process] = self.processes(f"--server-name={name}")
        self.child.send_signal(signal.SIGSTOP)
        os.kill(process, signal.SIGKILL)

        def is_refused():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port(name))) == errno.ECONNREFUSED

        until(is_refused, f"{name} to stop listening")

    def until_taken_over(self, killed, through):
        """Waits until the cluster has only the other servers, and these own every range; returns the owners."""
        others = set(SERVERS) - {killed}

        def taken_over():
            owners = self.owners(through)
            return owners if set(self.members(through)) == others >= set(owners.values()) else None

        return until(taken_over, f"other servers to take over the ranges of {killed}")

    def restart_killed(self):
        """Resumes `cluster try`, which restarts the killed server."""
        self.child.send_signal(signal.SIGCONT)
