"""Bounds on unauthenticated connections, and clients that trust `--tls dev` certificates; Partita only."""

import os
import subprocess
import time

import pytest
from azure.data.tables import TableClient
from driver.certificate import make_certificate
from driver.endpoint import Endpoint
from driver.wire import Connection
from tables import Table, expect_ok
from test_http import signed_lines, text_of

PATIENCE_S = 10


@pytest.fixture
def ours(launch, target):
    """A function that starts a Partita server with further flags."""
    if target != "partita":
        pytest.skip("only Partita has these flags")
    return launch


def ends_within(connection, seconds):
    """Whether the server closes the connection in time, with or without an answer."""
    connection.socket.settimeout(seconds)
    begun = time.monotonic()
    try:
        while connection.socket.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - begun < seconds


@pytest.mark.parametrize("flag,sent", [
    ("--header-timeout", b"GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: "),
    ("--stall-timeout", None),
    ("--idle-timeout", b"")])
def test_waiting_has_an_end(ours, flag, sent):
    # The keep-alive time in the answer must not exceed the server's idle timeout.
    endpoint = Endpoint(ours(flag, "1s", "--table-keep-alive", "1s").url)
    connection = endpoint.connection
    connection.open()
    if sent is None:
        sent = text_of(signed_lines(endpoint, "POST", "/Tables", extra=["Content-Length: 100"])) + b"{"
    elif not sent:
        expect_ok(connection.exchange(text_of(signed_lines(endpoint, "GET", "/Tables"))), 200)
    connection.socket.sendall(sent)
    assert ends_within(connection, PATIENCE_S)
    connection.close()


def test_a_head_over_the_limit_and_http_2_are_refused(ours):
    # Azure answers both with an HTML page of its front end, so these answers are not the service's.
    endpoint = Endpoint(ours("--header-bytes-max", "8KiB").url)
    table = Table(endpoint, "kept")
    table.create()
    signed = text_of(signed_lines(endpoint, "GET", "/Tables", extra=["x-filler: "]))
    fill = 8192 - len(signed)
    for more, status in ((0, 200), (1, 431)):
        head = signed.replace(b"x-filler: ", b"x-filler: " + b"x" * (fill + more))
        answer = endpoint.sibling().connection.exchange(head)
        assert answer.status == status, answer
    for rest in (b"", b"\0\0\0\x04\0\0\0\0\0"):
        answer = endpoint.sibling().connection.exchange(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rest)
        assert (answer.status, answer.body) == (505, b""), answer
    expect_ok(table.query(), 200)


def test_reader_that_does_not_read(ours):
    # The first connection occupies the only slot. A second one is served when the server has closed the first.
    endpoint = Endpoint(ours("--stall-timeout", "1s", "--connections-max", "1").url)
    table = Table(endpoint, "large")
    table.create()
    for row in range(60):
        expect_ok(table.insert("p", str(row), {f"S{number}": "x" * 30000 for number in range(10)},
                               {"Prefer": "return-no-content"}), 204)
    endpoint.connection.close()
    slow = endpoint.sibling().connection
    slow.open()
    # The answers are much larger than the socket buffers.
    slow.socket.sendall(text_of(signed_lines(endpoint, "GET", "/large()")) * 4)
    other = endpoint.sibling().connection
    other.open()
    other.socket.settimeout(PATIENCE_S)
    other.socket.sendall(text_of(signed_lines(endpoint, "GET", "/Tables")))
    expect_ok(other.read_answer("GET"), 200)
    for connection in (slow, other):
        connection.close()


def test_connections_beyond_the_limit_wait(ours):
    endpoint = Endpoint(ours("--connections-max", "2").url)
    request = text_of(signed_lines(endpoint, "GET", "/Tables"))
    held = [endpoint.sibling().connection for _ in range(2)]
    for connection in held:
        expect_ok(connection.exchange(request), 200)
    third = endpoint.sibling().connection
    third.open()
    third.socket.sendall(request)
    third.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        third.fill()
    held[0].close()
    third.socket.settimeout(PATIENCE_S)
    expect_ok(third.read_answer("GET"), 200)
    for connection in (held[1], third):
        connection.close()


def load_over_tls(url, ca_file, monkeypatch):
    """Writes and reads an entity with the official client, which trusts this CA file."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(ca_file))
    string = Endpoint(url, ca_file=str(ca_file)).connection_string()
    with TableClient.from_connection_string(string, "secure") as client:
        client.create_table()
        client.create_entity({"PartitionKey": "p", "RowKey": "r", "A": 1})
        assert client.get_entity("p", "r")["A"] == 1


def test_own_authority(ours, monkeypatch):
    server = ours("--tls", "dev")
    # The server prints the environment variables that make clients trust its certificate.
    found = {name: server.wait_for(rf"{name}='([^']+)'").group(1)
             for name in ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")}
    load_over_tls(server.url, found["REQUESTS_CA_BUNDLE"], monkeypatch)
    port = server.url.rsplit(":", 1)[1]
    load = Endpoint(f"https://localhost:{port}", ca_file=found["SSL_CERT_FILE"], host_style="table.localhost")
    expect_ok(load.send("GET", "/Tables"), 200)


def test_certificate_with_a_password(ours, tmp_path, monkeypatch):
    cert, key = make_certificate(tmp_path)
    pfx = tmp_path / "both.pfx"
    subprocess.run(["openssl", "pkcs12", "-export", "-in", cert, "-inkey", key, "-out", pfx, "-passout", "pass:secret"],
                   check=True, capture_output=True)
    server = ours("--cert", str(pfx), "--pwd", "secret")
    load_over_tls(server.url, cert, monkeypatch)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_tls_is_refused(ours, tmp_path):
    import ssl
    cert, key = make_certificate(tmp_path)
    server = ours("--cert", str(cert), "--key", str(key))
    port = int(server.url.rsplit(":", 1)[1])
    context = ssl.create_default_context(cafile=str(cert))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        Connection("127.0.0.1", port, context, "localhost").open()
    # Plain HTTP on the TLS port gets no answer either.
    plain = Connection("127.0.0.1", port)
    plain.open()
    plain.socket.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert ends_within(plain, PATIENCE_S) and os.path.exists(cert)
