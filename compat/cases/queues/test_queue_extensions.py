"""What Partita adds to the Queue protocol: a Get Messages that waits, and targets of queues. Partita only."""

import threading

import pytest
from driver.queue_endpoint import QueueEndpoint
from messages import Queue, messages_of
from tables import expect_error, expect_ok

WAIT = "x-partita-wait-seconds"


@pytest.fixture(autouse=True)
def only_partita(target):
    """Skips other servers, which do not have these extensions."""
    if target != "partita":
        pytest.skip("only Partita has this")


def test_a_get_waits_for_a_message(queue):
    found = []

    def wait():
        waiting = Queue(queue.endpoint.sibling(), queue.name)
        found.extend(messages_of(expect_ok(waiting.get({WAIT: "20"}, numofmessages=32), 200)))

    consumer = threading.Thread(target=wait)
    consumer.start()
    queue.add("text")
    consumer.join(15)
    assert [(message.text, message.dequeue_count) for message in found] == [("text", "1")]


def test_a_get_that_waits_in_vain_is_empty(queue):
    assert messages_of(expect_ok(queue.get({WAIT: "1"}), 200)) == []


def test_a_get_waits_for_a_message_that_becomes_visible(queue):
    queue.add("later", visibilitytimeout=1)
    assert [message.text for message in messages_of(queue.get({WAIT: "20"}))] == ["later"]


def test_a_get_does_not_wait_beside_a_message(queue):
    queue.add("text")
    assert [message.text for message in messages_of(queue.get({WAIT: "20"}, numofmessages=32))] == ["text"]


@pytest.mark.parametrize("value", ["x", "-1", "21"])
def test_times_of_waiting_that_are_refused(queue, value):
    expect_error(queue.get({WAIT: value}), 400, "InvalidHeaderValue")


def test_a_queue_over_its_target(launch, new_name):
    endpoint = QueueEndpoint(launch("--target-queue-messages", "1").url)
    queue, other = Queue(endpoint, new_name("busy")), Queue(endpoint, new_name("calm"))
    queue.create()
    other.create()
    answers = [queue.put(str(number)) for number in range(20)]
    refused = [answer for answer in answers if answer.status != 201]
    assert refused and len(refused) < 20
    expect_error(refused[-1], 503, "ServerBusy")
    assert refused[-1].header("x-partita-reason") == "partition-target" and int(refused[-1].header("Retry-After")) >= 1
    # Other queues are served, and what was refused is not there.
    other.add("text")
    assert queue.count() == 20 - len(refused)
