"""A proxy that holds requests back from the n-th one on, so that a client can be killed at a known place."""

import socket
import threading

METHODS = (b"GET ", b"POST ", b"PUT ", b"MERGE ", b"PATCH ", b"DELETE ")
HELD_DEADLINE_S = 120


class Gate:
    """Stands before a server at `host:port`; `url` is where clients go. Lets `may_pass` requests through."""

    def __init__(self, host, port, may_pass):
        self.server = (host, port)
        self.may_pass = may_pass
        self.came = 0
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """Takes connections for as long as the process lives."""
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(self.server)
            threading.Thread(target=self.forward, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.forward, args=(server, client, False), daemon=True).start()

    def forward(self, source, target, counts):
        """Passes bytes on to their end; a client that was killed is no matter."""
        try:
            while data := source.recv(1 << 16):
                if counts and data.startswith(METHODS):
                    self.pass_one()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def pass_one(self):
        """Waits for as long as the request must be held back."""
        with self.changed:
            self.came += 1
            number = self.came
            self.changed.notify_all()
            self.changed.wait_for(lambda: number <= self.may_pass)

    def wait(self):
        """Returns when a request is held back."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.came > self.may_pass, HELD_DEADLINE_S):
                raise RuntimeError(f"only {self.came} requests came")

    def open(self):
        """Lets all requests through from now on."""
        with self.changed:
            self.may_pass = float("inf")
            self.changed.notify_all()
