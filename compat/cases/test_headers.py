"""Headers that every answer must have, or must not have."""

import base64
import hashlib
import json
import re

import pytest
from tables import JSON_FULL, JSON_NONE, Table, expect_error, expect_ok

VERSIONS = ["2013-08-15", "2015-12-11", "2016-05-31", "2017-04-17", "2018-03-28", "2019-02-02", "2020-12-06",
            "2026-06-06", "2031-01-01"]
GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.mark.parametrize("version", VERSIONS)
def test_version_comes_back(table, version):
    # The recordings have four versions. Newer and unknown versions must not break clients.
    for answer in (table.send("GET", "/Tables", {"x-ms-version": version}),
                   table.send("GET", f"/{table.name}(PartitionKey='a',RowKey='b')", {"x-ms-version": version})):
        assert answer.header("x-ms-version") == version


@pytest.mark.parametrize("version", ["yesterday", "2019-2-2", "2019-02-02x", "2008-01-01"])
def test_version_without_sense_is_refused(table, version):
    expect_error(table.send("GET", "/Tables", {"x-ms-version": version}), 400, "InvalidHeaderValue")


@pytest.mark.parametrize("path", ["/Tables", "/TABLE()", "/TABLE(PartitionKey='p',RowKey='r')"])
def test_json_answers(table, path):
    table.add("p", "r")
    answer = expect_ok(table.send("GET", path.replace("TABLE", table.name)), 200)
    assert answer.header("Content-Type") == "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
    assert answer.header("Cache-Control") == "no-cache"
    assert answer.header("X-Content-Type-Options") == "nosniff"
    assert GUID.fullmatch(answer.header("x-ms-request-id"))
    assert answer.header("Server") and answer.header("Date").endswith("GMT")
    assert answer.header("Preference-Applied") is None


@pytest.mark.parametrize("accept,level", [
    (JSON_NONE, "nometadata"), (JSON_FULL, "fullmetadata"), ("application/json", "minimalmetadata"),
    ("application/json; odata=nometadata", "nometadata"), ("*/*", "minimalmetadata"), (None, "minimalmetadata")])
def test_accept_names_the_level(table, accept, level):
    answer = expect_ok(table.send("GET", f"/{table.name}()", {"Accept": accept}), 200)
    assert answer.header("Content-Type").split(";")[1] == f"odata={level}"


def test_format_wins_over_accept(table):
    answer = table.query(accept=JSON_FULL, format="application/json;odata=nometadata")
    assert "odata=nometadata" in answer.header("Content-Type")
    assert "odata.metadata" not in answer.json()


@pytest.mark.parametrize("accept,code", [
    ("application/atom+xml", "AtomFormatNotSupported"),
    ("application/json;odata=verbose", "JsonVerboseFormatNotSupported")])
def test_formats_of_the_past(table, accept, code):
    expect_error(table.query(accept=accept), 415, code)


def test_deletes_have_no_body_and_no_type(table):
    table.add("p", "r")
    answer = expect_ok(table.delete("p", "r"), 204)
    assert answer.body == b"" and answer.header("Content-Type") is None and answer.header("ETag") is None
    assert answer.header("Cache-Control") == "no-cache"
    assert answer.header("X-Content-Type-Options") == "nosniff"


@pytest.mark.parametrize("prefer,status", [(None, 201), ("return-content", 201), ("return-no-content", 204)])
def test_prefer_is_applied_when_asked(table, prefer, status):
    answer = expect_ok(table.insert("p", "r", None, {"Prefer": prefer}), status)
    assert answer.header("Preference-Applied") == prefer
    place = f"{table.endpoint.base}/{table.name}(PartitionKey='p',RowKey='r')"
    assert answer.header("Location") == place
    assert answer.header("DataServiceId") == (place if status == 204 else None)
    assert answer.header("ETag")
    assert bool(answer.body) == (status == 201)


def test_prefer_on_errors_of_post(table):
    # As in recording cosmosdbpython--test_table_test_create_table_with_already_existing_table.
    table.add("p", "r")
    answer = table.insert("p", "r", None, {"Prefer": "return-no-content"})
    expect_error(answer, 409, "EntityAlreadyExists")
    assert answer.header("Preference-Applied") == "return-no-content"


def test_client_request_id_comes_back(table):
    for path in ("/Tables", f"/{table.name}(PartitionKey='a',RowKey='b')"):
        answer = table.send("GET", path, {"x-ms-client-request-id": "mine-1"})
        assert answer.header("x-ms-client-request-id") == "mine-1"


def test_client_request_id_of_old_versions_does_not(table):
    answer = table.send("GET", "/Tables", {"x-ms-client-request-id": "mine-1", "x-ms-version": "2018-03-28"})
    assert answer.header("x-ms-client-request-id") is None


def test_json_errors_have_no_error_code_header(table):
    answer = table.get("no", "one")
    expect_error(answer, 404, "ResourceNotFound")
    assert answer.header("x-ms-error-code") is None


def test_keep_alive_says_for_how_long(table):
    assert "timeout=5" in (table.send("GET", "/Tables").header("Keep-Alive") or "")


def test_connection_is_kept_after_errors(endpoint):
    fresh = endpoint.sibling()
    other = Table(fresh, "nosuchtable")
    expect_error(other.query(), 404, "TableNotFound")
    socket = fresh.connection.socket
    expect_error(other.insert("p", "r"), 404, "TableNotFound")
    assert fresh.connection.socket is socket and socket is not None


def test_location_percent_encodes_keys(table):
    # As in recording
    # cosmosdbpython--test_table_entity_test_operations_on_entity_with_partition_key_having_single_quote.
    answer = expect_ok(table.insert("a:b é", "it's", None, {"Prefer": "return-no-content"}), 204)
    place = answer.header("Location")
    assert place.isascii() and " " not in place
    assert "a%3Ab%20%C3%A9" in place


def test_body_is_compared_with_its_digest(table):
    body = json.dumps({"PartitionKey": "p", "RowKey": "r", "A": 1})
    right = base64.b64encode(hashlib.md5(body.encode()).digest()).decode()
    for wrong, code in ((right[:-4], "InvalidMd5"), ("no digest", "InvalidMd5"), ("A" * 22 + "==", "Md5Mismatch")):
        expect_error(table.send("POST", "/" + table.name, {"Content-MD5": wrong}, body), 400, code)
    assert table.keys() == []
    expect_ok(table.send("POST", "/" + table.name, {"Content-MD5": right}, body), 201)
