"""A test as a user of pytest-partita writes it."""

from azure.data.tables import TableServiceClient
from azure.storage.queue import QueueServiceClient


def test_a_row_and_a_message(partita):
    tables = TableServiceClient.from_connection_string(partita.connection_string)
    people = tables.create_table("people")
    people.create_entity({"PartitionKey": "a", "RowKey": "1", "Name": "Ada"})
    assert people.get_entity("a", "1")["Name"] == "Ada"
    queues = QueueServiceClient.from_connection_string(partita.connection_string)
    work = queues.create_queue("work")
    work.send_message("hello")
    assert work.receive_message().content == "hello"


def test_each_test_has_a_server_of_its_own(partita, partita_session):
    tables = TableServiceClient.from_connection_string(partita.connection_string)
    assert list(tables.list_tables()) == []
    assert partita.pid != partita_session.pid
