"""Headers and forms of answers, and what differs between versions of the protocol; all as recorded."""

import base64
import hashlib

import pytest
from messages import Queue, messages_of
from tables import XML, expect_error, expect_ok

BOM = b"\xef\xbb\xbf"
DECLARATION = b'<?xml version="1.0" encoding="utf-8"?>'
VERSIONS = ["2015-04-05", "2016-05-31", "2018-03-28", "2018-11-09", "2019-02-02", "2019-07-07", "2020-02-10", "2020-04-08",
            "2021-12-02", "2026-06-06"]


@pytest.mark.parametrize("version", VERSIONS)
def test_version_of_the_request_comes_back(queue, version):
    old = {"x-ms-version": version}
    for answer in (queue.metadata(headers=old), queue.get(old), queue.put(headers=old),
                   queue.send("GET", "/no-such-queue?comp=metadata", old)):
        assert answer.header("x-ms-version") == version


@pytest.mark.parametrize("version", ["yesterday", "2008-01-01", "2015-13-45"])
def test_versions_that_are_refused(endpoint, version):
    expect_error(endpoint.send("GET", "/?comp=list", {"x-ms-version": version}), 400, "InvalidHeaderValue")


@pytest.mark.parametrize("version", [None, ""])
def test_shared_key_needs_a_version(endpoint, version):
    # As for the Table service, the status is 400; which code is unconfirmed.
    answer = endpoint.send("GET", "/?comp=list", {"x-ms-version": version})
    assert answer.status == 400 and answer.code in ("MissingRequiredHeader", "InvalidHeaderValue"), answer


def answers(queue):
    """An answer of each kind, by its kind."""
    message = queue.add("text")
    return {
        "list": queue.send("GET", "/?comp=list"), "metadata": queue.metadata(), "acl": queue.acl(), "peek": queue.peek(),
        "get": queue.get(), "properties": queue.send("GET", "/?restype=service&comp=properties"),
        "put": queue.put(), "update": queue.update(message.id, message.receipt), "clear": queue.clear(),
        "set metadata": queue.set_metadata({}), "set acl": queue.set_acl("<SignedIdentifiers />"),
        "create": queue.send("PUT", "/" + queue.name), "error": queue.send("GET", "/no-such-queue?comp=metadata"),
        "drop": queue.drop(), "create new": queue.create()}


READS = {"list", "metadata", "acl", "peek", "get", "properties"}


def test_cache_control(queue):
    for kind, answer in answers(queue).items():
        expected = "no-cache" if kind in READS else None
        assert answer.header("Cache-Control") == expected, kind


def test_content_type_and_mark(queue):
    for kind, answer in answers(queue).items():
        assert answer.header("Content-Type") == (XML if answer.body else None), kind
        if answer.body:
            assert answer.body.startswith(BOM + DECLARATION + b"<") and not answer.body.endswith(b"\n"), kind


def test_common_headers(queue):
    for kind, answer in answers(queue).items():
        assert answer.header("x-ms-request-id") and answer.header("Date") and answer.header("Server"), kind
        assert answer.header("ETag") is None and answer.header("Last-Modified") is None, kind


def test_reason_is_the_message(queue):
    answer = queue.send("GET", "/no-such-queue?comp=metadata")
    assert answer.reason == "The specified queue does not exist."


@pytest.mark.parametrize("version,echoed", [("2016-05-31", False), ("2018-03-28", False), ("2018-11-09", False),
                                            ("2019-02-02", True), ("2021-12-02", True)])
def test_client_request_id(queue, version, echoed):
    headers = {"x-ms-client-request-id": "mine-1", "x-ms-version": version, "x-ms-return-client-request-id": "true"}
    for answer in (queue.metadata(headers=headers), queue.put(headers=headers),
                   queue.send("GET", "/no-such-queue?comp=metadata", headers)):
        assert answer.header("x-ms-client-request-id") == ("mine-1" if echoed else None)


@pytest.mark.parametrize("version,there", [("2015-04-05", False), ("2016-05-31", False), ("2018-03-28", True),
                                           ("2021-12-02", True)])
def test_error_code_header(endpoint, version, there):
    answer = endpoint.send("GET", "/no-such-queue/messages", {"x-ms-version": version})
    expect_error(answer, 404, "QueueNotFound")
    assert answer.header("x-ms-error-code") == ("QueueNotFound" if there else None)


@pytest.mark.parametrize("version,body", [("2015-04-05", False), ("2015-12-11", False), ("2016-05-31", True)])
def test_body_of_put(queue, version, body):
    answer = expect_ok(queue.put("text", {"x-ms-version": version}), 201)
    assert bool(answer.body) == body and answer.header("Content-Type") == (XML if body else None)
    assert queue.texts() == ["text"]


def test_elements_of_old_versions(queue):
    # As recorded (storagepython2016--test_queue_test_get_messages).
    queue.add("text")
    text = expect_ok(queue.get({"x-ms-version": "2015-04-05"}), 200).text
    order = [text.index(f"<{name}>") for name in ("ExpirationTime", "DequeueCount", "PopReceipt", "TimeNextVisible", "MessageText")]
    assert order == sorted(order)


def test_empty_list_of_messages(queue):
    for answer in (queue.get(), queue.peek()):
        assert answer.body == BOM + DECLARATION + b"<QueueMessagesList />"


def test_empty_text(queue):
    queue.add("")
    assert b"<MessageText />" in queue.peek().body


def test_escapes(queue):
    queue.add("<&>\"'\r\n")
    assert b"<MessageText>&lt;&amp;&gt;\"'&#xD;\n</MessageText>" in queue.peek().body
    assert messages_of(queue.peek())[0].text == "<&>\"'\r\n"


def test_error_body(queue):
    answer = queue.send("GET", "/no-such-queue?comp=metadata")
    request_id = answer.header("x-ms-request-id")
    head = (f"<Error><Code>QueueNotFound</Code><Message>The specified queue does not exist.\nRequestId:{request_id}\nTime:")
    assert answer.text.startswith(DECLARATION.decode() + head) and answer.text.endswith("Z</Message></Error>")


def test_head_of_errors(queue):
    answer = queue.endpoint.send("HEAD", "/no-such-queue?comp=metadata")
    assert (answer.status, answer.body, answer.header("x-ms-error-code")) == (404, b"", "QueueNotFound")


def test_body_is_compared_with_its_digest(queue):
    body = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"
    right = base64.b64encode(hashlib.md5(body.encode()).digest()).decode()
    expect_error(queue.put(headers={"Content-MD5": "A" * 22 + "=="}, body=body), 400, "Md5Mismatch")
    expect_error(queue.put(headers={"Content-MD5": "no digest"}, body=body), 400, "InvalidMd5")
    assert queue.count() == 0
    expect_ok(queue.put(headers={"Content-MD5": right}, body=body), 201)


@pytest.mark.parametrize("value", [None, "text/plain", "application/xml; charset=utf-8"])
def test_type_of_a_body_does_not_count(queue, value):
    expect_ok(queue.put("text", {"Content-Type": value}), 201)


def test_connection_is_kept_after_errors(endpoint):
    fresh = endpoint.sibling()
    other = Queue(fresh, "no-such-queue")
    expect_error(other.peek(), 404, "QueueNotFound")
    socket = fresh.connection.socket
    expect_error(other.put("x" * 70_000), 413, "RequestBodyTooLarge")
    expect_error(other.put("x"), 404, "QueueNotFound")
    assert fresh.connection.socket is socket and socket is not None
