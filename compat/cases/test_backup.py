"""Backups in object stores, written and read by Partita: complete, interrupted by kill -9, damaged, refused."""

import json
import os
import subprocess

import pytest
from driver.endpoint import Endpoint
from driver.gate import Gate
from driver.object_store import AzuriteBlob, MotoS3
from driver.server import ROOT, Server, free_port
from tables import Table

BINARY = os.environ.get("PARTITA_BIN", ROOT / "target/release/partita")
VERB_DEADLINE_S = 120
# A part ends at 16 MiB of rows. So many rows, of almost 0.5 MiB each, make three parts.
BIG_ROWS = 80
BIG = {f"P{number}": "x" * 31_000 for number in range(15)}


@pytest.fixture(scope="module", params=[MotoS3, AzuriteBlob], ids=["s3", "azure"])
def store(request, target):
    """A running object store, of each kind in turn."""
    if target != "partita":
        pytest.skip("only Partita has these commands")
    with request.param() as running:
        yield running


class World:
    """A server with a data directory and rows, and commands on it. Server and commands use the object store."""

    def __init__(self, store, folder, places):
        self.store, self.folder = store, folder
        self.places = places
        self.server = None
        self.admin = None

    def start(self, url, location="data"):
        """Starts the server. It reaches the store at `url`, which may be a proxy."""
        port = free_port()
        self.admin = f"http://127.0.0.1:{port}"
        options = ["--admin-port", str(port)]
        for place in self.places:
            options += ["--backup-place", place]
        folder = self.folder / location
        folder.mkdir(exist_ok=True)
        self.server = Server("partita", options=options, location=folder, environment=self.store.environment(url))
        self.server.start()

    def run(self, line, environment=None, wait=True):
        """Runs a command; returns exit code, stdout and stderr, or at once the process if `wait` is false."""
        known = {name: value for name, value in os.environ.items() if not name.startswith(("PARTITA_", "AZURE_", "AWS_"))}
        known |= self.store.environment(self.store.url) if environment is None else environment
        known |= {"PARTITA_ADMIN": self.admin, "AZURE_STORAGE_CONNECTION_STRING": Endpoint(self.server.url).connection_string()}
        process = subprocess.Popen([str(BINARY), *line.split()], env=known, cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if not wait:
            return process
        data, talk = process.communicate(timeout=VERB_DEADLINE_S)
        return process.returncode, data, talk

    def done(self, line):
        """The output of a successful command."""
        code, data, talk = self.run(line)
        assert code == 0, f"{line}: {talk}"
        return data


@pytest.fixture
def world(store, tmp_path):
    """A server with one table, and the locations in the store that it may write to."""
    prefix = tmp_path.name
    made = World(store, tmp_path, [store.place(prefix)])
    made.prefix = prefix
    made.start(store.url)
    table = Table(Endpoint(made.server.url), "kept")
    table.create()
    for number in range(3):
        table.add("p", f"small-{number}", {"N": number, "B@odata.type": "Edm.Binary", "B": "AP8="})
    made.table = table
    yield made
    made.server.stop()


def test_a_backup_is_whole_and_comes_back(world, store):
    place = store.place(f"{world.prefix}/nightly")
    before = world.done("scan kept --etag")
    world.done("snapshot create nightly")
    world.table.add("p", "later")
    world.done(f"backup nightly --to {place}")
    assert sorted(store.names(f"{world.prefix}/")) == [
        f"{world.prefix}/nightly/{name}" for name in ("SHA256SUMS", "backup.json", "begun.json", "rows/00000001.part")]
    assert "the backup is complete" in world.run(f"backup verify {place}")[2]
    again = json.loads(world.done(f"backup nightly --to {place} --output json"))
    assert (again["parts"], again["kept"]) == (1, 1)
    world.done(f"restore --from {place} --location restored")
    world.server.stop()
    world.start(store.url, "restored")
    assert world.done("scan kept --etag") == before


def test_damage_is_told_and_mended(world, store):
    place, folder = store.place(f"{world.prefix}/b"), f"{world.prefix}/b"
    world.done("snapshot create nightly")
    world.done(f"backup nightly --to {place}")
    part = f"{folder}/rows/00000001.part"
    whole = store.get(part)
    for damaged, told in ((bytes([*whole[:100], whole[100] ^ 1, *whole[101:]]), {"finding": "changed", "file": "rows/00000001.part"}),
                          (whole[:-1], {"finding": "short", "file": "rows/00000001.part",
                                        "bytes": len(whole) - 1, "expected": len(whole)})):
        store.put(part, damaged)
        code, findings, _ = world.run(f"backup verify {place}")
        assert (code, json.loads(findings)) == (1, told)
        code, _, talk = world.run(f"restore --from {place} --location damaged")
        assert code == 2 and "checksum" in talk
        assert not (world.folder / "damaged").exists()
    store.delete(part)
    code, findings, _ = world.run(f"backup verify {place}")
    assert (code, json.loads(findings)) == (1, {"finding": "missing", "file": "rows/00000001.part"})
    world.done(f"backup nightly --to {place}")
    assert store.get(part) == whole
    store.delete(f"{folder}/backup.json")
    code, _, talk = world.run(f"backup verify {place}")
    assert code == 2 and "no complete backup" in talk


def test_a_killed_server_goes_on_where_it_was(world, store):
    place, folder = store.place(f"{world.prefix}/big"), f"{world.prefix}/big"
    for number in range(BIG_ROWS):
        world.table.add("q", f"{number:02}", BIG)
    before = world.done("count kept")
    world.done("snapshot create nightly")
    world.table.endpoint.connection.close()
    world.server.stop()
    # The snapshot's requests, then two for each part: does it exist, and the upload. The gate holds the second part.
    gate = Gate("127.0.0.1", store.port, 4)
    world.start(gate.url)
    verb = world.run(f"backup nightly --to {place}", wait=False)
    gate.wait()
    world.server.kill()
    assert verb.wait(VERB_DEADLINE_S) == 2
    assert "is not finished" in verb.stderr.read()
    assert sorted(store.names(folder)) == [f"{folder}/{name}" for name in ("begun.json", "rows/00000001.part")]
    assert world.run(f"backup verify {place}")[0] == 2
    world.start(store.url)
    went_on = json.loads(world.done(f"backup nightly --to {place} --output json"))
    assert (went_on["parts"], went_on["kept"]) == (3, 1)
    assert world.run(f"backup verify {place}")[0] == 0
    world.done(f"restore --from {place} --location restored")
    world.server.stop()
    world.start(store.url, "restored")
    assert world.done("count kept") == before


def test_what_is_not_allowed_or_missing_is_said(world, store):
    world.done("snapshot create nightly")
    code, _, talk = world.run(f"backup nightly --to {store.place('elsewhere')}")
    assert code == 2 and "--backup-place" in talk
    code, _, talk = world.run(f"backup nightly --to {store.place(world.prefix)}-and-more")
    assert code == 2 and "--backup-place" in talk
    assert store.names("elsewhere") == []
    code, _, talk = world.run(f"backup verify {store.place('nothing')}")
    assert code == 2 and "no complete backup" in talk
    needed = {"s3": "AWS_ACCESS_KEY_ID", "az": "AZURE_STORAGE_ACCOUNT_NAME"}[store.scheme]
    code, _, talk = world.run(f"backup verify {store.place('nothing')}", environment={})
    assert code == 2 and needed in talk
