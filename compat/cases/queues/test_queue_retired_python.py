"""The retired Python clients: azure-storage 0.36.0 (version 2017-04-17) and azure-storage-queue 2.1.0 (2019-02-02).

Both have the module of the current client, so each runs in a process of its own, once for all cases of
`../../retired/queues.py`.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from driver.server import DEPS

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "retired/queues.py"
CLIENTS = ["azure-storage-0.36.0", "azure-storage-queue-2.1.0"]
CASES = re.findall(r"^def case_(\w+)", PROGRAM.read_text("utf-8"), re.MULTILINE)
DEADLINE_S = 120


@pytest.fixture(scope="session")
def outcomes(endpoint):
    """A function that runs all cases with one client; it returns the traceback of each, empty if it passed."""
    known = {}

    def run(client):
        if client not in known:
            variables = {"QUEUE_CONNECTION": endpoint.connection_string(), "QUEUE_NAME": f"old-{os.getpid()}-",
                         "PYTHONPATH": str(DEPS / "retired" / client), "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run([sys.executable, str(PROGRAM)], env=os.environ | variables, capture_output=True, text=True,
                                  timeout=DEADLINE_S)
            assert done.returncode == 0, done.stderr
            known[client] = json.loads(done.stdout)
        return known[client]

    return run


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("case", CASES)
def test_retired(outcomes, client, case):
    found = outcomes(client)[case]
    assert not found, found
