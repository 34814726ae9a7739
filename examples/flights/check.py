"""Runs the example on the flights of one month and compares its counts with counts from the CSV file.

    python examples/flights/check.py [--target partita|azurite]
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "compat"))

from driver.endpoint import Endpoint  # noqa: E402
from driver.server import Server  # noqa: E402
from flights import read_flights  # noqa: E402

MONTH = 1
CLASSES = ("point", "row_range", "partition_range", "full_table")


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


def main():
    """Prints what was checked; raises on the first number that differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="partita")
    target = parser.parse_args().target
    rows = [row for flights in read_flights(MONTH).values() for row in flights]
    with Server(target) as server:
        endpoint = Endpoint(server.url)
        done = subprocess.run([sys.executable, str(HERE), "--month", str(MONTH), "--json", "--connection",
                               endpoint.connection_string()], stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        stored, path = 0, "/flights()?$select=RowKey"
        while path:
            answer = endpoint.send("GET", path)
            stored += len(answer.json()["value"])
            token = {name: answer.header("x-ms-continuation-" + name) for name in ("NextPartitionKey", "NextRowKey")}
            path = token["NextPartitionKey"] and "/flights()?$select=RowKey&" + "&".join(
                f"{name}={value}" for name, value in token.items() if value)
    assert found["flights"] == stored == len(rows), (found["flights"], stored, len(rows))
    for answer, count, name in zip(found["answers"], expected(rows), CLASSES, strict=True):
        assert answer["rows"] == count, (answer, count)
        if target == "partita":
            pages = answer["explain"]
            assert pages and sum(page["rows_returned"] for page in pages) == count, answer
            spoken = {page["class"].replace(" ", "_").replace("_scan", "") for page in pages}
            assert spoken == {name}, answer
        print(f"{answer['class']:16} {count:6,} rows as in the file")
    print(f"{len(rows):,} flights loaded and counted: {len(CLASSES) + 1} passed, 0 failed")


if __name__ == "__main__":
    main()
