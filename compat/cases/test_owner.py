"""The owner hint, which the header `x-partita-owner` requests; Partita only. A server alone has none to give."""

import pytest
from tables import expect_ok


@pytest.fixture
def rows(table, target):
    """A table with a row; skips Azurite."""
    if target == "azurite":
        pytest.skip("only Partita reads the header")
    table.changes([table.op_insert("a", "1", {"N": 1})])
    return table


def get(rows, value):
    return rows.send("GET", f"/{rows.name}()", {"x-partita-owner": value})


def test_a_server_alone_gives_no_hint(rows):
    answer = expect_ok(get(rows, "?"), 200)
    assert answer.header("x-partita-owner") is None and len(answer.json()["value"]) == 1


def test_a_request_for_a_cluster_is_refused(rows):
    answer = get(rows, "0123456789abcdef0123456789abcdef")
    assert answer.status == 400 and answer.header("x-ms-error-code") in (None, "InvalidHeaderValue")
    assert b"InvalidHeaderValue" in answer.body
