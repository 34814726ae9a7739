"""Queues after a restart of the server: after an orderly stop, and after kill -9."""

import threading

import pytest
from driver.queue_endpoint import QueueEndpoint
from driver.server import Server
from messages import Queue
from service_xml import identifier, identifiers
from started import only_started
from tables import expect_ok

DAY_S = 24 * 3600
POLICY = ("<AccessPolicy><Start>2020-01-01T00:00:00Z</Start><Expiry>2040-01-01T00:00:00Z</Expiry>"
          "<Permission>r</Permission></AccessPolicy>")


def open_queue(server, name="kept"):
    """The queue on a new connection."""
    return Queue(QueueEndpoint(server.url), name)


def close(server, end):
    """Stops or kills the server."""
    if end == "kill":
        server.kill()
    else:
        assert server.stop() == 0


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_everything_acknowledged_is_there_again(target, tmp_path, end):
    only_started(target)
    expected, held, receipts = [], {}, {}
    for life in range(3):
        server = Server(target, location=tmp_path, service="queue")
        server.start()
        queue = open_queue(server)
        if life == 0:
            queue.create({"x-ms-meta-name": "value"})
            expect_ok(queue.set_acl(identifiers(identifier("kept", POLICY))), 204)
        assert queue.metadata().header("x-ms-meta-name") == "value" and "<Id>kept</Id>" in queue.acl().text
        # Visible messages, in their order; their times and counts; those that a client holds, with their receipts.
        assert [(message.id, message.text, message.inserted, message.expires) for message in queue.look()] == expected
        assert queue.count() == len(expected) + len(held)
        for text, message in held.items():
            held[text] = message._replace(receipt=queue.change(message, text, visibilitytimeout=DAY_S))
        for number in range(8):
            text = f"{life}-{number}"
            put = queue.add(text, messagettl=-1)
            expected.append((put.id, text, put.inserted, put.expires))
            receipts[put.id] = put
        taken, gone = queue.take(2, visibilitytimeout=DAY_S)
        held[taken.text] = taken
        expect_ok(queue.delete(gone.id, gone.receipt), 204)
        expected = [one for one in expected if one[0] not in (taken.id, gone.id)]
        queue.endpoint.connection.close()
        close(server, end)


def test_puts_while_the_server_is_killed(target, tmp_path):
    # A put that was answered with 201 is there after kill -9; one that was not may be.
    only_started(target)
    server = Server(target, location=tmp_path, service="queue")
    server.start()
    open_queue(server).create()
    acknowledged, enough = [], threading.Event()

    def write(worker):
        queue = open_queue(server)
        try:
            for number in range(100_000):
                text = f"{worker}-{number}"
                if queue.put(text).status == 201:
                    acknowledged.append(text)
                if len(acknowledged) >= 200:
                    enough.set()
        except (OSError, EOFError):
            return

    writers = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for writer in writers:
        writer.start()
    assert enough.wait(60)
    server.kill()
    for writer in writers:
        writer.join(60)
    with Server(target, location=tmp_path, service="queue") as again:
        queue = open_queue(again)
        count, found = queue.count(), []
        while messages := queue.take(32):
            found += [message.text for message in messages]
        assert len(found) == len(set(found)) == count
        assert set(acknowledged) <= set(found)
        assert len(found) - len(acknowledged) <= len(writers)


def test_deletes_and_clears_are_not_undone(target, tmp_path):
    only_started(target)
    with Server(target, location=tmp_path, service="queue") as server:
        queue, cleared, dropped = (open_queue(server, name) for name in ("kept", "cleared", "dropped"))
        for one in (queue, cleared, dropped):
            one.create()
            for number in range(5):
                one.add(str(number))
        for message in queue.take(4):
            expect_ok(queue.delete(message.id, message.receipt), 204)
        expect_ok(cleared.clear(), 204)
        expect_ok(dropped.drop(), 204)
        server.kill()
    with Server(target, location=tmp_path, service="queue") as server:
        queue, cleared = open_queue(server), open_queue(server, "cleared")
        assert (queue.texts(), queue.count(), cleared.texts(), cleared.count()) == (["4"], 1, [], 0)
        assert open_queue(server, "dropped").peek().status == 404


def test_nothing_is_there_again_without_a_directory(launch, target):
    flag = {"partita": "--in-memory", "azurite": "--inMemoryPersistence"}[target]
    for _ in range(2):
        server = launch(flag, location=False)
        queue = open_queue(server, "volatile")
        queue.create()
        queue.add("text")
        assert queue.texts() == ["text"]
        queue.endpoint.connection.close()
        server.stop()
