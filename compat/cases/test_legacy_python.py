"""The retired Python client (azure-cosmosdb-table 1.0.6): version 2017-04-17, MERGE, its own batch format."""

import datetime
import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from azure.cosmosdb.table.common.models import AccessPolicy
    from azure.cosmosdb.table.models import EdmType, EntityProperty, TablePermissions
    from azure.cosmosdb.table.tablebatch import TableBatch
    from azure.cosmosdb.table.tableservice import TableService
from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError


@pytest.fixture
def service(endpoint):
    """The legacy service object."""
    made = TableService(connection_string=endpoint.connection_string())
    made.retry = lambda context: None
    return made


@pytest.fixture
def name(service, new_name):
    """The name of a new table."""
    made = new_name("legacy")
    service.create_table(made)
    yield made
    service.delete_table(made)


def test_operations(service, name):
    entity = {"PartitionKey": "it's", "RowKey": "r", "text": "x", "number": EntityProperty(EdmType.INT32, 5), "long": 2**40,
              "double": 1.5, "date": datetime.datetime(2020, 1, 2, 3, 4, 5), "flag": True}
    etag = service.insert_entity(name, entity)
    found = service.get_entity(name, "it's", "r")
    assert found["text"] == "x" and found["number"].value == 5 and found["long"] == 2**40 and found.etag == etag
    service.merge_entity(name, {"PartitionKey": "it's", "RowKey": "r", "text": "y"}, if_match=etag)
    with pytest.raises(AzureHttpError) as error:
        service.update_entity(name, entity, if_match=etag)
    assert error.value.status_code == 412
    service.insert_or_merge_entity(name, {"PartitionKey": "it's", "RowKey": "r", "more": "z"})
    service.insert_or_replace_entity(name, {"PartitionKey": "it's", "RowKey": "s", "more": "z"})
    assert [row.RowKey for row in service.query_entities(name, "PartitionKey eq 'it''s'")] == ["r", "s"]
    with pytest.raises(AzureConflictHttpError):
        service.insert_entity(name, entity)
    service.delete_entity(name, "it's", "r")
    with pytest.raises(AzureMissingResourceHttpError):
        service.get_entity(name, "it's", "r")


def test_batches(service, name):
    # Inner request lines are bare paths without host and account; lines end in LF.
    batch = TableBatch()
    for row in range(100):
        batch.insert_entity({"PartitionKey": "p", "RowKey": f"{row:03}", "N": row})
    tags = service.commit_batch(name, batch)
    assert len(tags) == 100
    batch = TableBatch()
    batch.update_entity({"PartitionKey": "p", "RowKey": "000", "N": 1000}, if_match=tags[0])
    batch.merge_entity({"PartitionKey": "p", "RowKey": "001", "M": 1})
    batch.delete_entity("p", "002")
    batch.insert_or_replace_entity({"PartitionKey": "p", "RowKey": "new", "N": 5})
    service.commit_batch(name, batch)
    rows = list(service.query_entities(name, num_results=1000))
    assert len(rows) == 100 and rows[0]["N"] == 1000 and rows[1]["N"] == 1 and rows[1]["M"] == 1
    batch = TableBatch()
    batch.insert_entity({"PartitionKey": "p", "RowKey": "fresh"})
    batch.insert_entity({"PartitionKey": "p", "RowKey": "new"})
    with pytest.raises(AzureHttpError) as error:
        service.commit_batch(name, batch)
    assert error.value.status_code == 409
    with pytest.raises(AzureMissingResourceHttpError):
        service.get_entity(name, "p", "fresh")


def test_pages(service, name):
    with service.batch(name) as batch:
        for row in range(30):
            batch.insert_entity({"PartitionKey": "p", "RowKey": f"{row:03}"})
    first = service.query_entities(name, num_results=20)
    rest = service.query_entities(name, num_results=20, marker=first.next_marker)
    assert [row.RowKey for row in [*first, *rest]] == [f"{row:03}" for row in range(30)]


def test_tables_and_policies(service, name):
    assert service.exists(name) and not service.exists("nosuchtable")
    assert name in [table.name for table in service.list_tables()]
    assert not service.create_table(name)
    policy = AccessPolicy(TablePermissions.QUERY, expiry="2040-01-01T00:00:00Z", start="2020-01-01T00:00:00Z")
    service.set_table_acl(name, {"mine": policy})
    assert service.get_table_acl(name)["mine"].permission == "r"
    token = service.generate_table_shared_access_signature(name, id="mine")
    reader = TableService(account_name=service.account_name, sas_token=token)
    reader.primary_endpoint, reader.protocol = service.primary_endpoint, service.protocol
    assert list(reader.query_entities(name)) == []
    with pytest.raises(AzureHttpError) as error:
        reader.insert_entity(name, {"PartitionKey": "p", "RowKey": "r"})
    assert error.value.status_code == 403


def test_service_properties(service):
    assert service.get_table_service_properties().logging is not None
