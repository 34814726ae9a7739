"""Shared access signatures: the rights of each operation, stored policies, and requests that must be refused."""

import pytest
from driver import signing
from driver.queue_signing import queue_sas as sign_queue
from messages import Queue
from service_xml import LOGGING_OFF, START, identifier, identifiers
from tables import expect_error, expect_ok


def account_sas(queue, permissions, types="sco", services="q", **options):
    """The queue, accessed with an account SAS."""
    endpoint = queue.endpoint
    return queue.seen_with(signing.account_sas(endpoint.account, endpoint.key, permissions=permissions, types=types,
                                               services=services, **options))


def queue_sas(queue, permissions="", **options):
    """The queue, accessed with a queue SAS."""
    endpoint = queue.endpoint
    return queue.seen_with(sign_queue(endpoint.account, endpoint.key, queue.name, permissions=permissions, **options))


class Filled:
    """A queue with a message that is visible (`shown`), and one whose receipt is valid (`held`)."""

    def __init__(self, queue):
        self.queue = queue
        self.shown = queue.add("shown")
        self.held = queue.add("held", visibilitytimeout=600)

    def unchanged(self):
        """Asserts that no operation had an effect."""
        assert [(message.text, message.dequeue_count) for message in self.queue.look()] == [("shown", "0")]
        assert self.queue.count() == 2


@pytest.fixture
def filled(queue):
    """A queue with two messages."""
    yield Filled(queue)
    Queue(queue.endpoint, queue.name + "x").drop()


PROPERTIES = "/?restype=service&comp=properties"
NO_CHANGE = f"{START}<StorageServiceProperties>{LOGGING_OFF}</StorageServiceProperties>"

# For each operation: how to send it, its resource type, the letters that permit it (each alone), and its status.
OPERATIONS = {
    "list queues": (lambda q, f: q.send("GET", "/?comp=list"), "s", "l", 200),
    "get properties": (lambda q, f: q.send("GET", PROPERTIES), "s", "r", 200),
    "set properties": (lambda q, f: q.send("PUT", PROPERTIES, None, NO_CHANGE), "s", "w", 202),
    "create": (lambda q, f: q.send("PUT", f"/{q.name}x"), "c", "cw", 201),
    "delete": (lambda q, f: q.drop(), "c", "d", 204),
    "get metadata": (lambda q, f: q.metadata(), "c", "r", 200),
    "set metadata": (lambda q, f: q.set_metadata({}), "c", "w", 204),
    "put": (lambda q, f: q.put("new"), "o", "a", 201),
    "get": (lambda q, f: q.get(), "o", "p", 200),
    "peek": (lambda q, f: q.peek(), "o", "r", 200),
    "update": (lambda q, f: q.update(f.held.id, f.held.receipt, "changed"), "o", "u", 204),
    "delete message": (lambda q, f: q.delete(f.held.id, f.held.receipt), "o", "p", 204),
    "clear": (lambda q, f: q.clear(), "o", "d", 204),
}
ALLOWED = [(name, letter) for name, (_, _, letters, _) in OPERATIONS.items() for letter in letters]
LETTERS = "rwdlacup"


@pytest.mark.parametrize("name,letter", ALLOWED)
def test_account_sas_permits(filled, name, letter):
    operation, types, _, status = OPERATIONS[name]
    expect_ok(operation(account_sas(filled.queue, letter, types), filled), status)


@pytest.mark.parametrize("name", OPERATIONS)
def test_account_sas_of_other_permissions(filled, name):
    operation, types, letters, _ = OPERATIONS[name]
    others = "".join(letter for letter in LETTERS if letter not in letters)
    answer = operation(account_sas(filled.queue, others, types), filled)
    expect_error(answer, 403, "AuthorizationPermissionMismatch")
    filled.unchanged()


@pytest.mark.parametrize("name", OPERATIONS)
def test_account_sas_of_other_resource_types(filled, name):
    operation, types, letters, _ = OPERATIONS[name]
    answer = operation(account_sas(filled.queue, letters, "sco".replace(types, "")), filled)
    expect_error(answer, 403, "AuthorizationResourceTypeMismatch")
    filled.unchanged()


def test_sas_never_reaches_the_acl(filled):
    seen = account_sas(filled.queue, LETTERS)
    expect_error(seen.acl(), 403, "AuthorizationFailure")
    expect_error(seen.set_acl(identifiers()), 403, "AuthorizationFailure")
    seen = queue_sas(filled.queue, "raup")
    assert (seen.acl().status, seen.set_acl(identifiers()).status) == (403, 403)


# The rights of a queue SAS; other operations have none.
QUEUE_LETTERS = {"get metadata": "r", "peek": "r", "put": "a", "update": "u", "get": "p", "delete message": "p"}


@pytest.mark.parametrize("name", QUEUE_LETTERS)
def test_queue_sas(filled, name):
    operation, _, _, status = OPERATIONS[name]
    others = "raup".replace(QUEUE_LETTERS[name], "")
    expect_error(operation(queue_sas(filled.queue, others), filled), 403, "AuthorizationPermissionMismatch")
    filled.unchanged()
    expect_ok(operation(queue_sas(filled.queue, QUEUE_LETTERS[name]), filled), status)


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - QUEUE_LETTERS.keys()))
def test_operations_without_a_queue_sas(filled, name):
    # Which of the documented codes the service answers is unconfirmed.
    answer = OPERATIONS[name][0](queue_sas(filled.queue, "raup"), filled)
    assert answer.status == 403 and answer.code in (
        "AuthorizationFailure", "AuthorizationPermissionMismatch", "AuthenticationFailed",
        "AuthorizationResourceTypeMismatch"), answer
    filled.unchanged()


def test_queue_sas_of_another_queue(filled, endpoint, new_name):
    other = Queue(endpoint, new_name("other"))
    other.create()
    seen = filled.queue.seen_with(queue_sas(other, "raup").query_pairs)
    expect_error(seen.peek(), 403, "AuthenticationFailed")
    other.drop()


@pytest.mark.parametrize("version", ["2015-04-05", "2019-02-02", "2020-12-06", "2021-12-02", "2026-10-06"])
def test_account_sas_versions(filled, version):
    expect_ok(account_sas(filled.queue, "r", version=version).peek(), 200)


@pytest.mark.parametrize("version", ["2012-02-12", "2013-08-15", "2015-02-21", "2015-04-05", "2019-02-02", "2020-12-06",
                                     "2026-10-06"])
def test_queue_sas_versions(filled, version):
    expect_ok(queue_sas(filled.queue, "r", version=version).peek(), 200)


@pytest.mark.parametrize("make", [account_sas, queue_sas])
@pytest.mark.parametrize("options,code", [
    ({"expiry": signing.iso_time(-60)}, "AuthenticationFailed"), ({"start": signing.iso_time(600)}, "AuthenticationFailed"),
    ({"ip": "10.1.2.3"}, "AuthorizationSourceIPMismatch"), ({"ip": "10.1.2.3-10.1.2.9"}, "AuthorizationSourceIPMismatch"),
    ({"protocol": "https"}, "AuthorizationProtocolMismatch")])
def test_conditions_that_fail(filled, make, options, code):
    expect_error(make(filled.queue, "r", **options).peek(), 403, code)


@pytest.mark.parametrize("make", [account_sas, queue_sas])
@pytest.mark.parametrize("options", [
    {"start": signing.iso_time(-600)}, {"ip": "127.0.0.1"}, {"ip": "127.0.0.0-127.0.0.255"}, {"protocol": "https,http"},
    {"expiry": "2040-01-01"}, {"expiry": "2040-01-01T00:00Z"}, {"expiry": "2040-01-01T00:00:00.0000000Z"}])
def test_conditions_that_hold(filled, make, options):
    expect_ok(make(filled.queue, "r", **options).peek(), 200)


def test_wrong_service(filled):
    expect_error(account_sas(filled.queue, "r", services="bt").peek(), 403, "AuthorizationServiceMismatch")


@pytest.mark.parametrize("make", [account_sas, queue_sas])
def test_every_parameter_is_signed(filled, make):
    good = make(filled.queue, "r", start=signing.iso_time(-600), protocol="https,http", ip="127.0.0.1").query_pairs
    expect_ok(filled.queue.seen_with(good).peek(), 200)
    changes = {"sp": "raup", "se": "2039-01-01T00:00:00Z", "st": "2001-01-01T00:00:00Z", "sip": "127.0.0.0-127.0.0.9",
               "spr": "https,http,", "srt": "o", "ss": "tq", "sig": "AAAA"}
    for name, value in changes.items():
        if name in dict(good):
            pairs = [(key, value if key == name else old) for key, old in good]
            expect_error(filled.queue.seen_with(pairs).peek(), 403, "AuthenticationFailed")
    for dropped in ("sp", "se", "sig"):
        answer = filled.queue.seen_with([(key, old) for key, old in good if key != dropped]).peek()
        assert answer.status in (401, 403), answer


def put_policy(queue, start="2020-01-01T00:00:00Z", expiry="2040-01-01T00:00:00Z", permission="r"):
    """Sets the queue's only stored policy, `mine`."""
    parts = [("Start", start), ("Expiry", expiry), ("Permission", permission)]
    inner = "".join(f"<{tag}>{value}</{tag}>" for tag, value in parts if value)
    expect_ok(queue.set_acl(identifiers(identifier("mine", f"<AccessPolicy>{inner}</AccessPolicy>"))), 204)


def test_stored_policy(filled):
    queue = filled.queue
    put_policy(queue)
    seen = queue_sas(queue, policy="mine")
    expect_ok(seen.peek(), 200)
    expect_error(seen.put(), 403, "AuthorizationPermissionMismatch")
    put_policy(queue, permission="a")
    expect_error(seen.peek(), 403, "AuthorizationPermissionMismatch")
    put_policy(queue, expiry="2020-02-01T00:00:00Z")
    expect_error(seen.peek(), 403, "AuthenticationFailed")
    put_policy(queue, start="2039-01-01T00:00:00Z")
    expect_error(seen.peek(), 403, "AuthenticationFailed")
    put_policy(queue)
    expect_ok(queue.set_acl(identifiers()), 204)
    expect_error(seen.peek(), 403, "AuthenticationFailed")


def test_stored_policy_and_token_share_the_fields(filled):
    put_policy(filled.queue, start="", expiry="")
    expect_ok(queue_sas(filled.queue, policy="mine", expiry=signing.iso_time(600)).peek(), 200)
    put_policy(filled.queue, permission="")
    expect_ok(queue_sas(filled.queue, "r", policy="mine").peek(), 200)


def test_unknown_policy(filled):
    expect_error(queue_sas(filled.queue, policy="other").peek(), 403, "AuthenticationFailed")
    put_policy(filled.queue)
    expect_error(queue_sas(filled.queue, policy="Mine").peek(), 403, "AuthenticationFailed")


def test_field_that_neither_side_gives(filled):
    put_policy(filled.queue, expiry="")
    expect_error(queue_sas(filled.queue, policy="mine").peek(), 403, "AuthenticationFailed")


def test_field_that_both_sides_give(filled):
    put_policy(filled.queue)
    answer = queue_sas(filled.queue, "r", policy="mine").peek()
    assert answer.status in (400, 403), answer


def test_sas_without_version_header(filled):
    # Without x-ms-version, `sv` is the protocol version.
    seen = account_sas(filled.queue, "r", version="2019-02-02")
    answer = seen.send("GET", f"/{seen.name}/messages?peekonly=true", {"x-ms-version": None, "x-ms-date": None})
    assert expect_ok(answer, 200).header("x-ms-version") == "2019-02-02"


def test_sas_needs_no_date(filled):
    seen = queue_sas(filled.queue, "r")
    expect_ok(seen.send("GET", f"/{seen.name}/messages?peekonly=true", {"x-ms-date": None}), 200)
