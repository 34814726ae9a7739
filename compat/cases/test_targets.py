"""Scalability targets: how the server refuses a request, and how official clients react. Partita only.

The server admits a transaction of 100 rows on a partition with a target of 20 entities/s. That leaves a debt of 4 s, so
the server refuses the next request. It admits a retry after the time in `Retry-After`.
"""

import json
import urllib.request

import pytest
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableClient, TableTransactionError
from driver.endpoint import Endpoint
from driver.server import free_port
from tables import Table, expect_ok

PER_SECOND = "20"
DEBT = [("create", {"PartitionKey": "hot", "RowKey": f"{row:03}"}) for row in range(100)]
QUIET = {"Prefer": "return-no-content"}


@pytest.fixture
def limited(launch, target):
    """A function that starts a server with targets; it returns its endpoint and the URL of its admin port."""
    if target != "partita":
        pytest.skip("only Partita has these flags")

    def start(*flags):
        admin = str(free_port())
        server = launch("--admin-port", admin, *flags)
        return Endpoint(server.url), f"http://127.0.0.1:{admin}"

    return start


def status(admin):
    """The server's status, from its admin port."""
    with urllib.request.urlopen(f"{admin}/admin/v1/status", timeout=10) as answer:
        return json.load(answer)


def in_debt(endpoint, name="design"):
    """A table whose partition `hot` has a debt of 4 s at its target."""
    table = Table(endpoint, name)
    table.create()
    answers = table.changes([table.op_insert("hot", f"{row:03}", None, **QUIET) for row in range(100)])
    assert [answer.status for answer in answers] == [204] * 100
    return table


def expect_busy(answer, reason, message="The server is busy."):
    """Asserts a refusal with the service's message and Partita's reason."""
    assert answer.status == 503, answer
    assert answer.header("x-partita-reason") == reason
    assert 1 <= int(answer.header("Retry-After")) <= 5
    assert answer.header("Content-Type").startswith("application/json;odata=minimalmetadata")
    error = answer.json()["odata.error"]
    assert error["code"] == "ServerBusy"
    assert error["message"]["value"].startswith(f"{message}\nRequestId:{answer.header('x-ms-request-id')}")


def test_partition_over_its_target(limited):
    endpoint, admin = limited("--target-partition-entities", PER_SECOND)
    table = in_debt(endpoint)
    new = table.op_insert("hot", "new", None)
    for answer in (table.insert("hot", "new"), table.get("hot", "000"), table.query("PartitionKey eq 'hot'"),
                   table.query(), table.write("MERGE", "hot", "000", {"A": 1}), table.delete("hot", "000"),
                   table.batch([new])):
        expect_busy(answer, "partition-target")
    # Other partitions and tables are served, and nothing was stored.
    table.add("cool", "new")
    assert table.query("PartitionKey eq 'cool'").status == 200
    told = status(admin)
    assert told["busy"]["partition-target"] == 7
    [one] = told["limited"]
    assert one == {"target": "partition", "account": endpoint.account, "table": "design", "partition_key": "hot",
                   "throttled": 7}


def test_account_and_table_over_their_targets(limited):
    endpoint, admin = limited("--target-account-entities", PER_SECOND, "--target-tables", "Narrow:table-entities=10")
    table = in_debt(endpoint, "wide")
    expect_busy(table.insert("any", "new"), "account-target", "Operations per second is over the account limit.")
    expect_busy(table.batch([table.op_insert("any", "new", None)]), "account-target",
                "Operations per second is over the account limit.")
    assert [one["target"] for one in status(admin)["limited"]] == ["account"]
    endpoint, admin = limited("--target-tables", "Narrow:table-entities=20")
    expect_busy(in_debt(endpoint, "narrow").insert("any", "new"), "table-target")
    in_debt(endpoint, "wide").add("hot", "new")


def test_bytes_over_the_target_of_an_account(limited):
    endpoint, _ = limited("--target-account-bytes", "10KiB")
    table = Table(endpoint, "large")
    table.create()
    # Nine values of 4,000 characters with 2 bytes each: admitted, with a debt of about 6 s.
    table.add("p", "r", {f"Text{number}": "x" * 4000 for number in range(9)})
    refused = table.insert("q", "r", {"A": 1})
    assert int(refused.header("Retry-After")) > 1 and refused.json()["odata.error"]["code"] == "ServerBusy"
    assert refused.json()["odata.error"]["message"]["value"].startswith("Ingress is over the account limit.")
    assert refused.header("x-partita-reason") == "account-target"
    expect_ok(table.endpoint.send("GET", "/Tables"), 200)


def test_a_scan_over_the_target_goes_on_where_it_was_stopped(limited):
    endpoint, admin = limited("--target-table-entities", "1000")
    with TableClient.from_connection_string(endpoint.connection_string(), "many") as client:
        client.create_table()
        keys = [(f"{partition:02}", f"{row:02}") for partition in range(15) for row in range(100)]
        for first in range(0, len(keys), 100):
            client.submit_transaction([("create", {"PartitionKey": partition, "RowKey": row})
                                       for partition, row in keys[first:first + 100]])
        # Pages end at the target, and the client retries refused pages: each row is returned once.
        for _ in range(2):
            assert [(row["PartitionKey"], row["RowKey"]) for row in client.list_entities()] == keys
    assert status(admin)["busy"]["table-target"] >= 1


def test_python_client_without_retries_is_told(limited):
    endpoint, _ = limited("--target-partition-entities", PER_SECOND)
    with TableClient.from_connection_string(endpoint.connection_string(), "design", retry_total=0) as client:
        client.create_table()
        client.submit_transaction(DEBT)
        calls = [lambda: client.create_entity({"PartitionKey": "hot", "RowKey": "new"}),
                 lambda: client.get_entity("hot", "000"),
                 lambda: list(client.query_entities("PartitionKey eq 'hot'")),
                 lambda: client.submit_transaction([("create", {"PartitionKey": "hot", "RowKey": "new"})])]
        for call in calls:
            with pytest.raises(HttpResponseError) as refused:
                call()
            answer = refused.value.response
            error = json.loads(answer.text())["odata.error"]
            assert (refused.value.status_code, error["code"]) == (503, "ServerBusy")
            assert getattr(refused.value, "error_code", "ServerBusy") == "ServerBusy"
            assert not isinstance(refused.value, TableTransactionError), "the whole request is refused"
            assert int(answer.headers["Retry-After"]) >= 1


def test_python_client_with_its_retries_is_slow_and_sees_no_error(limited):
    endpoint, admin = limited("--target-partition-entities", PER_SECOND)
    with TableClient.from_connection_string(endpoint.connection_string(), "design") as client:
        client.create_table()
        client.submit_transaction(DEBT)
        client.submit_transaction([("create", {"PartitionKey": "hot", "RowKey": f"new{row}"}) for row in range(2)])
        client.create_entity({"PartitionKey": "hot", "RowKey": "last"})
    # The server refused the first request at least once, and the client retried it.
    assert status(admin)["busy"]["partition-target"] >= 1
    with TableClient.from_connection_string(endpoint.connection_string(), "design") as client:
        assert client.get_entity("hot", "new1")["RowKey"] == "new1"
