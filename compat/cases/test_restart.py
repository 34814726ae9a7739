"""Data after a restart of the server: after an orderly stop, and after kill -9."""

import pytest
from driver.endpoint import Endpoint
from driver.server import Server
from tables import Table, expect_ok

ACL = ("<SignedIdentifiers><SignedIdentifier><Id>kept</Id><AccessPolicy><Start>2020-01-01T00:00:00Z</Start>"
       "<Expiry>2040-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
       "</SignedIdentifiers>")


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_everything_acknowledged_is_there_again(target, tmp_path, end):
    if "://" in target:
        pytest.skip("needs a server that the suite starts itself")
    tags = {}
    for life in range(3):
        server = Server(target, location=tmp_path)
        server.start()
        table = Table(Endpoint(server.url), "kept")
        if life == 0:
            table.create()
            expect_ok(table.endpoint.send("PUT", "/kept?comp=acl", {"Content-Type": "application/xml"}, ACL), 204)
        for row, etag in tags.items():
            assert table.get("p", row).header("ETag") == etag
        assert table.rows() == sorted(tags)
        assert "<Id>kept</Id>" in table.endpoint.send("GET", "/kept?comp=acl", {"Accept": "application/xml"}).text
        for number in range(30):
            tags[f"{life}-{number:02}"] = table.add("p", f"{life}-{number:02}", {"N": number})
        first = f"{life}-00"
        tags[first] = table.write("MERGE", "p", first, {"M": 1}, {"If-Match": tags[first]}).header("ETag")
        expect_ok(table.delete("p", f"{life}-01"), 204)
        del tags[f"{life}-01"]
        table.endpoint.connection.close()
        if end == "kill":
            server.kill()
        else:
            assert server.stop() == 0


def test_nothing_is_there_again_without_a_directory(launch, target):
    flag = {"partita": "--in-memory", "azurite": "--inMemoryPersistence"}[target]
    for _ in range(2):
        server = launch(flag, location=False)
        table = Table(Endpoint(server.url), "volatile")
        table.create()
        table.add("p", "r")
        assert table.rows() == ["r"]
        table.endpoint.connection.close()
        server.stop()
