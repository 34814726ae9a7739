"""Unusual HTTP: unusual legal requests work. Invalid ones get an error or a closed connection, and change nothing."""

import pytest
from driver import signing
from tables import Table, expect_error, expect_ok


def signed_lines(endpoint, method, path, version="1.1", extra=()):
    """The head of a signed request as lines, which a case can alter."""
    date = {"x-ms-date": signing.http_date()}
    auth = endpoint.authorization("SharedKey", method, endpoint.prefix + path.partition("?")[0], date)
    return [f"{method} {endpoint.prefix}{path} HTTP/{version}", f"Host: {endpoint.authority}",
            "x-ms-version: 2019-02-02", f"x-ms-date: {date['x-ms-date']}", f"Authorization: {auth}",
            "Accept: application/json", *extra]


def text_of(lines):
    """The lines as bytes."""
    return "\r\n".join([*lines, "", ""]).encode()


def exchange(endpoint, data):
    """Sends raw bytes on a new connection; None if the server closes it without an answer."""
    connection = endpoint.sibling().connection
    try:
        return connection.exchange(data)
    except (ConnectionError, EOFError):
        return None
    finally:
        connection.close()


def test_header_names_in_any_case(endpoint):
    # As captured, the JavaScript client sends `authorization`.
    for change in (str.lower, str.upper):
        lines = signed_lines(endpoint, "GET", "/Tables")
        altered = [lines[0]] + [change(name) + colon + value for name, colon, value in
                                (line.partition(":") for line in lines[1:])]
        expect_ok(exchange(endpoint, text_of(altered)), 200)


def test_pipelined_requests(endpoint):
    connection = endpoint.sibling().connection
    connection.open()
    connection.socket.sendall(text_of(signed_lines(endpoint, "GET", "/Tables")) * 3)
    assert [connection.read_answer("GET").status for _ in range(3)] == [200] * 3
    connection.close()


def test_http_1_0(endpoint):
    answer = exchange(endpoint, text_of(signed_lines(endpoint, "GET", "/Tables", "1.0")))
    assert answer is None or answer.status in (200, 400, 505), answer


def test_close_is_honoured(endpoint):
    connection = endpoint.sibling().connection
    expect_ok(connection.exchange(text_of(signed_lines(endpoint, "GET", "/Tables", extra=["Connection: close"]))), 200)
    assert connection.socket is None


def test_no_host(endpoint):
    lines = [line for line in signed_lines(endpoint, "GET", "/Tables") if not line.startswith("Host:")]
    answer = exchange(endpoint, text_of(lines))
    assert answer is None or answer.status == 400, answer


@pytest.mark.parametrize("data", [
    b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET /x HTTP/9.9\r\n\r\n", b"\x00\x01\x02\x03\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
    b"GET /x HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n", b"GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: many\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"])
def test_broken_requests(endpoint, data):
    connection = endpoint.sibling().connection
    connection.open()
    connection.socket.sendall(data)
    connection.socket.shutdown(1)
    try:
        answer = connection.read_answer("GET")
        assert 400 <= answer.status < 600, answer
    except (ConnectionError, EOFError, ValueError):
        pass
    connection.close()
    expect_ok(endpoint.send("GET", "/Tables"), 200)


def test_too_many_header_bytes(endpoint):
    answer = exchange(endpoint, text_of(signed_lines(endpoint, "GET", "/Tables", extra=["x-large: " + "x" * 2_000_000])))
    assert answer is None or 400 <= answer.status < 500, answer


def test_body_far_over_every_limit(table):
    # The server need not read the whole body: it answers or closes the connection, and stores nothing.
    endpoint = table.endpoint.sibling()
    try:
        answer = endpoint.send("POST", "/" + table.name, {"Content-Type": "application/json"}, b" " * 40_000_000)
        assert answer.status in (400, 413), answer
    except (ConnectionError, EOFError):
        pass
    assert table.keys() == []


def test_refused_in_the_middle_of_sending(endpoint):
    # The body is much larger than the socket buffers. If a send fails, most clients do not read the answer.
    lines = signed_lines(endpoint, "POST", "/$batch", extra=["Content-Length: 4000000"])
    lines = [line[:-8] + "AAAAAAA=" if line.startswith("Authorization:") else line for line in lines]
    connection = endpoint.sibling().connection
    connection.open()
    connection.socket.sendall(text_of(lines) + b" " * 4_000_000)
    expect_error(connection.read_answer("POST"), 403, "AuthenticationFailed")
    connection.close()


def test_body_that_never_comes_is_not_waited_for_by_others(table):
    lines = signed_lines(table.endpoint, "POST", "/" + table.name, extra=["Content-Length: 100"])
    hanging = table.endpoint.sibling().connection
    hanging.open()
    hanging.socket.sendall(text_of(lines) + b"{")
    table.add("p", "r")
    hanging.close()
    assert table.rows() == ["r"]


def test_client_that_goes_away_leaves_whole_writes(table):
    body = b'{"PartitionKey": "p", "RowKey": "%d"}'
    for number in range(20):
        data = body % number
        date = {"x-ms-date": signing.http_date(), "Content-Type": "application/json"}
        target = f"{table.endpoint.prefix}/{table.name}"
        auth = table.endpoint.authorization("SharedKey", "POST", target, date)
        lines = [f"POST {target} HTTP/1.1", f"Host: {table.endpoint.authority}", "x-ms-version: 2019-02-02",
                 "Accept: application/json", f"Authorization: {auth}", f"Content-Length: {len(data)}",
                 *(f"{name}: {value}" for name, value in date.items())]
        gone = table.endpoint.sibling().connection
        gone.open()
        gone.socket.sendall(text_of(lines) + data)
        gone.close()
    # Every entity that was stored is complete and can be replaced.
    for row in table.rows():
        assert table.properties("p", row) == {}
        expect_ok(table.write("PUT", "p", row, {"A": 1}), 204)


def test_head_of_an_entity_is_no_crash(table):
    table.add("p", "r")
    answer = table.send("HEAD", f"/{table.name}(PartitionKey='p',RowKey='r')")
    assert answer.status in (200, 400, 405, 501) and answer.body == b"", answer


def test_unknown_verb(table):
    answer = table.send("JUMP", "/Tables")
    assert answer.status in (400, 405, 501), answer


def test_missing_length(table):
    # The service documents 411 MissingContentLengthHeader.
    answer = table.send("POST", "/" + table.name, {"Content-Length": None, "Content-Type": "application/json"})
    assert 400 <= answer.status < 500, answer
    expect_error(Table(table.endpoint, "nosuchtable").query(), 404, "TableNotFound")
