"""A server that keeps its data in an object store: rows are read from files, after splits, and after a kill."""

import pytest
from driver.admin import Admin
from driver.endpoint import Endpoint
from driver.object_store import AzuriteBlob, MotoS3
from driver.server import Server, free_port
from tables import Table

ROWS = 300


@pytest.fixture(params=[MotoS3, AzuriteBlob], ids=["s3", "azure"])
def store(request, target):
    """A running object store, of each kind in turn."""
    if target != "partita":
        pytest.skip("only Partita keeps its data in an object store")
    with request.param() as running:
        yield running


def start(store):
    """Starts a server over the store; returns it and its admin port."""
    port = free_port()
    options = ["--store", store.place("data"), "--admin-port", str(port)]
    server = Server("partita", options=options, location=False, environment=store.environment(store.url))
    server.start()
    return server, Admin(port)


def read(server):
    """The keys of all rows of the table, and the value of one row."""
    table = Table(Endpoint(server.url), "kept")
    return table.keys(), table.properties("p0", "007")


def test_rows_are_read_from_the_files_of_the_store(store):
    server, admin = start(store)
    table = Table(Endpoint(server.url), "kept")
    table.create()
    # Two partitions, so that there is a key to split at.
    keys = [(f"p{number * 2 // ROWS}", f"{number:03}") for number in range(ROWS)]
    for number, (partition, row) in enumerate(keys):
        table.add(partition, row, {"N": number})
    for action in ("flush", "split", "compact"):
        for number in admin.ranges():
            assert admin.act(number, action) is None
        assert read(server) == (keys, {"N": "7"}), action
    assert len(admin.ranges()) == 2
    server.kill()
    server, admin = start(store)
    assert read(server) == (keys, {"N": "7"})
    assert server.stop() == 0
