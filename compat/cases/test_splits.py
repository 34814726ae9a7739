"""The official clients with their default retries, while ranges split and merge: no client sees an error."""

import contextlib
import itertools
import json
import os
import pathlib
import random
import subprocess
import threading
import time

import pytest
from azure.core import MatchConditions
from azure.data.tables import TableServiceClient, UpdateMode
from driver.admin import Admin
from driver.endpoint import Endpoint
from driver.server import DEPS, free_port

WORKER = pathlib.Path(__file__).resolve().parents[1] / "js/splits.mjs"
WORKERS = 4
PARTITIONS = 40
CHANGES = 20
# Refusals of a split or merge that are no error here. Examples: the key is in another range, the range still shares
# files, or writes would wait too long on a busy machine.
REFUSED = {"Failed", "KeyOutside", "NoSuchRange", "NotNeighbours", "NoNeighbour", "Lineage", "NoSplitKey", "Busy"}
DEADLINE_S = 120


@pytest.fixture
def served(launch, target):
    """A Partita server with an admin port; returns its endpoint and the admin port."""
    if target != "partita":
        pytest.skip("only Partita has ranges")
    port = free_port()
    # A range cannot split or merge while it shares files with too many others, so old files are deleted soon.
    return Endpoint(launch("--admin-port", str(port), "--garbage-age", "4s").url), Admin(port)


def change_ranges(admin, account, table, worked):
    """Executes at least `CHANGES` splits and merges, of both kinds; calls `worked` after each of them."""
    choice, done, began = random.Random(7), {"split": 0, "merge": 0}, time.monotonic()
    while done["split"] + done["merge"] < CHANGES or not all(done.values()):
        assert time.monotonic() < began + DEADLINE_S, done
        ranges = admin.ranges()
        action = "merge" if len(ranges) > 6 else "split" if len(ranges) < 3 else choice.choice(sorted(done))
        keys = {"account": account, "table": table, "partition_key": f"p{choice.randrange(1, PARTITIONS):02}"}
        for number in choice.sample(ranges, len(ranges)):
            refused = admin.act(number, action, **(keys if action == "split" else {}))
            if refused is None:
                done[action] += 1
                break
            assert refused in REFUSED
        worked()


class Rounds:
    """Counts the rounds of each worker."""

    def __init__(self, workers):
        self.done, self.changed = [0] * workers, threading.Condition()

    def one_more(self, worker):
        """Counts a round."""
        with self.changed:
            self.done[worker] += 1
            self.changed.notify_all()

    def pass_by(self, alive):
        """Waits until every worker has completed a round that began after this call, or `alive` is false."""
        with self.changed:
            goals = [done + 2 for done in self.done]
            while alive() and any(done < goal for done, goal in zip(self.done, goals)):
                assert self.changed.wait(DEADLINE_S)


def work(client, name, until, finished):
    """Writes and reads until `until` is set; returns the expected rows. Raises an error that retries did not solve."""
    expected = {}
    for number in itertools.count():
        if until.is_set():
            return expected
        keys = {"PartitionKey": f"p{number % PARTITIONS:02}", "RowKey": f"{name}-{number:06}"}
        etag = client.create_entity(keys | {"N": number})["etag"]
        client.update_entity(keys | {"M": 1}, UpdateMode.MERGE, etag=etag, match_condition=MatchConditions.IfNotModified)
        assert client.get_entity(keys["PartitionKey"], keys["RowKey"])["N"] == number
        batch = [("upsert", {"PartitionKey": keys["PartitionKey"], "RowKey": f"{name}-batch-{row}", "N": number})
                 for row in range(10)]
        client.submit_transaction(batch)
        expected[keys["PartitionKey"], keys["RowKey"]] = number
        expected |= {(row["PartitionKey"], row["RowKey"]): number for _, row in batch}
        if number % 20 == 0:
            rows = [entity["RowKey"] for entity in client.query_entities(f"PartitionKey eq '{keys['PartitionKey']}'")]
            assert rows == sorted(rows) and keys["RowKey"] in rows
        finished()


def test_python_client_sees_no_error(served):
    endpoint, admin = served
    service = TableServiceClient.from_connection_string(endpoint.connection_string())
    table = service.create_table("splits")
    until, outcomes, rounds = threading.Event(), {}, Rounds(WORKERS)

    def worker(number):
        name = f"w{number}"
        client = TableServiceClient.from_connection_string(endpoint.connection_string()).get_table_client("splits")
        try:
            with client:
                outcomes[name] = work(client, name, until, lambda: rounds.one_more(number))
        except Exception as error:  # noqa: BLE001 - any error fails the case, with its name below
            outcomes[name] = error
        finally:
            rounds.one_more(number)

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        change_ranges(admin, endpoint.account, "splits", lambda: rounds.pass_by(lambda: not outcomes))
    finally:
        until.set()
        for thread in threads:
            thread.join(DEADLINE_S)
    errors = [outcome for outcome in outcomes.values() if not isinstance(outcome, dict)]
    assert not errors and len(outcomes) == WORKERS, errors
    expected = {keys: number for outcome in outcomes.values() for keys, number in outcome.items()}
    found = [((row["PartitionKey"], row["RowKey"]), row["N"]) for row in table.list_entities(results_per_page=333)]
    assert found == sorted(expected.items())


def test_node_client_sees_no_error(served):
    endpoint, admin = served
    variables = {"TABLE_CONNECTION": endpoint.connection_string(), "TABLE_PARTITIONS": str(PARTITIONS)}
    node = subprocess.Popen([str(DEPS / "node/node_modules/node/bin/node"), "--no-deprecation", str(WORKER)], text=True,
                            env=os.environ | variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    with contextlib.ExitStack() as stack:
        stack.callback(node.kill)
        assert node.stdout.readline().strip() == "working", node.communicate(timeout=DEADLINE_S)
        def worked():
            node.stdin.write("?")
            node.stdin.flush()
            assert node.stdout.readline().strip() == "worked"

        change_ranges(admin, endpoint.account, "splits", worked)
        # `communicate` closes the worker's input, and the worker stops at the end of its input.
        output, errors = node.communicate(timeout=DEADLINE_S)
    assert node.returncode == 0, errors
    report = json.loads(output)
    assert report["rows"] > 0 and report["missing"] == 0 and report["ordered"], report
