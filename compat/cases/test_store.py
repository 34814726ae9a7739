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
    """The row keys of the table, and the value of one row."""
    table = Table(Endpoint(server.url), "kept")
    return table.rows(), table.properties("p", "007")


def test_rows_are_read_from_the_files_of_the_store(store):
    server, admin = start(store)
    table = Table(Endpoint(server.url), "kept")
    table.create()
    keys = [f"{number:03}" for number in range(ROWS)]
    for number, key in enumerate(keys):
        table.add("p", key, {"N": number})
    for action in ("flush", "compact"):
        for number in admin.ranges():
            assert admin.act(number, action) is None
        assert read(server) == (keys, {"N": "7"}), action
    server.kill()
    server, admin = start(store)
    assert read(server) == (keys, {"N": "7"})
    assert server.stop() == 0
