"""`partita sas` makes the signatures that the official Python clients make for the same terms."""

import os
import pathlib
import subprocess
import urllib.parse

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import ResourceTypes, generate_account_sas, generate_table_sas
from azure.storage.queue import _shared_access_signature, generate_queue_sas
from driver.signing import WELL_KNOWN_ACCOUNT as ACCOUNT
from driver.signing import WELL_KNOWN_KEY as KEY

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PARTITA_BIN", ROOT / "target/release/partita")
CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)
EXPIRY = "2036-01-02T03:04:05Z"
START = "2030-01-02T00:00:00Z"
# The version that `partita` signs, like the client of tables. The client of queues takes the newest one.
VERSION = "2019-02-02"


def made(*words):
    """The parameters of the signature that a command makes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PARTITA_", "AZURE_"))}
    environment["XDG_CONFIG_HOME"] = "/nonexistent"
    done = subprocess.run([str(BINARY), "sas", *words], env=environment, text=True, capture_output=True, check=True,
                          timeout=60)
    return parameters(done.stdout.strip())


def parameters(token):
    """The parameters of a signature; each occurs once."""
    pairs = urllib.parse.parse_qsl(token, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


TABLE_TERMS = [
    ([], {}),
    (["--start", START], {"start": START}),
    (["--ip", "10.0.0.1-10.0.0.9"], {"ip_address_or_range": "10.0.0.1-10.0.0.9"}),
    (["--start-pk", "a b", "--start-rk", "é+&", "--end-pk", "z"], {"start_pk": "a b", "start_rk": "é+&", "end_pk": "z"}),
    (["--policy", "readers & more"], {"policy_id": "readers & more"}),
]


@pytest.mark.parametrize("flags,terms", TABLE_TERMS)
@pytest.mark.parametrize("permissions", ["r", "raud", "ad"])
def test_table_signatures(permissions, flags, terms):
    expected = generate_table_sas(CREDENTIAL, "People", permission=permissions, expiry=EXPIRY, protocol="https,http",
                                  **terms)
    command = made("table", "People", "--permissions", permissions, "--expiry", EXPIRY, *flags)
    assert command == parameters(expected)


def test_table_signature_with_the_terms_of_a_policy():
    expected = generate_table_sas(CREDENTIAL, "people", policy_id="readers", protocol="https")
    assert made("table", "people", "--policy", "readers", "--https-only") == parameters(expected)


@pytest.mark.parametrize("permissions", ["r", "rwdlacup", "la"])
def test_account_signatures(permissions):
    expected = generate_account_sas(CREDENTIAL, ResourceTypes.from_string("sco"), permissions, EXPIRY, start=START,
                                    protocol="https,http")
    command = made("account", "--resource-types", "sco", "--permissions", permissions, "--expiry", EXPIRY,
                   "--start", START)
    assert command == parameters(expected)


@pytest.mark.parametrize("flags,terms", [
    ([], {}),
    (["--start", START, "--ip", "10.0.0.1"], {"start": START, "ip": "10.0.0.1"}),
    (["--policy", "workers"], {"policy_id": "workers"}),
])
@pytest.mark.parametrize("permissions", ["r", "raup", "p"])
def test_queue_signatures(monkeypatch, permissions, flags, terms):
    monkeypatch.setattr(_shared_access_signature, "X_MS_VERSION", VERSION)
    expected = generate_queue_sas(ACCOUNT, "jobs", KEY, permission=permissions, expiry=EXPIRY, protocol="https,http",
                                  **terms)
    command = made("queue", "jobs", "--permissions", permissions, "--expiry", EXPIRY, *flags)
    assert command == parameters(expected)
