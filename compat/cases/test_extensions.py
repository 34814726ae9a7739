"""Table settings, rename and truncate by `comp=partita-…` (docs/extensions.md); Partita only."""

import json

import pytest
from driver import signing
from tables import Table, expect_error, expect_ok


@pytest.fixture
def own(table, target):
    """A table with two entities; skips Azurite."""
    if target == "azurite":
        pytest.skip("only Partita has these operations")
    for row in "12":
        table.add("p", row)
    return table


def ask(table, method, what, body=None):
    """A request to the table itself; `body` may be text, which is sent unchanged."""
    text = body if body is None or isinstance(body, str) else json.dumps(body)
    return table.send(method, f"/{table.name}?comp=partita-{what}", body=text)


def test_time_to_live_is_set_and_removed(own):
    for seconds in (60, 3_153_600_000, None):
        expect_ok(ask(own, "PUT", "settings", {"ttl_seconds": seconds}), 204)
        settings = expect_ok(ask(own, "GET", "settings"), 200).json()
        assert (settings["name"], settings["ttl_seconds"]) == (own.name, seconds)
    assert own.rows() == ["1", "2"]


@pytest.mark.parametrize("body", ["", "{}", '{"ttl_seconds":0}', '{"ttl_seconds":3153600001}', '{"ttl_seconds":1,"x":1}', "[]"])
def test_other_settings_change_nothing(own, body):
    expect_error(ask(own, "PUT", "settings", body), 400, "InvalidInput")
    assert ask(own, "GET", "settings").json()["ttl_seconds"] is None


def test_rename_keeps_entities(own, new_name):
    other = Table(own.endpoint, new_name())
    etag = own.get("p", "1").header("ETag")
    expect_ok(ask(own, "POST", "rename", {"to": other.name}), 204)
    assert other.get("p", "1").header("ETag") == etag
    expect_error(own.query(), 404, "TableNotFound")
    expect_error(ask(own, "POST", "rename", {"to": other.name}), 404, "TableNotFound")
    own.create()
    expect_error(ask(own, "POST", "rename", {"to": other.name.upper()}), 409, "TableAlreadyExists")
    assert (own.rows(), other.rows()) == ([], ["1", "2"])
    expect_ok(other.drop(), 204)


@pytest.mark.parametrize("body,code", [("{}", "InvalidInput"), ('{"to":"a b"}', "InvalidResourceName"),
                                       ('{"to":"ab"}', "OutOfRangeInput"), ('{"to":"tables"}', "InvalidInput")])
def test_bad_names_change_nothing(own, body, code):
    answer = ask(own, "POST", "rename", body)
    assert (answer.status, answer.json()["odata.error"]["code"]) == (400, code)
    assert own.rows() == ["1", "2"]


def test_truncate_leaves_the_table(own):
    expect_ok(ask(own, "POST", "truncate"), 204)
    assert own.rows() == []
    own.add("p", "1")
    assert own.rows() == ["1"]


@pytest.mark.parametrize("permissions,method,what,body,status", [
    ("r", "GET", "settings", None, 200), ("w", "GET", "settings", None, 403), ("w", "PUT", "settings", {"ttl_seconds": 60}, 204),
    ("d", "POST", "truncate", None, 403), ("c", "POST", "truncate", None, 403), ("dw", "POST", "truncate", None, 204)])
def test_account_sas(own, permissions, method, what, body, status):
    endpoint = own.endpoint
    query = signing.account_sas(endpoint.account, endpoint.key, permissions=permissions, types="c")
    expect_ok(ask(own.seen_with(query), method, what, body), status)


def test_table_sas_may_not(own):
    query = signing.table_sas(own.endpoint.account, own.endpoint.key, own.name, permissions="raud")
    for method, what in (("GET", "settings"), ("POST", "truncate")):
        expect_error(ask(own.seen_with(query), method, what), 403, "AuthorizationFailure")
    assert own.rows() == ["1", "2"]


def test_other_methods(own):
    for method, what, allowed in (("GET", "truncate", "POST"), ("PUT", "rename", "POST"), ("POST", "settings", "GET, PUT")):
        answer = ask(own, method, what)
        assert (answer.status, answer.header("Allow")) == (405, allowed)
