"""The Azure CLI: `az storage queue` and `az storage message`.

Its package takes 733 MB, so `compat/setup` installs it only with `--with-az`; without it the cases are skipped.
`PARTITA_AZ_PYTHON` names the Python of another installation.
"""

import json
import os
import pathlib
import subprocess

import pytest
from driver.server import DEPS

PYTHON = pathlib.Path(os.environ.get("PARTITA_AZ_PYTHON", DEPS / "az/bin/python"))
DEADLINE_S = 120


@pytest.fixture
def az(endpoint, tmp_path):
    """A function that runs a command of `az storage` and returns its JSON output; None if it has none."""
    if not PYTHON.exists():
        pytest.skip("needs the Azure CLI (compat/setup --with-az)")
    variables = {"AZURE_CONFIG_DIR": str(tmp_path), "AZURE_CORE_COLLECT_TELEMETRY": "no", "AZURE_CORE_ONLY_SHOW_ERRORS": "true",
                 "AZURE_STORAGE_CONNECTION_STRING": endpoint.connection_string(), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*arguments):
        done = subprocess.run([str(PYTHON), "-m", "azure.cli", "storage", *arguments, "--output", "json"],
                              env=os.environ | variables, capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


def test_queues(az, new_name):
    name = new_name("az")
    assert az("queue", "create", "--name", name, "--metadata", "a=1") == {"created": True}
    assert az("queue", "exists", "--name", name) == {"exists": True}
    assert az("queue", "metadata", "show", "--name", name) == {"a": "1"}
    az("queue", "metadata", "update", "--name", name, "--metadata", "b=2")
    assert az("queue", "metadata", "show", "--name", name) == {"b": "2"}
    assert [queue["name"] for queue in az("queue", "list", "--prefix", name)] == [name]
    az("queue", "policy", "create", "--queue-name", name, "--name", "mine", "--permissions", "r", "--expiry", "2040-01-01T00:00Z")
    assert az("queue", "policy", "show", "--queue-name", name, "--name", "mine")["permission"] == "r"
    assert az("queue", "delete", "--name", name) == {"deleted": True}
    assert az("queue", "exists", "--name", name) == {"exists": False}


def test_messages(az, new_name):
    name = new_name("az")
    az("queue", "create", "--name", name)
    put = az("message", "put", "--queue-name", name, "--content", "text <&>")
    [peeked] = az("message", "peek", "--queue-name", name)
    assert (peeked["id"], peeked["content"], peeked["dequeueCount"]) == (put["id"], "text <&>", 0)
    [taken] = az("message", "get", "--queue-name", name)
    updated = az("message", "update", "--queue-name", name, "--id", taken["id"], "--pop-receipt", taken["popReceipt"],
                 "--content", "changed", "--visibility-timeout", "0")
    [again] = az("message", "get", "--queue-name", name)
    assert (again["content"], again["dequeueCount"]) == ("changed", 2) and updated["popReceipt"] != taken["popReceipt"]
    az("message", "delete", "--queue-name", name, "--id", again["id"], "--pop-receipt", again["popReceipt"])
    az("message", "clear", "--queue-name", name)
    assert az("message", "peek", "--queue-name", name) == []
    az("queue", "delete", "--name", name)
