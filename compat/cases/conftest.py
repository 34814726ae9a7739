"""Fixtures of the cases: a server (started, or an existing one by URL), an account on it, and a new table for each case."""

import itertools
import json
import os
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from driver.certificate import make_certificate  # noqa: E402
from driver.endpoint import Endpoint  # noqa: E402
from driver.server import TARGETS, Server  # noqa: E402
from driver.signing import WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY  # noqa: E402
from started import SECOND_ACCOUNT, SECOND_KEYS, only_started  # noqa: E402
from tables import Table  # noqa: E402

NUMBERS = itertools.count()


def pytest_addoption(parser):
    """Adds the option `--target`: the server to test."""
    group = parser.getgroup("partita")
    group.addoption("--target", default=os.environ.get("PARTITA_TARGET", "partita"),
                    help="partita, azurite, or the URL of a running server")
    group.addoption("--queue-url", help="the Queue service of a server that --target gives by URL")
    group.addoption("--account", default=WELL_KNOWN_ACCOUNT)
    group.addoption("--key", default=WELL_KNOWN_KEY)
    group.addoption("--outcomes", help="write each case's outcome to this JSON file")


def pytest_runtest_logreport(report):
    """Records the outcome of a case. A failed or skipped setup or teardown replaces the outcome of the call."""
    if report.when == "call" or report.outcome != "passed":
        # A case that is expected to fail, and does, has the outcome "skipped" in pytest.
        failed = report.skipped and hasattr(report, "wasxfail")
        OUTCOMES[report.nodeid.replace("compat/cases/", "")] = "failed" if failed else report.outcome


OUTCOMES = {}


def pytest_sessionfinish(session):
    """Writes the outcomes, so that `compat/run` can compare targets. Only the main process of pytest-xdist writes them."""
    path = session.config.getoption("--outcomes")
    if path and not hasattr(session.config, "workerinput"):
        pathlib.Path(path).write_text(json.dumps(OUTCOMES, indent=1, sort_keys=True))


@pytest.fixture(scope="session")
def target(pytestconfig):
    """The name of the target, or its URL."""
    return pytestconfig.getoption("--target")


@pytest.fixture(scope="session")
def server_url(target):
    """The URL of the server that most cases share."""
    if target not in TARGETS:
        yield target
        return
    with Server(target, {WELL_KNOWN_ACCOUNT: WELL_KNOWN_KEY, SECOND_ACCOUNT: ":".join(SECOND_KEYS)}) as server:
        yield server.url


@pytest.fixture(scope="session")
def endpoint(server_url, pytestconfig):
    """The account of the run on the shared server, addressed in path style."""
    return Endpoint(server_url, pytestconfig.getoption("--account"), pytestconfig.getoption("--key"))


@pytest.fixture(scope="session")
def second(endpoint, target):
    """A second account, with two keys. Only on servers that the suite starts itself."""
    only_started(target)
    return endpoint.sibling(account=SECOND_ACCOUNT, key=SECOND_KEYS[0])


@pytest.fixture
def launch(target):
    """A function that starts another server of the target's kind with other flags. All of them stop after the case."""
    only_started(target)
    running = []

    def start(*options, **settings):
        server = Server(target, options=options, **settings)
        server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="session")
def secure(target, tmp_path_factory):
    """A TLS endpoint that accepts bearer tokens."""
    only_started(target)
    cert, key = make_certificate(tmp_path_factory.mktemp("certificate"))
    with Server(target, options=["--cert", str(cert), "--key", str(key), "--oauth", "basic"]) as server:
        yield Endpoint(server.url, ca_file=str(cert))


@pytest.fixture(scope="session")
def throttled(target):
    """An endpoint with a target of 20 entities/s for each partition; Partita only."""
    if target != "partita":
        pytest.skip("only Partita has these flags")
    with Server(target, options=["--target-partition-entities", "20"]) as server:
        yield Endpoint(server.url)


@pytest.fixture
def new_name():
    """A function that makes table names. A name is unique among all cases and runs."""
    stamp = f"{time.time_ns() // 1000 % 10**9:09}"
    return lambda prefix="case": f"{prefix}{stamp}n{next(NUMBERS)}"


@pytest.fixture
def table(endpoint, new_name):
    """A new table, deleted after the case."""
    made = Table(endpoint, new_name())
    made.create()
    yield made
    made.drop()
