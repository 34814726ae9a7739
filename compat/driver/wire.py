"""HTTP/1.1 with full control of the bytes.

Client libraries normalise header names, paths and bodies, which tests of unusual requests must avoid. Requests are sent unchanged; only `Host`
and `Content-Length` have defaults.
"""

import json
import socket
import ssl

DEADLINE_S = 30


class Answer:
    """One response: status, reason, headers in order as received, body bytes."""

    def __init__(self, status, reason, fields, body):
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = body

    @property
    def headers(self):
        """Headers by lower-case name; a repeated header is joined by commas."""
        joined = {}
        for name, value in self.fields:
            name = name.lower()
            joined[name] = joined[name] + ", " + value if name in joined else value
        return joined

    def header(self, name):
        """The value of one header, or None."""
        return self.headers.get(name.lower())

    @property
    def text(self):
        """The body as text, without a byte order mark."""
        return self.body.decode("utf-8-sig")

    def json(self, **options):
        """The body parsed as JSON."""
        return json.loads(self.text, **options)

    @property
    def code(self):
        """The storage error code in a JSON or XML body; None if there is none."""
        try:
            return self.json()["odata.error"]["code"]
        except (ValueError, KeyError, TypeError):
            return between(self.body, b"<m:code>", b"</m:code>") or between(self.body, b"<Code>", b"</Code>")

    @property
    def message(self):
        """The error message in a JSON or XML body; None if there is none."""
        try:
            return self.json()["odata.error"]["message"]["value"]
        except (ValueError, KeyError, TypeError):
            text = between(self.body, b"<m:message", b"</m:message>")
            return text.partition(">")[2] if text else between(self.body, b"<Message>", b"</Message>")

    def __repr__(self):
        return f"<{self.status} {self.reason} {self.headers} {self.body[:2000]!r}>"


def between(data, start, end):
    """Text of `data` between two marks, or None."""
    _, found, rest = data.partition(start)
    inner, closed, _ = rest.partition(end)
    return inner.decode("utf-8", "replace") if found and closed else None


class Connection:
    """One keep-alive connection; it reconnects when the server has closed it."""

    def __init__(self, host, port, tls=None, server_name=None):
        self.host, self.port, self.tls = host, port, tls
        self.server_name = server_name or host
        self.socket = None
        self.buffer = b""

    def close(self):
        """Closes the socket, if open."""
        if self.socket:
            self.socket.close()
        self.socket, self.buffer = None, b""

    def open(self):
        """Opens the socket, if closed."""
        if self.socket:
            return
        plain = socket.create_connection((self.host, self.port), timeout=DEADLINE_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = self.tls.wrap_socket(plain, server_hostname=self.server_name) if self.tls else plain

    def request(self, method, target, headers, body=b""):
        """Sends one request with exactly these header pairs and reads its answer."""
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers)
        return self.exchange(head.encode("utf-8") + b"\r\n" + body, method)

    def exchange(self, data, method="GET"):
        """Sends raw bytes and reads one answer; retries once if an idle connection was closed."""
        reused = self.socket is not None
        try:
            return self.send_and_read(data, method)
        except (ConnectionError, EOFError, ssl.SSLEOFError):
            self.close()
            if not reused:
                raise
        return self.send_and_read(data, method)

    def send_and_read(self, data, method):
        """One try. A server may answer before it has taken the whole body, and stop reading."""
        self.open()
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            answer = self.read_answer(method)
            self.close()
            return answer
        return self.read_answer(method)

    def read_answer(self, method):
        """Reads one response; skips interim ones."""
        while True:
            status, reason, fields = self.read_head()
            if status >= 200:
                break
        low = {name.lower(): value for name, value in fields}
        if method == "HEAD" or status in (204, 304):
            body = b""
        elif "chunked" in low.get("transfer-encoding", "").lower():
            body = self.read_chunks()
        elif "content-length" in low:
            body = self.read_exactly(int(low["content-length"]))
        else:
            body = self.read_to_end()
        if low.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, reason, fields, body)

    def read_head(self):
        """Status, reason and header pairs."""
        status_line = self.read_line().decode("latin-1")
        parts = status_line.split(" ", 2)
        if not parts[0].startswith("HTTP/1."):
            raise ValueError(f"not an HTTP answer: {status_line!r}")
        fields = []
        while line := self.read_line():
            name, _, value = line.decode("utf-8", "replace").partition(":")
            fields.append((name, value.strip()))
        return int(parts[1]), parts[2] if len(parts) > 2 else "", fields

    def fill(self):
        """Reads more bytes into the buffer."""
        data = self.socket.recv(65536)
        if not data:
            raise EOFError("the server closed the connection")
        self.buffer += data

    def read_line(self):
        """One line without its end."""
        while b"\r\n" not in self.buffer:
            self.fill()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def read_exactly(self, count):
        """`count` bytes."""
        while len(self.buffer) < count:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_chunks(self):
        """A chunked body, without trailers."""
        body = b""
        while size := int(self.read_line().split(b";")[0], 16):
            body += self.read_exactly(size)
            self.read_line()
        while self.read_line():
            pass
        return body

    def read_to_end(self):
        """All bytes until the server closes."""
        try:
            while True:
                self.fill()
        except EOFError:
            body = self.buffer
            self.close()
            return body
