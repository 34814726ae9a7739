"""Starts a server for tests."""

import atexit
import queue
import subprocess
import tempfile
import threading
from typing import Optional, Sequence

from ._program import find_program

_CONNECTION_STRING = "DefaultEndpointsProtocol="


class Server:
    """A running server on free ports, with a data directory of its own. Made by start()."""

    def __init__(self, process, directory, connection_string):
        self._process = process
        self._directory = directory
        #: What the clients of Azure Storage take: from_connection_string(server.connection_string)
        self.connection_string: str = connection_string
        parts = dict(part.split("=", 1) for part in connection_string.strip(";").split(";"))
        self.account_name: str = parts["AccountName"]
        self.account_key: str = parts["AccountKey"]
        self.table_endpoint: str = parts["TableEndpoint"]
        self.queue_endpoint: str = parts["QueueEndpoint"]

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    def stop(self) -> None:
        """Stops the server and removes its data. Does nothing if it has stopped."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        self._directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def start(*, arguments: Sequence[str] = (), timeout: float = 30.0) -> Server:
    """Starts a server, and returns when it accepts requests. It ends with stop(), with the end of a `with` block, or
    with this process.

    arguments: further ones of `partita serve`, such as ["--targets", "azure"].
    timeout: seconds to wait for the start.

    Raises RuntimeError if the server does not start; the message has its output.
    """
    directory = tempfile.TemporaryDirectory(prefix="partita-", ignore_cleanup_errors=True)
    command = [find_program(), "serve", "--location", directory.name]
    command += ["--table-port", "0", "--queue-port", "auto", "--admin-port", "0", *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines: "queue.Queue[Optional[str]]" = queue.Queue()
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    output = []
    while True:
        try:
            line = lines.get(timeout=timeout)
        except queue.Empty:
            line, reason = None, f"did not start within {timeout:g} s"
        else:
            reason = "ended"
        if line is None:
            process.kill()
            process.wait()
            directory.cleanup()
            raise RuntimeError(f"partita serve {reason}:\n" + "".join(output))
        output.append(line)
        if line.startswith(_CONNECTION_STRING):
            server = Server(process, directory, line.strip())
            atexit.register(server.stop)
            return server


def _read(stream, lines) -> None:
    """Reads to the end, so that the server can always write."""
    for line in stream:
        lines.put(line)
    lines.put(None)
