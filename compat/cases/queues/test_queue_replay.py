"""Tests of the replay's comparison: an answer as recorded is equal, and each change of it is found."""

import pathlib
import sys
import time

import pytest
from driver.queue_endpoint import QueueEndpoint
from driver.wire import Answer

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "replay"))

from queue_compare import compare  # noqa: E402
from queue_marks import QueueMarks, write_date  # noqa: E402
from scenario import Number, Step  # noqa: E402

IDS = ["11111111-2222-3333-4444-000000000001", "11111111-2222-3333-4444-000000000002"]
NOW = int(time.time())
START = '<?xml version="1.0" encoding="utf-8"?>'


def listed(number, moment="{t:%d}", text="text"):
    """A recorded message."""
    moment %= number
    return (f"<QueueMessage><MessageId>{{id:{number}}}</MessageId><InsertionTime>{moment}</InsertionTime>"
            f"<ExpirationTime>{moment[:-1]}+40}}</ExpirationTime><PopReceipt>{{pop:1}}</PopReceipt>"
            f"<TimeNextVisible>{{now+30}}</TimeNextVisible><MessageText>{text}{number}</MessageText></QueueMessage>")


def answered(number, text="text", made=NOW):
    """The message that matches it."""
    return (f"<QueueMessage><MessageId>{IDS[number - 1]}</MessageId><InsertionTime>{write_date(made)}</InsertionTime>"
            f"<ExpirationTime>{write_date(made + 40)}</ExpirationTime><PopReceipt>receipt{number}</PopReceipt>"
            f"<TimeNextVisible>{write_date(made + 30)}</TimeNextVisible><MessageText>{text}{number}</MessageText></QueueMessage>")


def messages(*inner):
    """The body of a list of messages."""
    return f"{START}<QueueMessagesList>{''.join(inner)}</QueueMessagesList>"


def places(recorded, actual, *, status=200, marks=None, bom="\ufeff", headers=None):
    """The places of the differences of two bodies."""
    if not marks:
        marks = QueueMarks(QueueEndpoint("http://127.0.0.1:1"))
        marks.sent_at = NOW
    step = Step(1, {}, {"status": Number("200"), "headers": {"x-ms-version": "2019-02-02"}, "body": recorded})
    answer = Answer(status, "", list((headers or {"x-ms-version": "2019-02-02"}).items()), (bom + actual).encode())
    return [difference.place for difference in compare(step, answer, marks)]


RECORDED = messages(listed(1), listed(2))


def test_messages_in_any_place():
    assert places(RECORDED, messages(answered(1), answered(2))) == []
    assert places(RECORDED, messages(answered(2), answered(1))) == []


def test_marks_keep_their_values():
    marks = QueueMarks(QueueEndpoint("http://127.0.0.1:1"))
    marks.sent_at = NOW
    assert places(RECORDED, messages(answered(1), answered(2)), marks=marks) == []
    assert marks.fill("/q/messages/{id:2}?popreceipt={pop:1}", encode_tokens=True) == (
        f"/q/messages/{IDS[1]}?popreceipt=receipt1")
    assert marks.fill("{run:a:3}") == "aaa"
    assert places(messages(listed(2)), messages(answered(1)), marks=marks) == ["message"]


@pytest.mark.parametrize("actual,place", [
    (messages(answered(1)), "number of messages"),
    (messages(answered(1), answered(2), answered(2)), "number of messages"),
    (messages(answered(1), answered(2, "other")), "MessageText"),
    (messages(answered(1), answered(2)).replace(write_date(NOW + 40), write_date(NOW + 41), 1), "ExpirationTime"),
    (messages(answered(1), answered(2)).replace(write_date(NOW + 30), write_date(NOW + 27), 1), "TimeNextVisible"),
    (messages(answered(1), answered(2)).replace("<PopReceipt>receipt2</PopReceipt>", ""), "elements of a message"),
    (messages(answered(1), answered(2)).replace('?>', ' standalone="yes"?>'), "declaration"),
    (messages(answered(1), answered(2)).replace(IDS[1], "two"), "MessageId"),
    (messages(), "number of messages")])
def test_changes_of_messages(actual, place):
    assert place in places(RECORDED, actual)


@pytest.mark.parametrize("actual,place", [
    ("<E><Code>A</Code><Reason /></E>", []), ("<E><Code>B</Code><Reason /></E>", ["E/Code"]),
    ("<E><Code>A</Code><Reason></Reason></E>", ["form"]), ("<E><Reason /><Code>A</Code></E>", ["order of elements"]),
    ("<E><Code>A</Code></E>", ["E/Reason"]), ("<E><Code>A</Code><Reason /><More>x</More></E>", ["E/More"]), ("<E", ["XML"]),
    ("", ["presence"])])
def test_changes_of_other_bodies(actual, place):
    assert places(f"{START}<E><Code>A</Code><Reason /></E>", START + actual if actual else "",
                  bom="\ufeff" if actual else "") == place


def test_changes_outside_the_body():
    same = f"{START}<E />"
    assert places(same, same, bom="") == ["byte order mark"]
    assert places(same, same, status=201) == [""]
    assert places(same, same, headers={"x-ms-version": "2020-02-10", "etag": "x"}) == ["x-ms-version", "etag"]
    assert places(None, same) == ["presence"]
