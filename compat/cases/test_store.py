"""A server that keeps its data in an object store: rows are read from files, after splits, and after a kill."""

import pytest
from driver.admin import Admin
from driver.endpoint import Endpoint
from driver.gate import NoConditions
from driver.object_store import AzuriteBlob, MotoS3
from driver.server import Server, free_port
from tables import Table

ROWS = 300


@pytest.fixture
def only_partita(target):
    """Skips a case for other targets."""
    if target != "partita":
        pytest.skip("only Partita keeps its data in an object store")


@pytest.fixture(params=[MotoS3, AzuriteBlob], ids=["s3", "azure"])
def store(request, only_partita):
    """A running object store, of each kind in turn."""
    with request.param() as running:
        yield running


def start(store, url=None):
    """Starts a server over the store, which it reaches at `url`; returns it and its admin port."""
    port = free_port()
    options = ["--store", store.place("data"), "--admin-port", str(port)]
    environment = store.environment(url or store.url)
    server = Server("partita", options=options, location=False, environment=environment)
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


def test_a_store_that_ignores_conditions_is_refused(only_partita):
    # Azurite would see that the signature does not match; moto checks none.
    with MotoS3() as store:
        proxy = NoConditions("127.0.0.1", store.port)
        with pytest.raises(RuntimeError, match="ignores the condition `If-None-Match: \\*`"):
            start(store, proxy.url)
        assert proxy.hidden
        # Nothing else is wrong with it.
        server, _ = start(store)
        assert server.stop() == 0
