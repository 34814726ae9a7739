"""Pages and continuation tokens, `$top` and `$select`."""

import base64
import json

import pytest
from tables import JSON_NONE, continuation, expect_error, expect_ok
from driver.signing import with_query


def fill(table, keys):
    """Inserts entities in batches."""
    for partition in dict.fromkeys(key[0] for key in keys):
        rows = [row for owner, row in keys if owner == partition]
        for start in range(0, len(rows), 100):
            operations = [table.op_insert(partition, row, {"N": start}, Prefer="return-no-content")
                          for row in rows[start:start + 100]]
            assert {answer.status for answer in table.changes(operations)} == {204}


@pytest.mark.parametrize("top", [1, 2, 3, 7, 20, 21])
def test_each_row_once(table, top):
    keys = [(partition, f"{row:02}") for partition in "abcd" for row in range(5)]
    fill(table, keys)
    assert table.keys(top=top) == keys
    assert table.keys("RowKey ge '03'", top=top) == [key for key in keys if key[1] >= "03"]
    assert table.keys("PartitionKey eq 'b'", top=top) == [key for key in keys if key[0] == "b"]


def test_page_ends_without_token_when_nothing_is_left(table):
    fill(table, [("p", str(row)) for row in range(4)])
    assert continuation(table.query(top=4)) == {}
    assert continuation(table.query(top=3)).keys() >= {"NextPartitionKey"}
    assert continuation(table.query()) == {}


def test_thousand_is_a_page(table):
    keys = [("p", f"{row:04}") for row in range(1001)]
    fill(table, keys)
    first = expect_ok(table.query(accept=JSON_NONE), 200)
    assert len(first.json()["value"]) == 1000
    second = table.query(accept=JSON_NONE, **continuation(first))
    assert [row["RowKey"] for row in second.json()["value"]] == ["1000"] and continuation(second) == {}
    assert table.keys(top=1000) == keys
    table.delete("p", "1000")
    assert continuation(table.query()) == {}


def test_token_form(table):
    # As recorded: 1!<length>!<base64 with - for =>
    fill(table, [("pk801016e8", "a"), ("pk801016e8", "b")])
    token = continuation(table.query(top=1))
    for name, key in (("NextPartitionKey", "pk801016e8"), ("NextRowKey", "b")):
        one, length, text = token[name].split("!")
        assert one == "1" and int(length) == len(text)
        assert base64.b64decode(text.replace("-", "=").replace("*", "+").replace("_", "/")).decode() == key


def test_token_outlives_its_row(table):
    fill(table, [("p", row) for row in "abcd"])
    token = continuation(table.query(top=2))
    table.delete("p", "c")
    answer = table.query(**token)
    assert [row["RowKey"] for row in answer.json()["value"]] == ["d"]


def test_token_sees_rows_added_behind_it(table):
    fill(table, [("p", row) for row in "adf"])
    token = continuation(table.query(top=1))
    table.add("p", "e")
    table.add("p", "b")
    rows = [row["RowKey"] for row in table.query(**token).json()["value"]]
    assert rows == ["d", "e", "f"]


def test_token_may_be_sent_bare(table):
    # As captured, the JavaScript client sends `1!8!…` unescaped.
    fill(table, [("p", row) for row in "ab"])
    token = continuation(table.query(top=1))
    path = f"/{table.name}()?" + "&".join(f"{name}={value}" for name, value in token.items())
    assert [row["RowKey"] for row in table.send("GET", path).json()["value"]] == ["b"]


def test_token_of_a_partition_alone(table):
    fill(table, [(partition, row) for partition in "ab" for row in "12"])
    token = continuation(table.query(top=2))
    token.pop("NextRowKey", None)
    rows = [(row["PartitionKey"], row["RowKey"]) for row in table.query(**token).json()["value"]]
    assert rows == [("b", "1"), ("b", "2")]


@pytest.mark.parametrize("key", ["", "é😀", "it's", "a b+c%", "\u0416" * 512])
def test_token_of_any_key(table, key):
    fill(table, [(key, key), (key, key[:-1] + "\uffff" if key else "z")])
    assert len(table.keys(top=1)) == 2


@pytest.mark.parametrize("token", ["x", "1!4!abc", "1!8!!!!!!!!!", "1!4!____", "9!4!YWJj", "1!-1!YWJj"])
def test_token_without_sense(table, token):
    # Unconfirmed (docs/compat.md).
    table.add("p", "r")
    answer = table.send("GET", with_query(f"/{table.name}()", [("NextPartitionKey", token)]))
    expect_error(answer, 400, "InvalidInput")


def test_top_zero(table):
    table.add("p", "r")
    assert expect_ok(table.query(top=0), 200).json()["value"] == []


@pytest.mark.parametrize("top", ["-1", "1001", "many", "1.5", ""])
def test_top_without_sense(table, top):
    expect_error(table.query(top=top), 400, "InvalidInput")


def test_select(table):
    table.add("p", "r", {"A": 1, "B": "b", "C": 2.5})
    base, name = table.endpoint.base, table.name
    found = table.query(select="A,C").json()
    assert found["odata.metadata"] == f"{base}/$metadata#{name}&$select=A,C"
    assert set(found["value"][0]) == {"odata.etag", "A", "C"}
    one = table.get("p", "r", query=[("$select", "B")]).json()
    assert one["odata.metadata"] == f"{base}/$metadata#{name}/@Element&$select=B"
    assert set(one) == {"odata.metadata", "odata.etag", "B"}


def test_select_of_what_is_missing_is_null(table):
    # As in recording cosmosdbpython--test_table_entity_test_get_entity_with_select.
    table.add("p", "r", {"A": 1})
    row = table.query(select="A,xyz", accept=JSON_NONE).json()["value"][0]
    assert row == {"A": 1, "xyz": None}


@pytest.mark.parametrize("select", ["A , PartitionKey", " A,PartitionKey", "PartitionKey,A"])
def test_select_with_blanks(table, select):
    table.add("p", "r", {"A": 1, "B": 2})
    assert table.query(select=select, accept=JSON_NONE).json()["value"] == [{"A": 1, "PartitionKey": "p"}]


@pytest.mark.parametrize("select", ["", " "])
def test_select_of_nothing_is_everything(table, select):
    table.add("p", "r", {"A": 1})
    row = table.query(select=select, accept=JSON_NONE).json()["value"][0]
    assert set(row) == {"PartitionKey", "RowKey", "Timestamp", "A"}


def test_select_of_a_name_that_no_property_has(table):
    expect_ok(table.query(select="a" * 255), 200)
    expect_error(table.query(select="a" * 256), 400, "PropertyNameTooLong")


def test_select_star(table):
    # Unconfirmed (docs/compat.md).
    table.add("p", "r", {"A": 1})
    assert set(table.query(select="*", accept=JSON_NONE).json()["value"][0]) == {
        "PartitionKey", "RowKey", "Timestamp", "A"}


def test_select_of_too_many(table):
    table.add("p", "r", {"A": 1})
    names = ",".join(f"N{index}" for index in range(255))
    assert len(expect_ok(table.query(select=names, accept=JSON_NONE), 200).json()["value"][0]) == 255
    expect_error(table.query(select=names + ",A"), 400, "InvalidInput")


def test_select_does_not_change_filter_and_pages(table):
    for row in "abc":
        table.add("p", row, {"N": ord(row), "M": row})
    first = table.query("N ge 98", select="M", top=1, accept=JSON_NONE)
    assert first.json()["value"] == [{"M": "b"}]
    second = table.query("N ge 98", select="M", top=1, accept=JSON_NONE, **continuation(first))
    assert second.json()["value"] == [{"M": "c"}] and continuation(second) == {}


def test_select_keeps_types(table):
    table.add("p", "r", {"L": "9007199254740993", "L@odata.type": "Edm.Int64"})
    row = table.query(select="L").json()["value"][0]
    assert row["L@odata.type"] == "Edm.Int64" and row["L"] == "9007199254740993"


def test_large_page_is_whole(table):
    body = json.dumps({"Text": "é" * 20000})[1:-1]
    for row in range(60):
        expect_ok(table.insert("p", f"{row:02}", body, {"Prefer": "return-no-content"}), 204)
    assert len(table.keys()) == 60
