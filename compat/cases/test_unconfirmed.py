"""Unconfirmed points of docs/compat.md that no other file tests: the choices that Partita made."""

import pytest
from driver import signing
from tables import JSON_MINIMAL, expect_error, expect_ok, key_path


@pytest.mark.parametrize("path", ["/", "/$metadata", ""])
def test_no_service_document(endpoint, path):
    answer = endpoint.send("GET", path)
    assert answer.status in (400, 404, 405, 501) and answer.code, answer


@pytest.mark.parametrize("literal,wanted", [("NaN", []), ("INF", ["inf"]), ("-INF", ["minus"])])
def test_literals_of_no_number(table, literal, wanted):
    for name, value in (("inf", "Infinity"), ("minus", "-Infinity"), ("nan", "NaN")):
        table.add("p", name, {"D": value, "D@odata.type": "Edm.Double"})
    assert table.rows(f"D eq {literal}") == wanted


def test_small_l_of_int64(table):
    table.add("p", "r", {"L": "5", "L@odata.type": "Edm.Int64"})
    assert table.rows("L eq 5l") == ["r"]


def test_empty_if_match(table):
    etag = table.add("p", "r", {"A": 1})
    answer = table.write("PUT", "p", "r", {"A": 2}, {"If-Match": ""})
    assert answer.status in (400, 412), answer
    assert table.get("p", "r").header("ETag") == etag


def test_case_of_names_in_table_filters(table):
    # The comparison is ordinal: with the name as it was given when the table was created.
    path = signing.with_query("/Tables", [("$filter", f"TableName eq '{table.name.upper()}'")])
    assert table.send("GET", path).json()["value"] == []


def test_filter_on_a_point_is_ignored(table):
    table.add("p", "r", {"A": 1})
    assert expect_ok(table.get("p", "r", query=[("$filter", "A eq 2")]), 200).json()["A"] == 1


def test_verb_that_is_refused_names_others(table):
    answer = table.send("PUT", "/Tables", None, "{}")
    expect_error(answer, 405, "MethodNotAllowed")
    assert "GET" in (answer.header("Allow") or ""), answer


def test_order_of_guids(table):
    # As .NET compares: the first three groups as numbers, then byte by byte.
    guids = ["00000000-0000-0000-0000-000000000001", "00000001-0000-0000-0000-000000000000",
             "7fffffff-0000-0000-0000-000000000000", "80000000-0000-0000-0000-000000000000"]
    for index, guid in enumerate(guids):
        table.add("p", str(index), {"G": guid, "G@odata.type": "Edm.Guid"})
    for index, guid in enumerate(guids):
        assert table.rows(f"G lt guid'{guid}'") == [str(number) for number in range(index)]


def test_one_table_by_sas_is_a_query_of_tables(table):
    endpoint = table.endpoint
    listing = signing.account_sas(endpoint.account, endpoint.key, permissions="l", types="s")
    expect_ok(table.seen_with(listing).send("GET", f"/Tables('{table.name}')"), 200)


def test_shared_key_wins_over_a_signature_in_the_query(table):
    expect_ok(table.send("GET", f"/{table.name}()?sig=nonsense&sv=2019-02-02&sp=r&se=2001-01-01&tn=other"), 200)


@pytest.mark.parametrize("seconds", ["1", "30", "3600"])
def test_timeout_is_accepted(table, seconds):
    expect_ok(table.send("GET", f"/{table.name}()?timeout={seconds}"), 200)


@pytest.mark.parametrize("seconds,code", [
    ("0", "OutOfRangeQueryParameterValue"), ("-1", "InvalidQueryParameterValue"), ("soon", "InvalidQueryParameterValue")])
def test_timeout_that_cannot_be(table, seconds, code):
    expect_error(table.send("GET", f"/{table.name}()?timeout={seconds}"), 400, code)


def test_unknown_parameters_are_ignored(table):
    expect_ok(table.send("GET", f"/{table.name}()?fresh=1&other"), 200)


def test_deleting_twice_is_quiet_about_the_past(table):
    table.add("p", "r")
    table.delete("p", "r")
    assert table.write("PUT", "p", "r", {"A": 1}).status == 204
    assert table.properties("p", "r") == {"A": "1"}


def test_doubles_read_back_exactly(table):
    for index, text in enumerate(["0.1", "1e-320", "1.7976931348623157e308", "5e-324", "123456789012345680", "-0.0"]):
        row = str(index)
        expect_ok(table.insert("p", row, f'"D@odata.type": "Edm.Double", "D": {text}'), 201)
        assert float(table.properties("p", row)["D"]) == float(text), text


def test_date_in_a_batch_part_is_not_checked(table):
    # The server checks the date of the outer request only.
    operation = ("PUT", key_path(table.name, "p", "r"),
                 {"Content-Type": "application/json", "Accept": JSON_MINIMAL, "x-ms-date": "Tue, 02 Jan 2001 03:04:05 GMT"}, "{}")
    assert [answer.status for answer in table.changes([operation])] == [204]
