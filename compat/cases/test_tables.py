"""Query, create, get and delete tables."""

import json

import pytest
from tables import JSON_FULL, JSON_NONE, Table, expect_error, expect_ok
from driver.signing import with_query


def create(endpoint, name, **headers):
    """POST /Tables."""
    fields = {"Content-Type": "application/json", "Accept": "application/json"} | headers
    return endpoint.send("POST", "/Tables", fields, json.dumps({"TableName": name}))


def names_of(endpoint, filter_text, **options):
    """Names of the tables that match, over all pages."""
    found, token = [], None
    while True:
        pairs = [("$filter", filter_text)] + [("$" + name, str(value)) for name, value in options.items()]
        pairs += [("NextTableName", token)] if token else []
        answer = expect_ok(endpoint.send("GET", with_query("/Tables", pairs), {"Accept": JSON_NONE}), 200)
        found += [table["TableName"] for table in answer.json()["value"]]
        token = answer.header("x-ms-continuation-NextTableName")
        if not token:
            return found


def test_create_answers(endpoint, new_name):
    name = new_name()
    answer = expect_ok(create(endpoint, name), 201)
    assert answer.header("Location") == f"{endpoint.base}/Tables('{name}')"
    assert answer.json() == {"odata.metadata": f"{endpoint.base}/$metadata#Tables/@Element", "TableName": name}
    other = new_name()
    answer = expect_ok(create(endpoint, other, Prefer="return-no-content"), 204)
    assert answer.header("Location") == answer.header("DataServiceId") == f"{endpoint.base}/Tables('{other}')"
    assert answer.body == b""


def test_create_in_full_metadata(endpoint, new_name):
    # As in recording gostorage--StorageTableSuite_Test_CreateAndDeleteTable.
    name = new_name()
    answer = expect_ok(create(endpoint, name, Accept=JSON_FULL), 201)
    assert answer.json() == {
        "odata.metadata": f"{endpoint.base}/$metadata#Tables/@Element", "odata.type": f"{endpoint.account}.Tables",
        "odata.id": f"{endpoint.base}/Tables('{name}')", "odata.editLink": f"Tables('{name}')", "TableName": name}


def test_name_is_taken_whatever_its_case(table):
    expect_error(create(table.endpoint, table.name.upper()), 409, "TableAlreadyExists")


def test_table_answers_to_any_case(table):
    other = Table(table.endpoint, table.name.upper())
    other.add("p", "r")
    assert table.rows() == ["r"]


@pytest.mark.parametrize("name,code", [
    ("a-b", "InvalidResourceName"), ("1abc", "InvalidResourceName"), ("a_b", "InvalidResourceName"),
    ("ab", "OutOfRangeInput"), ("a" * 64, "OutOfRangeInput"), ("täble", "InvalidResourceName"),
    ("tables", "InvalidInput"), ("Tables", "InvalidInput")])
def test_names_that_are_refused(endpoint, name, code):
    expect_error(create(endpoint, name), 400, code)
    assert name not in endpoint.list_tables()


@pytest.mark.parametrize("body", ["", "{", "[]", '{"TableName": 5}', "{}", '{"TableName": null}'])
def test_bodies_that_are_refused(endpoint, body):
    answer = endpoint.send("POST", "/Tables", {"Content-Type": "application/json", "Accept": "application/json"}, body)
    assert answer.status == 400 and answer.code, answer


def test_name_lengths_at_the_edge(endpoint, new_name):
    long = new_name("x" * 40)[:63].ljust(63, "y")
    for name in (long, "zq" + new_name("")[-1]):
        expect_ok(create(endpoint, name), 201)
        expect_ok(Table(endpoint, name).drop(), 204)


def test_get_one(table):
    # As recorded: 200 with metadata and the name; without metadata only the name; 404 ResourceNotFound.
    path = f"/Tables('{table.name}')"
    answer = expect_ok(table.send("GET", path), 200)
    metadata = f"{table.endpoint.base}/$metadata#Tables/@Element"
    assert answer.json() == {"odata.metadata": metadata, "TableName": table.name}
    assert table.send("GET", path, {"Accept": JSON_NONE}).json() == {"TableName": table.name}
    expect_error(table.send("GET", "/Tables('nosuchtable')"), 404, "ResourceNotFound")


def test_delete(endpoint, new_name):
    table = Table(endpoint, new_name())
    table.create()
    table.add("p", "r")
    expect_ok(table.drop(), 204)
    expect_error(table.drop(), 404, "ResourceNotFound")
    expect_error(table.query(), 404, "TableNotFound")
    expect_error(table.get("p", "r"), 404, "TableNotFound")
    expect_error(table.insert("p", "r"), 404, "TableNotFound")


def test_deleted_table_comes_back_empty(endpoint, new_name):
    # A known difference (docs/compat.md): the name is free at once. The service answers TableBeingDeleted for a while.
    table = Table(endpoint, new_name())
    table.create()
    for row in range(20):
        table.add("p", str(row))
    table.drop()
    table.create()
    assert table.keys() == []
    table.add("p", "new")
    assert table.rows() == ["new"]
    table.drop()


@pytest.mark.parametrize("name", ["no-such", "1", "x" * 80])
def test_delete_of_an_impossible_name(endpoint, name):
    expect_error(endpoint.send("DELETE", f"/Tables('{name}')", {"Accept": "application/json"}), 404, "ResourceNotFound")


def test_filter_by_name(endpoint, new_name):
    stem = new_name("Filter")
    names = [stem + end for end in ("a", "b", "c")]
    for name in names:
        expect_ok(create(endpoint, name), 201)
    assert names_of(endpoint, f"TableName eq '{names[1]}'") == [names[1]]
    assert names_of(endpoint, f"TableName ge '{stem}' and TableName lt '{stem}c'") == names[:2]
    assert names_of(endpoint, f"TableName ge '{stem}' and TableName le '{stem}{{'") == names
    assert names_of(endpoint, f"not (TableName eq '{names[0]}') and TableName ge '{stem}'  and TableName lt '{stem}z'",
                    top=1) == names[1:]


def test_functions_in_a_table_filter(endpoint):
    answer = endpoint.send("GET", with_query("/Tables", [("$filter", "startswith(TableName,'a')")]), {"Accept": JSON_NONE})
    expect_error(answer, 501, "NotImplemented")


def test_list_orders_by_name_without_case(second, new_name):
    # As in recording js--tableserviceclient_listtables_should_list_by_page.
    stem = new_name("order")
    names = [stem + "B", stem + "a", stem + "C", stem + "d"]
    for name in names:
        expect_ok(create(second, name), 201)
    ours = [name for name in second.list_tables() if name.startswith(stem)]
    assert ours == sorted(names, key=str.lower)
    paged = names_of(second, f"TableName ge '{stem}' and TableName lt '{stem}z'", top=1)
    assert paged == sorted(names, key=str.lower)
    second.wipe()


@pytest.mark.parametrize("encode", [True, False])
def test_token_of_a_table_that_is_gone(second, new_name, encode):
    # As in recording js--tableserviceclient_listtables_should_list_a_specific_page_with_continuationtoken.
    second.wipe()
    names = [new_name() for _ in range(4)]
    for name in names:
        expect_ok(create(second, name), 201)
    page = second.send("GET", "/Tables?$top=2", {"Accept": JSON_NONE})
    token = page.header("x-ms-continuation-NextTableName")
    assert token.startswith("1!")
    Table(second, names[2]).drop()
    path = with_query("/Tables", [("NextTableName", token)]) if encode else f"/Tables?NextTableName={token}"
    rest = second.send("GET", path, {"Accept": JSON_NONE})
    assert [table["TableName"] for table in rest.json()["value"]] == names[3:]
    second.wipe()


def test_accounts_do_not_see_each_other(table, second):
    assert table.name not in second.list_tables()
    expect_error(Table(second, table.name).query(), 404, "TableNotFound")


def test_a_list_of_none_ends_at_once(table):
    answer = table.send("GET", "/Tables?$top=0", {"Accept": JSON_NONE})
    assert expect_ok(answer, 200).json()["value"] == []
    assert answer.header("x-ms-continuation-NextTableName") is None
