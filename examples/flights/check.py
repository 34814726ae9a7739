"""Runs the example on the flights of one month and compares its counts with counts from the CSV file.

    python examples/flights/check.py [--target partita|azurite | --cluster]

With --cluster, the flights are loaded through one of the three servers of `partita cluster try`. A server that owns
ranges is killed during the load. The example must succeed without an error message.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "compat"))

from driver.endpoint import Endpoint  # noqa: E402
from driver.server import Server  # noqa: E402
from cluster import Cluster, until  # noqa: E402
from flights import read_flights  # noqa: E402

MONTH = 1
CLASSES = ("point", "row_range", "partition_range", "full_table")
# The progress of the load at which a server is killed.
KILL_AT_PERCENT = 10
# On a machine with many processors, the default of one process per core could end the load before the kill.
WORKERS = 2
LOAD_DEADLINE_S = 600
# One state of the progress bar. The example writes nothing else to stderr.
PROGRESS = re.compile(r" *(\d+)%\|.*\| \S+/\S+ \[.* flights/s\] *")


def expected(rows):
    """The numbers of rows that the four queries must return, counted from the CSV rows."""
    def time_of(row):
        return int(row["sched_dep_time"])

    return [
        1,
        sum(row["origin"] == "JFK" and row["day"] == "15" and 600 <= time_of(row) < 900 for row in rows),
        sum(row["origin"] == "LGA" and 10 <= int(row["day"]) < 17 and row["carrier"] == "AA" for row in rows),
        sum(row["dest"] == "SFO" and row["dep_delay"] not in ("", "NA") and float(row["dep_delay"]) > 120 for row in rows),
    ]


def example(connection, *options):
    """The command line that loads the month, runs the queries and prints their answers as JSON."""
    return [sys.executable, str(HERE), "--month", str(MONTH), "--json", "--connection", connection, *options]


def count_stored(url):
    """The number of flights in the table, counted through the server at `url`."""
    endpoint = Endpoint(url)
    stored, path = 0, "/flights()?$select=RowKey"
    while path:
        answer = endpoint.send("GET", path)
        stored += len(answer.json()["value"])
        token = {name: answer.header("x-ms-continuation-" + name) for name in ("NextPartitionKey", "NextRowKey")}
        path = token["NextPartitionKey"] and "/flights()?$select=RowKey&" + "&".join(
            f"{name}={value}" for name, value in token.items() if value)
    return stored


def compare(rows, found, stored, is_explained):
    """Compares the answers of the example, and the numbers of stored flights, with the CSV rows."""
    assert {found["flights"], *stored} == {len(rows)}, (found["flights"], stored, len(rows))
    for answer, count, name in zip(found["answers"], expected(rows), CLASSES, strict=True):
        assert answer["rows"] == count, (answer, count)
        if is_explained:
            pages = answer["explain"]
            assert pages and sum(page["rows_returned"] for page in pages) == count, answer
            spoken = {page["class"].replace(" ", "_").replace("_scan", "") for page in pages}
            assert spoken == {name}, answer
        print(f"{answer['class']:16} {count:6,} rows as in the file")
    print(f"{len(rows):,} flights loaded and counted: {len(CLASSES) + 1} passed, 0 failed")


def check_server(target, rows):
    """Loads the flights into one server and checks them."""
    with Server(target) as server:
        connection = Endpoint(server.url).connection_string()
        done = subprocess.run(example(connection), stdout=subprocess.PIPE, text=True, check=True)
        compare(rows, json.loads(done.stdout), [count_stored(server.url)], target == "partita")


class Load:
    """The running example; use it as a context manager. Its output goes to a folder, where its progress is read."""

    def __init__(self, connection, folder):
        self.stderr = folder / "progress"
        with open(self.stderr, "wb") as stderr:
            # In a session of its own, so that the loading processes can be killed with it.
            self.child = subprocess.Popen(example(connection, "--workers", str(WORKERS)), text=True, stderr=stderr,
                                          stdout=subprocess.PIPE, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.communicate()

    def states(self):
        """What the example has written to stderr: the states of the progress bar."""
        text = self.stderr.read_text(encoding="utf-8", errors="replace")
        return [state for state in re.split("[\r\n]", text) if state.strip()]

    def percent(self):
        """The progress of a load that is running; raises if the example has ended."""
        assert self.child.poll() is None, ("the example ended too early", self.states())
        found = [PROGRESS.fullmatch(state) for state in self.states()]
        return max((int(state.group(1)) for state in found if state), default=0)

    def answers(self):
        """Waits for the end, which must be without an error; returns the answers to the queries."""
        data, _ = self.child.communicate(timeout=LOAD_DEADLINE_S)
        messages = [state for state in self.states() if not PROGRESS.fullmatch(state)]
        assert self.child.returncode == 0 and not messages, (self.child.returncode, messages)
        return json.loads(data)


def kill_owner(cluster, front, load):
    """Kills a server with ranges, but not `front`, during the load; waits until others own them. Returns its name."""
    until(lambda: load.percent() >= KILL_AT_PERCENT, f"{KILL_AT_PERCENT} % of the load")
    killed = cluster.until_other_owner(front)
    cluster.kill(killed)
    start, percent = time.monotonic(), load.percent()
    assert percent < 100, f"the load ended before {killed} was killed"
    owners = cluster.until_taken_over(killed, front)
    print(f"{killed} killed at {percent} % of the load through {front}; owners of the ranges after "
          f"{time.monotonic() - start:.1f} s: {owners}")
    return killed


def check_cluster(rows):
    """Loads the flights into a cluster, kills a server meanwhile, and checks the flights through each server."""
    with Cluster() as cluster:
        before = cluster.until_complete("server-1")
        front = next(name for name, server in before.items() if server["ranges"] == 0)
        with Load(cluster.connections[front], cluster.folder) as load:
            killed = kill_owner(cluster, front, load)
            cluster.restart_killed()
            found = load.answers()
        after = cluster.until_complete(front)
        restarted = {name for name in before if before[name]["life"] != after[name]["life"]}
        assert restarted == {killed}, f"restarted servers: {restarted}, expected only {killed}"
        compare(rows, found, [count_stored(cluster.url(name)) for name in before], is_explained=True)


def main():
    """Prints what was checked; raises on the first number that differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--target", default="partita")
    kinds.add_argument("--cluster", action="store_true", help="kill one of three servers during the load")
    options = parser.parse_args()
    rows = [row for flights in read_flights(MONTH).values() for row in flights]
    if options.cluster:
        check_cluster(rows)
    else:
        check_server(options.target, rows)


if __name__ == "__main__":
    main()
