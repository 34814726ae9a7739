"""Guarantees under concurrent clients."""

import threading
from concurrent.futures import ThreadPoolExecutor

from tables import Table

WRITERS = 8


def on_own_connection(table):
    """The same table on a new connection."""
    return Table(table.endpoint.sibling(), table.name)


def run_all(work):
    """Runs `work(index)` in one thread for each writer; returns all results."""
    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(work, range(WRITERS)))


def test_one_insert_wins(table):
    for row in range(20):
        statuses = run_all(lambda writer, row=row: on_own_connection(table).insert("p", str(row), {"W": writer}).status)
        assert sorted(statuses) == [201] + [409] * (WRITERS - 1)


def test_one_conditional_update_wins(table):
    for row in range(20):
        etag = table.add("p", str(row), {"W": -1})
        statuses = run_all(lambda writer, row=row, etag=etag: on_own_connection(table).write(
            "PUT", "p", str(row), {"W": writer}, {"If-Match": etag}).status)
        assert sorted(statuses) == [204] + [412] * (WRITERS - 1)
        assert table.properties("p", str(row))["W"] == str(statuses.index(204))


def test_no_increment_is_lost(table):
    table.add("p", "counter", {"N": 0})

    def count(_):
        own = on_own_connection(table)
        for _ in range(10):
            while True:
                answer = own.get("p", "counter")
                number = answer.json()["N"] + 1
                if own.write("MERGE", "p", "counter", {"N": number}, {"If-Match": answer.header("ETag")}).status == 204:
                    break

    run_all(count)
    assert table.properties("p", "counter") == {"N": str(10 * WRITERS)}


def test_no_reader_sees_half_a_batch(table):
    rows = [f"{number:02}" for number in range(20)]
    table.changes([table.op_insert("p", row, {"N": 0}) for row in rows])
    done = threading.Event()

    def write():
        own = on_own_connection(table)
        for number in range(1, 60):
            answers = own.changes([own.op_write("PUT", "p", row, {"N": number}) for row in rows])
            assert {answer.status for answer in answers} == {204}
        done.set()

    def read():
        own, seen = on_own_connection(table), 0
        while not done.is_set():
            numbers = {row["N"] for row in own.query("PartitionKey eq 'p'").json()["value"]}
            assert len(numbers) == 1, numbers
            [number] = numbers
            assert number >= seen
            seen = number
        return seen

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            pool.submit(write).result()
        finally:
            done.set()
        for reader in readers:
            reader.result()


def test_batches_on_the_same_rows_do_not_mix(table):
    rows = [f"{number:02}" for number in range(10)]

    def write(writer):
        own = on_own_connection(table)
        order = rows if writer % 2 else rows[::-1]
        for _ in range(10):
            answers = own.changes([own.op_write("PUT", "p", row, {"W": writer}) for row in order])
            assert {answer.status for answer in answers} == {204}

    run_all(write)
    assert len({table.properties("p", row)["W"] for row in rows}) == 1


def test_what_was_acknowledged_is_read_by_everyone(table):
    def write(writer):
        own = on_own_connection(table)
        for number in range(20):
            etag = own.add(f"p{writer}", str(number), {"N": number})
            other = on_own_connection(table)
            assert other.get(f"p{writer}", str(number)).header("ETag") == etag
            assert str(number) in other.rows(f"PartitionKey eq 'p{writer}'")
            other.endpoint.connection.close()

    run_all(write)
    assert len(table.keys()) == 20 * WRITERS
