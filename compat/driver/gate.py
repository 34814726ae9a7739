"""Proxies: one lets a given number of requests through, so that a client can be killed at a known point."""

import socket
import threading

METHODS = (b"GET ", b"POST ", b"PUT ", b"MERGE ", b"PATCH ", b"DELETE ")
HELD_DEADLINE_S = 120


class Gate:
    """A proxy at `url` for the server at `host:port`. It forwards `may_pass` requests and holds all later ones."""

    def __init__(self, host, port, may_pass):
        self.server = (host, port)
        self.may_pass = may_pass
        self.came = 0
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """Accepts connections until the process ends."""
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(self.server)
            threading.Thread(target=self.forward, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.forward, args=(server, client, False), daemon=True).start()

    def forward(self, source, target, counts):
        """Forwards bytes until their end. If `counts`, requests wait until they may pass. Ignores a killed client."""
        try:
            while data := source.recv(1 << 16):
                if counts and data.startswith(METHODS):
                    self.pass_one()
                target.sendall(self.edited(data) if counts else data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def edited(self, data):
        """What is forwarded of these bytes of requests: all."""
        return data

    def pass_one(self):
        """Counts a request, and waits until it may pass."""
        with self.changed:
            self.came += 1
            number = self.came
            self.changed.notify_all()
            self.changed.wait_for(lambda: number <= self.may_pass)

    def wait(self):
        """Waits until the gate holds a request."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.came > self.may_pass, HELD_DEADLINE_S):
                raise RuntimeError(f"expected more requests, got {self.came}")

    def open(self):
        """Opens the gate for all requests."""
        with self.changed:
            self.may_pass = float("inf")
            self.changed.notify_all()


class NoConditions(Gate):
    """A proxy that hides the conditions of requests, so that the store behind it seems to ignore them."""

    CONDITION = b"\r\nif-none-match:"

    def __init__(self, host, port):
        super().__init__(host, port, float("inf"))
        self.hidden = 0

    def edited(self, data):
        """The bytes with a header of the same length, and no meaning, for each condition."""
        self.hidden += data.lower().count(self.CONDITION)
        for name in (b"if-none-match", b"If-None-Match"):
            data = data.replace(b"\r\n" + name + b":", b"\r\nx-nothing-now:")
        return data
