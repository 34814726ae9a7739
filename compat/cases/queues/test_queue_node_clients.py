"""The current and the retired Node client on queues: every case of `../../js/queues/*.test.mjs`."""

import pytest
from node_runner import cases_of, expect_passed, run_file


@pytest.fixture(scope="session")
def node(endpoint, request):
    """A function that runs a file once."""
    reports = {}

    def report(file):
        if file not in reports:
            reports[file] = run_file(file, request.getfixturevalue("secure") if "tls" in file else endpoint)
        return reports[file]

    return report


@pytest.mark.parametrize("file,name", cases_of("queues/*.test.mjs"))
def test_node(node, file, name):
    expect_passed(node(file), name)
