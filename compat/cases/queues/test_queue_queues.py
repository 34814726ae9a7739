"""Queues: create, delete, list, metadata, and the rules of their names."""

import re

import pytest
from messages import Queue
from tables import expect_error, expect_ok

NO_QUEUE = "The specified queue does not exist."


def listed(endpoint, headers=None, **query):
    """The XML of a list of queues."""
    return expect_ok(Queue(endpoint, "").send("GET", "/?comp=list", headers, None, query.items()), 200).text


def names(text):
    """The names in a list of queues."""
    return re.findall("<Name>([^<]*)</Name>", text)


def test_create(endpoint, new_name):
    queue = Queue(endpoint, new_name("queue"))
    assert expect_ok(queue.create(), 201).body == b""
    expect_ok(queue.create(), 204)
    expect_error(queue.send("PUT", "/" + queue.name, {"x-ms-meta-a": "1"}), 409, "QueueAlreadyExists")
    expect_ok(queue.drop(), 204)
    expect_error(queue.drop(), 404, "QueueNotFound")


def test_create_again_with_metadata(endpoint, new_name):
    queue = Queue(endpoint, new_name("queue"))
    expect_ok(queue.create({"x-ms-meta-a": "1", "x-ms-meta-b": "2"}), 201)
    expect_ok(queue.create({"x-ms-meta-b": "2", "x-ms-meta-a": "1"}), 204)
    for other in ({}, {"x-ms-meta-a": "1"}, {"x-ms-meta-a": "1", "x-ms-meta-b": "3"},
                  {"x-ms-meta-a": "1", "x-ms-meta-b": "2", "x-ms-meta-c": "3"}):
        answer = queue.send("PUT", "/" + queue.name, other)
        expect_error(answer, 409, "QueueAlreadyExists")
        assert answer.message.startswith("The specified queue already exists.")
    assert queue.metadata().header("x-ms-meta-b") == "2"
    queue.drop()


def test_a_new_queue_has_no_messages_of_the_old_one(queue):
    queue.add("old")
    expect_ok(queue.drop(), 204)
    expect_error(queue.peek(), 404, "QueueNotFound")
    # Azure refuses the name for half a minute (QueueBeingDeleted); other servers need not.
    queue.create()
    assert queue.texts() == [] and queue.count() == 0
    assert queue.acl().text.endswith("<SignedIdentifiers />") or queue.acl().text.endswith("<SignedIdentifiers/>")


@pytest.mark.parametrize("send", [
    lambda q: q.drop(), lambda q: q.metadata(), lambda q: q.set_metadata({"x-ms-meta-a": "1"}), lambda q: q.acl(),
    lambda q: q.set_acl("<SignedIdentifiers />"), lambda q: q.put(), lambda q: q.get(), lambda q: q.peek(),
    lambda q: q.clear()], ids=["delete", "metadata", "set metadata", "acl", "set acl", "put", "get", "peek", "clear"])
def test_no_such_queue(endpoint, send):
    answer = send(Queue(endpoint, "no-such-queue"))
    expect_error(answer, 404, "QueueNotFound")
    assert answer.message.startswith(NO_QUEUE)


def test_message_of_no_queue(endpoint, queue):
    message = queue.add()
    other = Queue(endpoint, "no-such-queue")
    expect_error(other.update(message.id, message.receipt), 404, "QueueNotFound")
    expect_error(other.delete(message.id, message.receipt), 404, "QueueNotFound")


@pytest.mark.parametrize("name", ["abc", "a1b", "123", "a-b", "a-b-c", "q" * 63, "0-" + "1" * 61])
def test_names(endpoint, name):
    queue = Queue(endpoint, name)
    queue.create()
    assert names(listed(endpoint, prefix=name)) == [name]
    expect_ok(queue.drop(), 204)


@pytest.mark.parametrize("name", ["Abc", "a_b", "a.b", "-ab", "ab-", "a--b", "a%20b", "%C3%A9abc"])
def test_names_with_invalid_characters(endpoint, name):
    answer = Queue(endpoint, name).send("PUT", "/" + name)
    expect_error(answer, 400, "InvalidResourceName")


@pytest.mark.parametrize("name", ["a", "ab", "q" * 64, "q" * 300])
def test_names_of_invalid_length(endpoint, name):
    answer = Queue(endpoint, name).send("PUT", "/" + name)
    expect_error(answer, 400, "OutOfRangeInput")


def test_text_of_an_invalid_name(endpoint):
    # As recorded, with the service's spelling.
    answer = Queue(endpoint, "").send("PUT", "/Abc")
    assert answer.message.startswith("The specifed resource name contains invalid characters.\n")


def test_metadata(queue):
    answer = expect_ok(queue.metadata(), 200)
    assert answer.body == b"" and answer.header("x-ms-approximate-messages-count") == "0"
    assert not [name for name in answer.headers if name.startswith("x-ms-meta-")]
    assert expect_ok(queue.set_metadata({"x-ms-meta-First": "one", "x-ms-meta-second": "t w o"}), 204).body == b""
    for method in ("GET", "HEAD"):
        answer = expect_ok(queue.metadata(method), 200)
        assert (answer.header("x-ms-meta-first"), answer.header("x-ms-meta-second")) == ("one", "t w o")
    expect_ok(queue.set_metadata({"x-ms-meta-third": "3"}), 204)
    answer = queue.metadata()
    assert answer.header("x-ms-meta-first") is None and answer.header("x-ms-meta-third") == "3"
    expect_ok(queue.set_metadata({}), 204)
    assert queue.metadata().header("x-ms-meta-third") is None


def test_case_of_metadata_names_is_kept(queue):
    expect_ok(queue.set_metadata({"x-ms-meta-camelCase": "1"}), 204)
    assert "camelCase" in listed(queue.endpoint, prefix=queue.name, include="metadata")
    assert "x-ms-meta-camelCase" in [name for name, _ in queue.metadata().fields]


def test_stray_metadata_header_is_ignored(queue):
    # As captured, the Python client sends a header without a name.
    expect_ok(queue.set_metadata({"x-ms-meta": "", "x-ms-meta-a": "1"}), 204)
    assert queue.metadata().header("x-ms-meta-a") == "1"


@pytest.mark.parametrize("name", ["1a", "a-b", "a.b"])
def test_metadata_names_that_are_refused(queue, name):
    expect_ok(queue.set_metadata({"x-ms-meta-kept": "1"}), 204)
    expect_error(queue.set_metadata({f"x-ms-meta-{name}": "2"}), 400, "InvalidMetadata")
    assert queue.metadata().header("x-ms-meta-kept") == "1"


def test_metadata_without_a_name(queue):
    expect_error(queue.set_metadata({"x-ms-meta-": "2"}), 400, "EmptyMetadataKey")


def test_size_of_metadata(queue):
    expect_ok(queue.set_metadata({f"x-ms-meta-a{number}": "x" * 1000 for number in range(8)}), 204)
    answer = queue.set_metadata({f"x-ms-meta-a{number}": "x" * 1024 for number in range(9)})
    expect_error(answer, 400, "MetadataTooLarge")


def test_approximate_count(queue):
    for number in range(3):
        queue.add(str(number), visibilitytimeout=600 if number == 0 else 0)
    # Messages that are invisible count.
    assert queue.count() == 3
    [taken] = queue.take()
    assert queue.count() == 3
    expect_ok(queue.delete(taken.id, taken.receipt), 204)
    assert queue.count() == 2
    expect_ok(queue.clear(), 204)
    assert queue.count() == 0


@pytest.fixture
def several(endpoint, new_name):
    """The common prefix of five queues."""
    prefix = new_name("list") + "-"
    queues = [Queue(endpoint, prefix + letter) for letter in "cabed"]
    for queue in queues:
        queue.create({"x-ms-meta-letter": queue.name[-1]} if queue.name[-1] != "e" else {})
    yield prefix
    for queue in queues:
        queue.drop()


def test_list(endpoint, several):
    text = listed(endpoint, prefix=several)
    assert names(text) == [several + letter for letter in "abcde"]
    assert "<Metadata" not in text and f"<Prefix>{several}</Prefix>" in text
    assert re.search("<NextMarker ?/>", text)
    assert names(listed(endpoint, prefix=several + "b")) == [several + "b"]
    assert names(listed(endpoint, prefix=several + "x")) == []
    assert set(names(text)) <= set(names(listed(endpoint)))


def test_list_without_a_slash(endpoint, several):
    answer = expect_ok(endpoint.send("GET", f"?comp=list&prefix={several}"), 200)
    assert len(names(answer.text)) == 5


def test_list_with_metadata(endpoint, several):
    text = listed(endpoint, prefix=several, include="metadata")
    assert re.findall("<letter>(.)</letter>", text) == list("abcd")
    assert re.search(f"<Name>{several}e</Name><Metadata ?/>", text)


def test_pages(endpoint, several):
    found, marker = [], None
    while marker != "" and len(found) < 4:
        query = {"prefix": several, "maxresults": 2} | ({"marker": marker} if marker else {})
        text = listed(endpoint, **query)
        found.append(names(text))
        assert "<MaxResults>2</MaxResults>" in text
        marker = "".join(re.findall("<NextMarker>([^<]*)</NextMarker>", text))
    assert found == [[several + "a", several + "b"], [several + "c", several + "d"], [several + "e"]]


def test_page_that_is_exactly_full(endpoint, several):
    assert re.search("<NextMarker ?/>", listed(endpoint, prefix=several, maxresults=5))
    assert not re.search("<NextMarker ?/>", listed(endpoint, prefix=several, maxresults=4))


def test_marker_of_a_queue_that_was_deleted(endpoint, several):
    text = listed(endpoint, prefix=several, maxresults=2)
    marker = re.search("<NextMarker>([^<]*)</NextMarker>", text)[1]
    expect_ok(Queue(endpoint, several + "c").drop(), 204)
    assert names(listed(endpoint, prefix=several, marker=marker)) == [several + "d", several + "e"]


def test_elements_of_a_list(endpoint, several):
    # As recorded, only the parameters that were sent come back.
    text = listed(endpoint, prefix=several)
    assert text.startswith(f'<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="{endpoint.base}/">'
                           f"<Prefix>{several}</Prefix><Queues><Queue><Name>")
    assert text.endswith("</Name></Queue></Queues><NextMarker /></EnumerationResults>")
    page = listed(endpoint, prefix=several, maxresults=1)
    marker = re.search("<NextMarker>([^<]*)</NextMarker>", page)[1]
    again = listed(endpoint, prefix=several, marker=marker, maxresults=1)
    assert f"<Prefix>{several}</Prefix><Marker>{marker}</Marker><MaxResults>1</MaxResults><Queues>" in again


@pytest.mark.parametrize("value", ["0", "-1"])
def test_size_of_a_page_out_of_range(endpoint, value):
    answer = endpoint.send("GET", f"/?comp=list&maxresults={value}")
    expect_error(answer, 400, "OutOfRangeQueryParameterValue")


def test_size_of_a_page(endpoint):
    # As the service documents, a larger number counts as 5,000.
    for value in (1, 5000, 5001):
        expect_ok(endpoint.send("GET", f"/?comp=list&maxresults={value}"), 200)


@pytest.mark.parametrize("value", ["x", "1.5"])
def test_size_of_a_page_that_is_not_a_number(endpoint, value):
    answer = endpoint.send("GET", f"/?comp=list&maxresults={value}")
    assert answer.status == 400 and answer.code, answer
