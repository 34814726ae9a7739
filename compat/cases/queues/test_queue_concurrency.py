"""Several clients at once: no message goes to two of them, and of two changes by one receipt one succeeds."""

import collections
import concurrent.futures

from messages import Queue

WORKERS = 8


def at_once(calls):
    """The results of calls that run at the same time."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def apart(queue):
    """The queue on its own connection."""
    return Queue(queue.endpoint.sibling(), queue.name)


def test_each_message_goes_to_one_client(queue):
    for number in range(200):
        queue.add(str(number))

    def work():
        mine, found = apart(queue), []
        while messages := mine.take(7, visibilitytimeout=600):
            found += [message.text for message in messages]
        return found

    counts = collections.Counter(text for found in at_once([work] * WORKERS) for text in found)
    assert counts == {str(number): 1 for number in range(200)}


def test_one_of_several_deletes(queue):
    for _ in range(10):
        message = queue.add()
        answers = at_once([lambda: apart(queue).delete(message.id, message.receipt).status] * WORKERS)
        assert sorted(answers) == [204] + [404] * (WORKERS - 1)
    assert queue.count() == 0


def test_one_of_several_updates(queue):
    for _ in range(10):
        message = queue.add()
        answers = at_once([lambda: apart(queue).update(message.id, message.receipt, "new").status] * WORKERS)
        assert sorted(answers)[0] == 204 and all(status in (400, 404) for status in sorted(answers)[1:]), answers
        assert queue.texts() == ["new"]
        queue.clear()


def test_puts_at_once(queue):
    def work(worker):
        mine = apart(queue)
        return [mine.add(f"{worker}-{number}").id for number in range(25)]

    ids = [number for found in at_once([lambda worker=worker: work(worker) for worker in range(WORKERS)]) for number in found]
    assert len(set(ids)) == 25 * WORKERS == queue.count()
    texts = [message.text for _ in range(7) for message in queue.take(32)]
    # Those of one client come in the order in which it put them.
    for worker in range(WORKERS):
        assert [text for text in texts if text.startswith(f"{worker}-")] == [f"{worker}-{number}" for number in range(25)]
