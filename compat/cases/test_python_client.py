"""The official Python client (azure-data-tables), blocking and asyncio, over HTTP and TLS."""

import asyncio
import datetime
import os
import uuid

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (HttpResponseError, ResourceExistsError, ResourceModifiedError,
                                   ResourceNotFoundError)
from azure.data.tables import (EdmType, EntityProperty, RequestTooLargeError, TableAccessPolicy, TableAnalyticsLogging,
                               TableClient, TableCorsRule, TableErrorCode, TableMetrics, TableRetentionPolicy,
                               TableSasPermissions, TableServiceClient, TableTransactionError, TransactionOperation,
                               UpdateMode, generate_account_sas, generate_table_sas)
from azure.data.tables.aio import TableClient as AsyncTableClient
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

TYPED = {
    "PartitionKey": "pk", "RowKey": "rk", "text": "tex't é😀", "empty": "", "flag": True, "int32": 5,
    "int64": (2**53 + 1, EdmType.INT64), "double": 5.0, "nan": float("nan"), "infinite": float("-inf"),
    "binary": b"\x00\x01\xff", "guid": uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
    "date": datetime.datetime(2024, 1, 2, 3, 4, 5, 123456, tzinfo=datetime.timezone.utc),
    "ticks": EntityProperty("2013-08-02T17:37:43.9004348Z", EdmType.DATETIME),
}


@pytest.fixture
def client(endpoint, new_name):
    """A client of a new table."""
    with TableClient.from_connection_string(endpoint.connection_string(), new_name("py")) as made:
        made.create_table()
        yield made
        made.delete_table()


def check_typed(found):
    """Asserts that the typed entity reads back unchanged."""
    assert found["text"] == TYPED["text"] and found["empty"] == "" and found["flag"] is True
    assert found["int32"] == 5 and type(found["int32"]) is int
    assert found["int64"] == EntityProperty(2**53 + 1, EdmType.INT64)
    assert found["double"] == 5.0 and type(found["double"]) is float
    assert found["nan"] != found["nan"] and found["infinite"] == float("-inf")
    assert bytes(found["binary"]) == b"\x00\x01\xff" and found["guid"] == TYPED["guid"] and found["date"] == TYPED["date"]
    assert found["ticks"].tables_service_value == "2013-08-02T17:37:43.9004348Z"


def test_types(client):
    client.create_entity(TYPED)
    found = client.get_entity("pk", "rk")
    check_typed(found)
    assert found.metadata["etag"].startswith("W/\"datetime'")
    # An entity that was read can be written again.
    client.update_entity(found, mode=UpdateMode.REPLACE, etag=found.metadata["etag"],
                         match_condition=MatchConditions.IfNotModified)
    check_typed(next(iter(client.query_entities("PartitionKey eq 'pk'"))))


def test_conditions(client):
    client.create_entity({"PartitionKey": "p", "RowKey": "r", "A": 1})
    with pytest.raises(ResourceExistsError) as error:
        client.create_entity({"PartitionKey": "p", "RowKey": "r"})
    assert "EntityAlreadyExists" in str(error.value)
    old = client.get_entity("p", "r")
    client.update_entity({"PartitionKey": "p", "RowKey": "r", "A": 2}, mode=UpdateMode.MERGE)
    with pytest.raises(HttpResponseError) as error:
        client.update_entity(old, etag=old.metadata["etag"], match_condition=MatchConditions.IfNotModified)
    assert error.value.status_code == 412 and isinstance(error.value, ResourceModifiedError)
    with pytest.raises(ResourceNotFoundError):
        client.update_entity({"PartitionKey": "p", "RowKey": "gone"})
    client.upsert_entity({"PartitionKey": "p", "RowKey": "gone", "A": 3})
    client.delete_entity("p", "gone")
    client.delete_entity("p", "gone")
    with pytest.raises(ResourceNotFoundError):
        client.get_entity("p", "gone")


def test_queries_and_pages(client):
    for start in range(0, 250, 50):
        client.submit_transaction([("upsert", {"PartitionKey": "p", "RowKey": f"{row:04}", "N": row, "Big": (row, EdmType.INT64)})
                                   for row in range(start, start + 50)])
    assert [row["N"] for row in client.list_entities(results_per_page=7)] == list(range(250))
    found = client.query_entities("N ge @low and Big lt @high", parameters={"low": 10, "high": 2**40}, select=["N"])
    assert [dict(row) for row in found] == [{"N": number} for number in range(10, 250)]
    pages = client.query_entities("PartitionKey eq 'p'", results_per_page=100).by_page()
    first = list(next(pages))
    rest = client.query_entities("PartitionKey eq 'p'", results_per_page=100).by_page(pages.continuation_token)
    assert len(first) == 100 and [len(list(page)) for page in rest] == [100, 50]


@pytest.mark.parametrize("name", [name for name in TYPED if name not in ("PartitionKey", "RowKey", "nan", "infinite", "ticks")])
def test_filter_parameters_of_every_type(client, name):
    client.create_entity(TYPED)
    value = TYPED[name][0] if isinstance(TYPED[name], tuple) else TYPED[name]
    assert len(list(client.query_entities(f"{name} eq @value", parameters={"value": value}))) == 1
    assert len(list(client.query_entities(f"{name} ne @value", parameters={"value": value}))) == 0


def test_transactions(client):
    entities = [{"PartitionKey": "p", "RowKey": str(row), "A": row} for row in range(5)]
    client.create_entity(entities[4])
    answers = client.submit_transaction([
        (TransactionOperation.CREATE, entities[0]), ("upsert", entities[1], {"mode": UpdateMode.REPLACE}),
        ("update", entities[4] | {"A": 9}, {"mode": "merge"}), ("delete", {"PartitionKey": "p", "RowKey": "4"})][:3])
    assert len(answers) == 3 and all("etag" in answer for answer in answers)
    with pytest.raises(TableTransactionError) as error:
        client.submit_transaction([("create", entities[2]), ("create", entities[0])])
    assert error.value.index == 1 and error.value.error_code == TableErrorCode.ENTITY_ALREADY_EXISTS
    with pytest.raises(TableTransactionError) as error:
        client.submit_transaction([("upsert", entities[2]), ("upsert", entities[2])])
    assert error.value.error_code == TableErrorCode.INVALID_DUPLICATE_ROW
    assert sorted(row["RowKey"] for row in client.list_entities()) == ["0", "1", "4"]


def test_transaction_too_large(client):
    large = {f"S{index}": "x" * 30000 for index in range(10)}
    with pytest.raises(RequestTooLargeError):
        client.submit_transaction([("create", {"PartitionKey": "p", "RowKey": str(row)} | large) for row in range(15)])
    assert list(client.list_entities()) == []


def test_service(endpoint, new_name):
    with TableServiceClient.from_connection_string(endpoint.connection_string()) as service:
        name = new_name("pyservice")
        service.create_table(name)
        service.create_table_if_not_exists(name)
        with pytest.raises(ResourceExistsError):
            service.create_table(name)
        assert [table.name for table in service.query_tables(f"TableName eq '{name}'")] == [name]
        assert name in [table.name for table in service.list_tables(results_per_page=2)]
        service.delete_table(name)
        service.delete_table(name)
        with pytest.raises(ResourceNotFoundError) as error:
            service.get_table_client(name).create_entity({"PartitionKey": "p", "RowKey": "r"})
        assert "TableNotFound" in str(error.value)


def test_service_properties(endpoint):
    with TableServiceClient.from_connection_string(endpoint.connection_string()) as service:
        retention = TableRetentionPolicy(enabled=True, days=5)
        service.set_service_properties(
            analytics_logging=TableAnalyticsLogging(read=True, write=True, delete=True, retention_policy=retention),
            hour_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=retention),
            minute_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=retention),
            cors=[TableCorsRule(["www.xyz.com", "www.ab.com"], ["GET", "PUT"], allowed_headers=["x-ms-meta-a*"],
                                exposed_headers=["x-ms-*"], max_age_in_seconds=500)])
        found = service.get_service_properties()
        assert found["analytics_logging"].read and found["hour_metrics"].retention_policy.days == 5
        assert found["cors"][0].allowed_origins == ["www.xyz.com", "www.ab.com"] and found["cors"][0].max_age_in_seconds == 500
        off = TableMetrics()
        service.set_service_properties(analytics_logging=TableAnalyticsLogging(), hour_metrics=off, minute_metrics=off,
                                       cors=[])
        assert service.get_service_properties()["cors"] == []


def test_service_stats(endpoint):
    with TableServiceClient.from_connection_string(endpoint.connection_string()) as service:
        assert service.get_service_stats()["geo_replication"]["status"] == "live"


def test_access_policies_and_sas(client, endpoint):
    start, expiry = datetime.datetime(2020, 1, 1), datetime.datetime(2040, 1, 1)
    client.set_table_access_policy({"mine": TableAccessPolicy(start=start, expiry=expiry, permission="r"), "bare": None})
    found = client.get_table_access_policy()
    assert found["mine"].permission == "r" and set(found) == {"mine", "bare"}
    client.create_entity({"PartitionKey": "p", "RowKey": "r"})
    key = AzureNamedKeyCredential(endpoint.account, endpoint.key)
    token = generate_table_sas(key, client.table_name, policy_id="mine")
    with TableClient(endpoint.base, client.table_name, credential=AzureSasCredential(token)) as reader:
        assert len(list(reader.list_entities())) == 1
        with pytest.raises(HttpResponseError) as error:
            reader.create_entity({"PartitionKey": "p", "RowKey": "new"})
        assert error.value.status_code == 403
    token = generate_table_sas(key, client.table_name, permission=TableSasPermissions(read=True, add=True), expiry=expiry,
                               start_pk="q", end_pk="z")
    with TableClient(endpoint.base, client.table_name, credential=AzureSasCredential(token)) as ranged:
        assert list(ranged.list_entities()) == []
        ranged.create_entity({"PartitionKey": "q", "RowKey": "r"})
        ranged.submit_transaction([("create", {"PartitionKey": "q", "RowKey": str(row)}) for row in range(3)])
        assert len(list(ranged.list_entities())) == 4
    token = generate_account_sas(key, resource_types="sco", permission="rwdlau", expiry=expiry)
    with TableServiceClient(endpoint.base, credential=AzureSasCredential(token)) as service:
        assert client.table_name in [table.name for table in service.list_tables()]
    client.set_table_access_policy({})
    assert client.get_table_access_policy() == {}


def test_host_named_localhost(endpoint, new_name):
    # As captured, with this host name the client assumes Cosmos DB and tunnels MERGE through POST.
    string = endpoint.connection_string().replace("127.0.0.1", "localhost")
    with TableClient.from_connection_string(string, new_name("pylocal")) as client:
        client.create_table()
        client.upsert_entity({"PartitionKey": "p", "RowKey": "r", "A": 1, "B": 1}, mode=UpdateMode.MERGE)
        client.update_entity({"PartitionKey": "p", "RowKey": "r", "A": 2}, mode=UpdateMode.MERGE)
        client.submit_transaction([("upsert", {"PartitionKey": "p", "RowKey": "r", "C": 3}),
                                   ("create", {"PartitionKey": "p", "RowKey": "s"})])
        found = dict(client.get_entity("p", "r"))
        assert {name: found[name] for name in "ABC"} == {"A": 2, "B": 1, "C": 3}
        client.delete_table()


def test_over_tls(secure, new_name, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", os.path.abspath(secure.ca_file))
    with TableClient.from_connection_string(secure.connection_string(), new_name("pytls")) as client:
        client.create_table()
        client.create_entity(TYPED)
        check_typed(client.get_entity("pk", "rk"))
        client.submit_transaction([("create", {"PartitionKey": "q", "RowKey": str(row)}) for row in range(100)])
        assert len(list(client.list_entities())) == 101


def test_async_client(endpoint, new_name):
    async def run():
        name = new_name("pyasync")
        async with AsyncTableClient.from_connection_string(endpoint.connection_string(), name) as client:
            await client.create_table()
            await client.create_entity(TYPED)
            check_typed(await client.get_entity("pk", "rk"))
            rows = [{"PartitionKey": f"p{row % 4}", "RowKey": f"{row:03}", "N": row} for row in range(80)]
            await asyncio.gather(*(client.upsert_entity(row) for row in rows))
            found = [row["N"] async for row in client.query_entities("PartitionKey eq 'p1'", results_per_page=3)]
            assert found == [row["N"] for row in rows if row["PartitionKey"] == "p1"]
            # Two writers with the same ETag: exactly one wins.
            etag = (await client.get_entity("pk", "rk")).metadata["etag"]
            results = await asyncio.gather(
                *(client.update_entity({"PartitionKey": "pk", "RowKey": "rk", "W": writer}, etag=etag,
                                       match_condition=MatchConditions.IfNotModified) for writer in range(10)),
                return_exceptions=True)
            assert sum(not isinstance(result, Exception) for result in results) == 1
            await client.delete_table()
    asyncio.run(run())
