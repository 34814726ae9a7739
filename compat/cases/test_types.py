"""Every property type: values sent and returned, at each metadata level."""

import json

import pytest
from tables import JSON_FULL, JSON_NONE, Raw, expect_error, expect_ok

# (name, Edm type sent or None, JSON sent, Edm type answered or None, JSON answered). Numbers are text (`Raw`).
ROUND_TRIPS = [
    ("string", None, '"text"', None, "text"),
    ("string annotated", "Edm.String", '"text"', None, "text"),
    ("string empty", None, '""', None, ""),
    ("string escapes", None, r'"\u00e9\ud83d\ude00\u0000\u001f\"\\\/\n"', None, 'é😀\0\x1f"\\/\n'),
    ("string like a date", None, '"2020-01-01T00:00:00Z"', None, "2020-01-01T00:00:00Z"),
    ("true", None, "true", None, True),
    ("false annotated", "Edm.Boolean", "false", None, False),
    ("int32", None, "123", None, Raw("123")),
    ("int32 annotated", "Edm.Int32", "-5", None, Raw("-5")),
    ("int32 smallest", None, "-2147483648", None, Raw("-2147483648")),
    ("int32 largest", None, "2147483647", None, Raw("2147483647")),
    ("int64", "Edm.Int64", '"123"', "Edm.Int64", "123"),
    ("int64 beyond doubles", "Edm.Int64", '"9007199254740993"', "Edm.Int64", "9007199254740993"),
    ("int64 smallest", "Edm.Int64", '"-9223372036854775808"', "Edm.Int64", "-9223372036854775808"),
    ("int64 largest", "Edm.Int64", '"9223372036854775807"', "Edm.Int64", "9223372036854775807"),
    ("double", None, "1.5", None, Raw("1.5")),
    ("double whole", None, "20.0", None, Raw("20.0")),
    ("double annotated whole", "Edm.Double", "5", None, Raw("5.0")),
    ("double as text", "Edm.Double", '"5"', None, Raw("5.0")),
    ("double NaN", "Edm.Double", '"NaN"', "Edm.Double", "NaN"),
    ("double infinite", "Edm.Double", '"Infinity"', "Edm.Double", "Infinity"),
    ("double minus infinite", "Edm.Double", '"-Infinity"', "Edm.Double", "-Infinity"),
    ("date seconds", "Edm.DateTime", '"2008-07-10T00:00:00Z"', "Edm.DateTime", "2008-07-10T00:00:00Z"),
    ("date ticks", "Edm.DateTime", '"2013-08-02T17:37:43.9004348Z"', "Edm.DateTime", "2013-08-02T17:37:43.9004348Z"),
    ("date trims zeros", "Edm.DateTime", '"1973-10-04T00:00:00.2830000Z"', "Edm.DateTime", "1973-10-04T00:00:00.283Z"),
    ("date without zone", "Edm.DateTime", '"2020-02-29T01:02:03"', "Edm.DateTime", "2020-02-29T01:02:03Z"),
    ("date first", "Edm.DateTime", '"1601-01-01T00:00:00Z"', "Edm.DateTime", "1601-01-01T00:00:00Z"),
    ("date last", "Edm.DateTime", '"9999-12-31T23:59:59.9999999Z"', "Edm.DateTime", "9999-12-31T23:59:59.9999999Z"),
    ("guid", "Edm.Guid", '"c9da6455-213d-42c9-9a79-3e9149a57833"', "Edm.Guid", "c9da6455-213d-42c9-9a79-3e9149a57833"),
    ("guid upper case", "Edm.Guid", '"C9DA6455-213D-42C9-9A79-3E9149A57833"', "Edm.Guid",
     "c9da6455-213d-42c9-9a79-3e9149a57833"),
    ("binary", "Edm.Binary", '"AAECAwQ="', "Edm.Binary", "AAECAwQ="),
    ("binary empty", "Edm.Binary", '""', "Edm.Binary", ""),
]
BY_NAME = [pytest.param(*case[1:], id=case[0]) for case in ROUND_TRIPS]


def member(edm, text, name="P"):
    """A JSON member with its annotation."""
    return (f'"{name}@odata.type": "{edm}", ' if edm else "") + f'"{name}": {text}'


@pytest.mark.parametrize("edm,text,edm_out,value", BY_NAME)
def test_round_trip(table, edm, text, edm_out, value):
    expect_ok(table.insert("p", "r", member(edm, text)), 201)
    found = table.properties("p", "r")
    assert found == {"P": value} | ({"P@odata.type": edm_out} if edm_out else {})
    assert type(found["P"]) is type(value)


@pytest.mark.parametrize("edm,text,edm_out,value", BY_NAME)
def test_insert_answers_what_is_stored(table, edm, text, edm_out, value):
    answer = expect_ok(table.insert("p", "r", member(edm, text)), 201)
    found = answer.json(parse_float=Raw, parse_int=Raw)
    assert found["P"] == value and found.get("P@odata.type") == edm_out


def test_annotation_may_follow(table):
    expect_ok(table.insert("p", "r", '"P": "5", "P@odata.type": "Edm.Int64"'), 201)
    assert table.properties("p", "r") == {"P": "5", "P@odata.type": "Edm.Int64"}


def test_integer_beyond_int32_without_annotation(table):
    # An integer beyond Int32 that has no annotation becomes a Double.
    expect_ok(table.insert("p", "r", '"P": 1099511627776'), 201)
    found = table.properties("p", "r")
    assert "P@odata.type" not in found and float(found["P"]) == 1099511627776 and not found["P"].isdigit()


def test_bare_integer_as_int64(table):
    # Unconfirmed (docs/compat.md): accepted.
    expect_ok(table.insert("p", "r", '"P": 5, "P@odata.type": "Edm.Int64"'), 201)
    assert table.properties("p", "r") == {"P": "5", "P@odata.type": "Edm.Int64"}


@pytest.mark.parametrize("offset,utc", [("+02:00", "10:00:00Z"), ("-03:30", "15:30:00Z")])
def test_date_with_offset_becomes_utc(table, offset, utc):
    # Unconfirmed (docs/compat.md).
    expect_ok(table.insert("p", "r", member("Edm.DateTime", f'"2020-01-01T12:00:00{offset}"')), 201)
    assert table.properties("p", "r")["P"] == "2020-01-01T" + utc


def test_null_is_not_stored(table):
    expect_ok(table.insert("p", "r", '"A": null, "B@odata.type": "Edm.Int64", "B": null, "C": 1'), 201)
    assert table.properties("p", "r") == {"C": "1"}


def test_metadata_of_a_reposted_entity_is_ignored(table):
    # Clients write entities back as they read them, with metadata.
    extra = ('"odata.metadata": "x", "odata.etag": "y", "odata.type": "z", "odata.id": "i", "odata.editLink": "e", '
             '"PartitionKey@odata.type": "Edm.String", "RowKey@odata.type": "Edm.String", '
             '"Timestamp": "2001-01-01T00:00:00Z", "Timestamp@odata.type": "Edm.DateTime", "A": 1')
    answer = expect_ok(table.insert("p", "r", extra), 201)
    assert not answer.json()["Timestamp"].startswith("2001")
    assert table.properties("p", "r") == {"A": "1"}


def test_order_of_members(table):
    expect_ok(table.insert("p", "r", '"z": 1, "a": 2, "m": 3'), 201)
    names = [name for name in table.get("p", "r").json() if not name.startswith("odata")]
    assert names == ["PartitionKey", "RowKey", "Timestamp", "z", "a", "m"]


def test_levels_of_metadata(table):
    etag = table.add("p q", "r", json.loads('{"S": "s", "L": "5", "L@odata.type": "Edm.Int64", "D": 2.0}'))
    base, name = table.endpoint.base, table.name
    minimal = table.get("p q", "r").json(parse_float=Raw)
    stamp = minimal.pop("Timestamp")
    common = {"PartitionKey": "p q", "RowKey": "r", "S": "s", "L": "5", "D": "2.0"}
    assert minimal == common | {"odata.metadata": f"{base}/$metadata#{name}/@Element", "odata.etag": etag,
                                "L@odata.type": "Edm.Int64"}
    full = table.get("p q", "r", JSON_FULL).json(parse_float=Raw)
    assert full == minimal | {
        "Timestamp": stamp, "Timestamp@odata.type": "Edm.DateTime", "odata.type": f"{table.endpoint.account}.{name}",
        "odata.id": f"{base}/{name}(PartitionKey='p%20q',RowKey='r')",
        "odata.editLink": f"{name}(PartitionKey='p%20q',RowKey='r')"}
    answer = table.get("p q", "r", JSON_NONE)
    assert answer.json(parse_float=Raw) == common | {"Timestamp": stamp}
    assert answer.header("ETag") == etag


def test_levels_of_metadata_in_queries(table):
    table.add("p", "r", {"L": "5", "L@odata.type": "Edm.Int64"})
    base, name = table.endpoint.base, table.name
    minimal = table.query().json()
    assert minimal["odata.metadata"] == f"{base}/$metadata#{name}"
    assert set(minimal["value"][0]) == {"odata.etag", "PartitionKey", "RowKey", "Timestamp", "L", "L@odata.type"}
    full = table.query(accept=JSON_FULL).json()
    assert full["value"][0]["odata.editLink"] == f"{name}(PartitionKey='p',RowKey='r')"
    assert set(table.query(accept=JSON_NONE).json()) == {"value"}
    assert set(table.query(accept=JSON_NONE).json()["value"][0]) == {"PartitionKey", "RowKey", "Timestamp", "L"}


def test_etag_is_the_timestamp(table):
    etag = table.add("p", "r")
    stamp = table.get("p", "r").json()["Timestamp"]
    assert etag == "W/\"datetime'" + stamp.replace(":", "%3A") + "'\""


# Invalid members: (id, JSON members, accepted error codes).
REFUSED = [
    ("guid", '"P": "not-a-guid", "P@odata.type": "Edm.Guid"', {"InvalidInput"}),
    ("guid short", '"P": "c9da6455-213d-42c9-9a79", "P@odata.type": "Edm.Guid"', {"InvalidInput"}),
    ("int64 text", '"P": "12x", "P@odata.type": "Edm.Int64"', {"InvalidInput"}),
    ("int64 too large", '"P": "9223372036854775808", "P@odata.type": "Edm.Int64"', {"InvalidInput"}),
    ("int64 fraction", '"P": "1.5", "P@odata.type": "Edm.Int64"', {"InvalidInput"}),
    ("int32 fraction", '"P": 1.5, "P@odata.type": "Edm.Int32"', {"InvalidInput"}),
    ("int32 too large", '"P": 2147483648, "P@odata.type": "Edm.Int32"', {"InvalidInput"}),
    ("double overflow", '"P": "1e999", "P@odata.type": "Edm.Double"', {"InvalidInput"}),
    ("double text", '"P": "many", "P@odata.type": "Edm.Double"', {"InvalidInput"}),
    ("boolean text", '"P": "yes", "P@odata.type": "Edm.Boolean"', {"InvalidInput"}),
    ("binary", '"P": "&&&", "P@odata.type": "Edm.Binary"', {"InvalidInput"}),
    ("date", '"P": "someday", "P@odata.type": "Edm.DateTime"', {"InvalidInput"}),
    ("date 30 February", '"P": "2020-02-30T00:00:00Z", "P@odata.type": "Edm.DateTime"', {"InvalidInput"}),
    ("date before 1601", '"P": "1600-12-31T23:59:59Z", "P@odata.type": "Edm.DateTime"', {"OutOfRangeInput"}),
    ("other type", '"P": 1, "P@odata.type": "Edm.Decimal"', {"InvalidInput", "InvalidValueType"}),
    ("object", '"P": {"a": 1}', {"InvalidInput", "InvalidValueType"}),
    ("array", '"P": [1]', {"InvalidInput", "InvalidValueType"}),
    ("no JSON", '"P": tru', {"InvalidInput"}),
    ("NaN bare", '"P": NaN', {"InvalidInput"}),
    ("twice", '"P": 1, "P": 2', {"DuplicatePropertiesSpecified"}),
]


@pytest.mark.parametrize("text,codes", [pytest.param(*case[1:], id=case[0]) for case in REFUSED])
def test_refused_and_nothing_stored(table, text, codes):
    answer = table.insert("p", "r", text)
    assert answer.status == 400 and answer.code in codes, answer
    assert table.keys() == []
    table.add("p", "r", {"Kept": 1})
    for method in ("PUT", "MERGE"):
        answer = table.write(method, "p", "r", "{" + text + "}")
        assert answer.status == 400 and answer.code in codes, answer
    assert table.properties("p", "r") == {"Kept": "1"}


def test_every_type_in_one_entity(table):
    text = ", ".join(member(edm, sent, f"P{index}") for index, (_, edm, sent, _, _) in enumerate(ROUND_TRIPS))
    expect_ok(table.insert("p", "r", text), 201)
    found = table.properties("p", "r")
    for index, (_, _, _, edm_out, value) in enumerate(ROUND_TRIPS):
        assert found[f"P{index}"] == value and found.get(f"P{index}@odata.type") == edm_out


def test_byte_order_mark_before_a_body(table):
    expect_ok(table.send("POST", "/" + table.name, None, '\ufeff{"PartitionKey": "p", "RowKey": "r"}'), 201)


def test_keys_must_be_there(table):
    for body in ('{"RowKey": "r"}', '{"PartitionKey": "p"}', '{"PartitionKey": null, "RowKey": "r"}'):
        answer = table.send("POST", "/" + table.name, None, body)
        expect_error(answer, 400, "PropertiesNeedValue")
