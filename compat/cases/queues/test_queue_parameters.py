"""Parameters of messages at their limits, and the details of the errors beyond them."""

import pytest
from messages import WEEK_S, error_details, message_body
from tables import expect_error, expect_ok

OUT_OF_RANGE = "One of the query parameters specified in the request URI is outside the permissible range."
INVALID = "Value for one of the query parameters specified in the request URI is invalid."


def out_of_range(answer, name, value, lowest, highest):
    """Asserts the error of a number outside its limits, with its details as recorded."""
    expect_error(answer, 400, "OutOfRangeQueryParameterValue")
    assert answer.message.startswith(OUT_OF_RANGE + "\n")
    assert error_details(answer) == {"QueryParameterName": name, "QueryParameterValue": value, "MinimumAllowed": lowest,
                                     "MaximumAllowed": highest}


def invalid(answer, name, value):
    """Asserts the error of a value that is not valid; returns the reason."""
    expect_error(answer, 400, "InvalidQueryParameterValue")
    assert answer.message.startswith(INVALID + "\n")
    details = error_details(answer)
    assert (details.pop("QueryParameterName"), details.pop("QueryParameterValue")) == (name, value)
    assert list(details) == ["Reason"]
    return details["Reason"]


@pytest.mark.parametrize("count", [1, 2, 32])
def test_number_of_messages(queue, count):
    expect_ok(queue.get(numofmessages=count), 200)
    expect_ok(queue.peek(numofmessages=count), 200)


@pytest.mark.parametrize("count", ["0", "33", "100", "-1"])
def test_number_of_messages_out_of_range(queue, count):
    queue.add()
    out_of_range(queue.peek(numofmessages=count), "numofmessages", count, "1", "32")
    out_of_range(queue.get(numofmessages=count), "numofmessages", count, "1", "32")
    assert queue.look()[0].dequeue_count == "0"


@pytest.mark.parametrize("count", ["x", "1.5"])
def test_number_of_messages_that_is_not_a_number(queue, count):
    # The code is unconfirmed.
    answer = queue.get(numofmessages=count)
    assert answer.status == 400 and answer.code in ("InvalidQueryParameterValue", "OutOfRangeQueryParameterValue"), answer


@pytest.mark.parametrize("timeout", [1, 30, 7200, WEEK_S])
def test_visibility_of_get(queue, timeout):
    queue.add()
    assert len(queue.take(visibilitytimeout=timeout)) == 1


@pytest.mark.parametrize("timeout", ["0", "-1", str(WEEK_S + 1)])
def test_visibility_of_get_out_of_range(queue, timeout):
    queue.add()
    out_of_range(queue.get(visibilitytimeout=timeout), "visibilitytimeout", timeout, "1", str(WEEK_S))
    assert queue.look()[0].dequeue_count == "0"


@pytest.mark.parametrize("timeout", [0, 1, WEEK_S])
def test_visibility_of_put(queue, timeout):
    queue.add(visibilitytimeout=timeout, messagettl=-1)


@pytest.mark.parametrize("timeout", ["-1", str(WEEK_S + 1)])
def test_visibility_of_put_out_of_range(queue, timeout):
    out_of_range(queue.put(visibilitytimeout=timeout, messagettl=-1), "visibilitytimeout", timeout, "0", str(WEEK_S))
    assert queue.count() == 0


@pytest.mark.parametrize("timeout", [0, 1, WEEK_S])
def test_visibility_of_update(queue, timeout):
    queue.change(queue.add(messagettl=-1), visibilitytimeout=timeout)


@pytest.mark.parametrize("timeout", ["-1", str(WEEK_S + 1)])
def test_visibility_of_update_out_of_range(queue, timeout):
    message = queue.add(messagettl=-1)
    out_of_range(queue.update(message.id, message.receipt, "other", visibilitytimeout=timeout), "visibilitytimeout",
                 timeout, "0", str(WEEK_S))
    assert queue.texts() == ["text"]


@pytest.mark.parametrize("life", [1, WEEK_S, WEEK_S + 1, 2**31 - 1, -1])
def test_time_to_live(queue, life):
    queue.add(messagettl=life)


@pytest.mark.parametrize("life", ["0", "-2", "x"])
def test_time_to_live_that_is_invalid(queue, life):
    invalid(queue.put(messagettl=life), "messagettl", life)
    assert queue.count() == 0


def test_time_to_live_of_old_versions(queue):
    # As the service documents: seven days at most before 2017-07-29, and no -1.
    old = {"x-ms-version": "2016-05-31"}
    expect_ok(queue.put(headers=old, messagettl=WEEK_S), 201)
    for life in (WEEK_S + 1, -1):
        answer = queue.put(headers=old, messagettl=life)
        assert answer.status == 400 and answer.code, answer


@pytest.mark.parametrize("query", [{"visibilitytimeout": 30, "messagettl": 30}, {"visibilitytimeout": 31, "messagettl": 30},
                                   {"visibilitytimeout": WEEK_S}])
def test_visibility_reaches_the_expiry(queue, query):
    # As recorded, the reason has no full stop.
    reason = invalid(queue.put(**query), "visibilitytimeout", str(query["visibilitytimeout"]))
    assert reason == "messagettl must be greater than visibilitytimeout"
    assert queue.count() == 0


def test_visibility_just_before_the_expiry(queue):
    queue.add(visibilitytimeout=29, messagettl=30)
    queue.add(visibilitytimeout=WEEK_S - 1)


def test_receipt_that_is_malformed(queue):
    message = queue.add()
    for value in ("invalid", "x" * 500):
        for answer in (queue.delete(message.id, value), queue.update(message.id, value, "other")):
            # As recorded.
            assert invalid(answer, "popreceipt", value) == "Invalid pop receipt format"
    assert queue.texts() == ["text"]


def test_receipt_that_is_missing(queue):
    message = queue.add()
    for answer in (queue.delete(message.id, None), queue.update(message.id, None, "other")):
        expect_error(answer, 400, "MissingRequiredQueryParameter")
    assert queue.texts() == ["text"]


def test_update_needs_a_visibility(queue):
    message = queue.add()
    answer = queue.update(message.id, message.receipt, "other", visibilitytimeout=None)
    expect_error(answer, 400, "MissingRequiredQueryParameter")
    assert queue.texts() == ["text"]


def test_receipts_are_percent_encoded(queue):
    # As captured, clients encode `+`, `/` and `=` of a receipt.
    message = queue.add()
    encoded = "".join(f"%{ord(letter):02x}" for letter in message.receipt)
    answer = queue.send("DELETE", f"/{queue.name}/messages/{message.id}?popreceipt={encoded}")
    expect_ok(answer, 204)


@pytest.mark.parametrize("timeout", ["1", "30"])
def test_timeout_of_a_request(queue, timeout):
    expect_ok(queue.put(timeout=timeout), 201)
    expect_ok(queue.get(timeout=timeout), 200)


def test_unknown_parameters_are_ignored(queue):
    expect_ok(queue.put(unknown="1"), 201)
    expect_ok(queue.get(unknown="1"), 200)


def test_names_of_parameters_in_any_case(queue):
    expect_ok(queue.send("GET", f"/{queue.name}/messages?NumOfMessages=2&PeekOnly=true"), 200)


def test_peekonly_false_is_a_get(queue):
    queue.add()
    expect_ok(queue.send("GET", f"/{queue.name}/messages?peekonly=false"), 200)
    assert queue.texts() == []


@pytest.mark.parametrize("method,path", [
    ("PUT", "/{}/messages"), ("POST", "/{}"), ("GET", "/{}/messages/00000000-1111-2222-3333-444444444444"),
    ("PATCH", "/{}/messages"), ("POST", "/?comp=list"), ("DELETE", "/{}?comp=metadata"), ("GET", "/{}?comp=unknown"),
    ("GET", "/{}/other"), ("GET", "/{}/messages/a/b")])
def test_operations_that_do_not_exist(queue, method, path):
    queue.add()
    answer = queue.send(method, path.format(queue.name), None, message_body("other") if method in ("POST", "PUT") else None)
    assert answer.status in (400, 404, 405) and answer.code, answer
    assert queue.texts() == ["text"]
