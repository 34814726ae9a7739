"""Fixtures of the queue cases. They have the names of those of the Table cases, but are accounts of the Queue service."""

import pathlib
import tomllib

import pytest
from driver.certificate import make_certificate
from driver.queue_endpoint import QueueEndpoint
from driver.server import TARGETS, Server
from driver.signing import WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY
from messages import Queue
from started import SECOND_ACCOUNT, SECOND_KEYS, only_started

FOLDER = pathlib.Path(__file__).parent
DIFFERENCES = tomllib.loads((FOLDER / "azurite.toml").read_text("utf-8"))["difference"]


def pytest_collection_modifyitems(config, items):
    """On Azurite, expects the cases of `azurite.toml` to fail, so that a run shows further differences."""
    items = [item for item in items if item.path.is_relative_to(FOLDER)]
    if config.getoption("--target") == "azurite":
        for item in items:
            names = (f"{item.path.name}::{item.originalname}", f"{item.path.name}::{item.name}")
            reasons = [entry["reason"] for entry in DIFFERENCES
                       if any(one == names[0] or "[" in one and names[1].startswith(one) for one in entry["cases"])]
            if reasons:
                item.add_marker(pytest.mark.xfail(reason=reasons[0]))


@pytest.fixture(scope="session")
def server_url(target, pytestconfig):
    """The URL of the Queue service that most cases share."""
    if target not in TARGETS:
        if not pytestconfig.getoption("--queue-url"):
            pytest.skip("needs --queue-url, the URL of the server's Queue service")
        yield pytestconfig.getoption("--queue-url")
        return
    accounts = {WELL_KNOWN_ACCOUNT: WELL_KNOWN_KEY, SECOND_ACCOUNT: ":".join(SECOND_KEYS)}
    with Server(target, accounts, service="queue") as server:
        yield server.url


@pytest.fixture(scope="session")
def endpoint(server_url, pytestconfig):
    """The account of the run on the shared server, addressed in path style."""
    return QueueEndpoint(server_url, pytestconfig.getoption("--account"), pytestconfig.getoption("--key"))


@pytest.fixture(scope="session")
def second(endpoint, target):
    """A second account, with two keys. Only on servers that the suite starts itself."""
    only_started(target)
    return endpoint.sibling(account=SECOND_ACCOUNT, key=SECOND_KEYS[0])


@pytest.fixture
def launch(launch):
    """A function that starts another server with the Queue service."""
    return lambda *options, **settings: launch(*options, service="queue", **settings)


@pytest.fixture(scope="session")
def secure(target, tmp_path_factory):
    """A TLS endpoint that accepts bearer tokens."""
    only_started(target)
    cert, key = make_certificate(tmp_path_factory.mktemp("certificate"))
    flags = ["--cert", str(cert), "--key", str(key), "--oauth", "basic"]
    with Server(target, options=flags, service="queue") as server:
        yield QueueEndpoint(server.url, ca_file=str(cert))


@pytest.fixture
def queue(endpoint, new_name):
    """A new queue, deleted after the case."""
    made = Queue(endpoint, new_name("queue"))
    made.create()
    yield made
    made.drop()
