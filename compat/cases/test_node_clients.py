"""The current and the retired Node client: every case of `../js/*.test.mjs`, with one run of Node for each file.

`tls.test.mjs` uses the TLS server and trusts its certificate by NODE_EXTRA_CA_CERTS. `throttled.test.mjs` uses a
server with scalability targets.
"""

import os
import pathlib
import re
import subprocess

import pytest
from driver.server import DEPS

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "js"
NAME = re.compile(r'^test\("([^"]+)"', re.MULTILINE)
OUTCOME = re.compile(r"^(not ok|ok) \d+ - (.+?)(?: # .*)?$", re.MULTILINE)
DEADLINE_S = 120
SERVERS = {"tls": "secure", "throttled": "throttled"}
CASES = [(path.name, name) for path in sorted(FOLDER.glob("*.test.mjs")) for name in NAME.findall(path.read_text())]


@pytest.fixture(scope="session")
def node(request):
    """A function that runs a file once. It returns the report of each case (`split_report`), and the whole output."""
    reports = {}

    def outcomes(file):
        if file not in reports:
            endpoint = request.getfixturevalue(SERVERS.get(file.split(".")[0], "endpoint"))
            variables = {"TABLE_CONNECTION": endpoint.connection_string(), "TABLE_URL": endpoint.base,
                         "TABLE_ACCOUNT": endpoint.account, "TABLE_KEY": endpoint.key}
            if endpoint.ca_file:
                variables["NODE_EXTRA_CA_CERTS"] = endpoint.ca_file
            program = [str(DEPS / "node/node_modules/node/bin/node"), "--no-deprecation", "--test-reporter=tap"]
            done = subprocess.run([*program, str(FOLDER / file)], env=os.environ | variables, capture_output=True,
                                  text=True, timeout=DEADLINE_S)
            reports[file] = split_report(done.stdout), done.stdout + done.stderr
        return reports[file]

    return outcomes


def split_report(text):
    """Parses TAP: for each case whether it passed, and the lines up to the next case."""
    found = list(OUTCOME.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {match.group(2): (match.group(1) == "ok", text[match.start():end]) for match, end in zip(found, ends)}


@pytest.mark.parametrize("file,name", CASES)
def test_node(node, file, name):
    cases, everything = node(file)
    assert name in cases, everything[-3000:]
    passed, report = cases[name]
    assert passed, report
