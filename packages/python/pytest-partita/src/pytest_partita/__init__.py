"""Fixtures for pytest: servers of Partita."""

from typing import Iterator, List

import partita as partita_package
import pytest


@pytest.fixture(scope="session")
def partita_arguments() -> List[str]:
    """Further arguments of `partita serve`."""
    return []


@pytest.fixture
def partita(partita_arguments: List[str]) -> Iterator[partita_package.Server]:
    """A server of the test's own."""
    with partita_package.start(arguments=partita_arguments) as server:
        yield server


@pytest.fixture(scope="session")
def partita_session(partita_arguments: List[str]) -> Iterator[partita_package.Server]:
    """One server for all tests."""
    with partita_package.start(arguments=partita_arguments) as server:
        yield server
