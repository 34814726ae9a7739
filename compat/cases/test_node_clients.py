"""The current and the retired Node client: every case of `../js/*.test.mjs`, with one run of Node for each file.

`tls.test.mjs` uses the TLS server and trusts its certificate by NODE_EXTRA_CA_CERTS. `throttled.test.mjs` uses a
server with scalability targets.
"""

import pytest
from node_runner import cases_of, expect_passed, run_file

SERVERS = {"tls": "secure", "throttled": "throttled"}


@pytest.fixture(scope="session")
def node(request):
    """A function that runs a file once."""
    reports = {}

    def report(file):
        if file not in reports:
            reports[file] = run_file(file, request.getfixturevalue(SERVERS.get(file.split(".")[0], "endpoint")))
        return reports[file]

    return report


@pytest.mark.parametrize("file,name", cases_of("*.test.mjs"))
def test_node(node, file, name):
    expect_passed(node(file), name)
