"""TLS and bearer tokens, with `--oauth basic`: the server checks the claims of a token, not its signature."""

import time

import pytest
from driver.certificate import make_token
from tables import JSON_MINIMAL, Table, expect_ok

VERSION = {"x-ms-version": "2020-12-06", "Accept": JSON_MINIMAL}


def test_shared_key_over_tls(secure, new_name):
    table = Table(secure, new_name())
    answer = table.create()
    assert answer.header("Location").startswith("https://")
    table.add("p", "r", {"A": 1})
    assert table.properties("p", "r") == {"A": "1"}
    assert [inner.status for inner in table.changes([table.op_insert("p", "b")])] == [201]


def test_host_style_over_tls(secure):
    expect_ok(secure.sibling(host_style="table.localhost").send("GET", "/Tables"), 200)


def test_https_only_sas(secure, new_name):
    from driver import signing
    table = Table(secure, new_name())
    table.create()
    sas = signing.account_sas(secure.account, secure.key, permissions="r", protocol="https")
    expect_ok(table.seen_with(sas).query(), 200)


def test_bearer(secure, new_name):
    table = Table(secure, new_name(), auth="Bearer " + make_token())
    table.create(VERSION)
    expect_ok(table.insert("p", "r", {"A": 1}, VERSION), 201)
    expect_ok(table.send("GET", f"/{table.name}()", VERSION), 200)
    expect_ok(table.send("DELETE", f"/Tables('{table.name}')", VERSION), 204)


@pytest.mark.parametrize("audience", ["https://storage.azure.com", "https://storage.azure.com/",
                                      "https://devstoreaccount1.table.core.windows.net",
                                      "e406a681-f3d4-42a8-90b6-c2b029497af1"])
def test_audiences(secure, audience):
    expect_ok(secure.send("GET", "/Tables", VERSION, auth="Bearer " + make_token(aud=audience)), 200)


@pytest.mark.parametrize("claims", [
    {"exp": int(time.time()) - 3600}, {"nbf": int(time.time()) + 3600}, {"aud": "https://elsewhere.example"},
    {"aud": None}, {"iss": "https://elsewhere.example/"}, {"iss": None}, {"exp": None}])
def test_tokens_that_are_refused(secure, claims):
    answer = secure.send("GET", "/Tables", VERSION, auth="Bearer " + make_token(**claims))
    assert answer.status in (401, 403) and answer.code, answer


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "....", "e30.e30.e30"])
def test_no_tokens_at_all(secure, token):
    answer = secure.send("GET", "/Tables", VERSION, auth="Bearer " + token)
    assert answer.status in (400, 401, 403) and answer.code, answer


def test_acl_is_not_for_bearers(secure, new_name):
    table = Table(secure, new_name())
    table.create()
    answer = secure.send("GET", f"/{table.name}?comp=acl", {"Accept": "application/xml", "x-ms-version": "2020-12-06"},
                         auth="Bearer " + make_token())
    assert answer.status in (403, 404), answer


def test_bearer_needs_tls(endpoint):
    answer = endpoint.send("GET", "/Tables", VERSION, auth="Bearer " + make_token())
    assert answer.status in (400, 401, 403) and answer.code, answer
