"""The explanation of a query, which the header `x-partita-explain` requests; Partita only."""

import json

import pytest
from tables import expect_ok

ASK = {"x-partita-explain": "true"}


@pytest.fixture
def grid(table, target):
    """A table of four partitions with five rows each; skips Azurite."""
    if target == "azurite":
        pytest.skip("only Partita explains queries")
    for partition in "abcd":
        table.changes([table.op_insert(partition, str(row), {"N": row}) for row in range(5)])
    return table


def explain(table, text, **options):
    """The explanation of one page, and the page's rows."""
    pairs = [("$filter", text)] if text else []
    answer = expect_ok(table.send("GET", f"/{table.name}()", ASK, query=pairs + list(options.items())), 200)
    return json.loads(answer.header("x-partita-explain")), answer.json()["value"]


@pytest.mark.parametrize("text,kind,read,returned,tested", [
    ("PartitionKey eq 'b' and RowKey eq '2'", "point", 1, 1, None),
    ("PartitionKey eq 'b' and RowKey ge '1' and RowKey lt '3'", "row range scan", 2, 2, None),
    ("PartitionKey eq 'b' and N gt 2", "row range scan", 5, 2, "N gt 2"),
    ("PartitionKey ge 'b' and PartitionKey lt 'd'", "partition range scan", 10, 10, None),
    ("N eq 3", "full table scan", 20, 4, "N eq 3"),
    (None, "full table scan", 20, 20, None),
    ("PartitionKey eq 'a' and PartitionKey eq 'b'", None, 0, 0, None)])
def test_classes_and_costs(grid, text, kind, read, returned, tested):
    found, rows = explain(grid, text)
    assert kind is None or found["class"] == kind
    assert (found["rows_read"], found["rows_returned"], len(rows)) == (read, returned, returned)
    assert found["tested_per_row"] == tested
    assert found["time_us"] >= 0 and not found["more"]


def test_nothing_is_explained_unasked(grid):
    assert grid.query("N eq 3").header("x-partita-explain") is None


def test_a_page_reads_no_more_than_it_needs(grid):
    found, rows = explain(grid, "PartitionKey eq 'c'", **{"$top": "2"})
    assert found["more"] and len(rows) == 2 and found["rows_read"] <= 3


def test_keys_beyond_ascii(grid):
    found, _ = explain(grid, "PartitionKey eq 'é😀' and RowKey eq 'ж'")
    assert found["spans"] == [{"PartitionKey": "é😀", "RowKey": "ж"}]


def test_offline_says_the_same(grid, target):
    import subprocess
    from driver.server import command
    if target != "partita":
        pytest.skip("needs the partita program")
    program = command("partita", 0, "/nowhere", [])[0]
    text = "PartitionKey eq 'b' and RowKey ge '1' and N gt 2"
    done = subprocess.run([program, "explain", "--filter", text], capture_output=True, text=True, check=True)
    found, _ = explain(grid, text)
    assert found["class"] in done.stdout and "N gt 2" in done.stdout
