"""Shared access signatures: permissions, key ranges, stored policies, and requests that must be refused."""

import pytest
from driver import signing
from tables import JSON_MINIMAL, Table, expect_error, expect_ok, key_path


def account_sas(table, permissions, types="sco", **options):
    """The table, accessed with an account SAS."""
    endpoint = table.endpoint
    return table.seen_with(signing.account_sas(endpoint.account, endpoint.key, permissions=permissions, types=types,
                                               **options))


def table_sas(table, permissions="", **options):
    """The table, accessed with a table SAS."""
    endpoint = table.endpoint
    return table.seen_with(signing.table_sas(endpoint.account, endpoint.key, table.name, permissions=permissions,
                                             **options))


OPERATIONS = {
    "list tables": (lambda t: t.send("GET", "/Tables"), "s", "l", 200),
    "create table": (lambda t: t.send("POST", "/Tables", None, '{"TableName": "%sx"}' % t.name), "c", "c", 201),
    "create table by w": (lambda t: t.send("POST", "/Tables", None, '{"TableName": "%sx"}' % t.name), "c", "w", 201),
    "delete table": (lambda t: t.drop(), "c", "d", 204),
    "query": (lambda t: t.query(), "o", "r", 200),
    "get": (lambda t: t.get("p", "r"), "o", "r", 200),
    "insert": (lambda t: t.insert("p", "new"), "o", "a", 201),
    "replace": (lambda t: t.write("PUT", "p", "r", {}, {"If-Match": "*"}), "o", "u", 204),
    "merge": (lambda t: t.write("MERGE", "p", "r", {}, {"If-Match": "*"}), "o", "u", 204),
    "upsert": (lambda t: t.write("PUT", "p", "r", {}), "o", "au", 204),
    "delete": (lambda t: t.delete("p", "r"), "o", "d", 204),
    "get properties": (lambda t: t.send("GET", "/?restype=service&comp=properties"), "s", "r", 200),
    "batch": (lambda t: t.batch([t.op_insert("p", "b1"), t.op_insert("p", "b2")]), "o", "a", 202),
}


@pytest.fixture
def filled(table):
    """A table with one row."""
    table.add("p", "r", {"A": 1})
    yield table
    Table(table.endpoint, table.name + "x").drop()


@pytest.mark.parametrize("name", OPERATIONS)
def test_account_sas_permits(filled, name):
    operation, types, permissions, status = OPERATIONS[name]
    expect_ok(operation(account_sas(filled, permissions, types)), status)


@pytest.mark.parametrize("name", OPERATIONS)
def test_account_sas_of_other_permissions(filled, name):
    operation, types, permissions, _ = OPERATIONS[name]
    others = "".join(letter for letter in "rwdlau" if letter not in permissions)
    if types == "c":
        others = others.replace("w", "").replace("c", "")
    refused(operation(account_sas(filled, others, types)), "AuthorizationPermissionMismatch")
    assert filled.rows() == ["r"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_account_sas_of_other_resource_types(filled, name):
    operation, types, permissions, _ = OPERATIONS[name]
    others = "sco".replace(types, "")
    refused(operation(account_sas(filled, permissions, others)), "AuthorizationResourceTypeMismatch")
    assert filled.rows() == ["r"]


def refused(answer, code):
    """Asserts 403 with this code. If a batch was accepted (202), its only inner answer must be that error."""
    if answer.status == 202:
        from driver.multipart import inner_answers
        [answer] = inner_answers(answer)
    expect_error(answer, 403, code)


def test_account_sas_never_reaches_the_acl(filled):
    seen = account_sas(filled, "rwdlacu")
    refused(seen.send("GET", f"/{filled.name}?comp=acl"), "AuthorizationFailure")


@pytest.mark.parametrize("version", ["2015-04-05", "2019-02-02", "2020-12-06", "2026-10-06"])
def test_account_sas_versions(filled, version):
    expect_ok(account_sas(filled, "r", version=version).query(), 200)


@pytest.mark.parametrize("version", ["2012-02-12", "2013-08-15", "2015-02-21", "2015-04-05", "2019-02-02", "2020-12-06",
                                     "2026-10-06"])
def test_table_sas_versions(filled, version):
    expect_ok(table_sas(filled, "r", version=version).query(), 200)


def test_letters_in_any_order(filled):
    # As captured, the Python client sends `rla`.
    expect_ok(account_sas(filled, "rla").send("GET", "/Tables"), 200)


@pytest.mark.parametrize("make", [account_sas, table_sas])
@pytest.mark.parametrize("options,code", [
    ({"expiry": signing.iso_time(-60)}, "AuthenticationFailed"),
    ({"start": signing.iso_time(600)}, "AuthenticationFailed"),
    ({"ip": "10.1.2.3"}, "AuthorizationSourceIPMismatch"),
    ({"ip": "10.1.2.3-10.1.2.9"}, "AuthorizationSourceIPMismatch"),
    ({"protocol": "https"}, "AuthorizationProtocolMismatch")])
def test_conditions_that_fail(filled, make, options, code):
    refused(make(filled, "r", **options).query(), code)


@pytest.mark.parametrize("make", [account_sas, table_sas])
@pytest.mark.parametrize("options", [
    {"start": signing.iso_time(-600)}, {"ip": "127.0.0.1"}, {"ip": "127.0.0.0-127.0.0.255"}, {"protocol": "https,http"},
    {"expiry": "2040-01-01"}, {"expiry": "2040-01-01T00:00Z"}, {"expiry": "2040-01-01T00:00:00.0000000Z"}])
def test_conditions_that_hold(filled, make, options):
    expect_ok(make(filled, "r", **options).query(), 200)


def test_wrong_service(filled):
    refused(account_sas(filled, "r", services="bq").query(), "AuthorizationServiceMismatch")


@pytest.mark.parametrize("make", [account_sas, table_sas])
def test_every_parameter_is_signed(filled, make):
    good = make(filled, "r", start=signing.iso_time(-600), protocol="https,http", ip="127.0.0.1").query_pairs
    changes = {"sp": "raud", "se": "2039-01-01T00:00:00Z", "st": "2001-01-01T00:00:00Z", "sip": "127.0.0.0-127.0.0.9",
               "spr": "https,http,", "srt": "s", "ss": "tq", "tn": "othertable", "sig": "AAAA"}
    for name, value in changes.items():
        if name in dict(good):
            pairs = [(key, value if key == name else old) for key, old in good]
            refused(filled.seen_with(pairs).query(), "AuthenticationFailed")
        for dropped in ("sp", "se", "sig"):
            pairs = [(key, old) for key, old in good if key != dropped]
            answer = filled.seen_with(pairs).query()
            assert answer.status in (401, 403), answer


TABLE_LETTERS = {name: OPERATIONS[name] for name in ("query", "get", "insert", "replace", "merge", "upsert", "delete",
                                                     "batch")}


@pytest.mark.parametrize("name", TABLE_LETTERS)
def test_table_sas(filled, name):
    operation, _, permissions, status = TABLE_LETTERS[name]
    others = "".join(letter for letter in "raud" if letter not in permissions)
    refused(operation(table_sas(filled, others)), "AuthorizationPermissionMismatch")
    assert filled.rows() == ["r"]
    expect_ok(operation(table_sas(filled, permissions)), status)


def test_upsert_needs_both(filled):
    for letter in "au":
        refused(table_sas(filled, letter).write("PUT", "p", "r", {}), "AuthorizationPermissionMismatch")


@pytest.mark.parametrize("name", ["list tables", "create table", "delete table", "get properties"])
def test_table_sas_is_for_its_entities_alone(filled, name):
    answer = OPERATIONS[name][0](table_sas(filled, "raud"))
    assert answer.status == 403 and answer.code, answer


def test_table_sas_of_another_table(filled, endpoint, new_name):
    other = Table(endpoint, new_name())
    other.create()
    seen = Table(endpoint, filled.name, table_sas(other, "raud").query_pairs, auth=None)
    refused(seen.query(), "AuthenticationFailed")
    refused(seen.batch([seen.op_insert("p", "b")]), "AuthenticationFailed")
    assert filled.rows() == ["r"]
    other.drop()


def test_table_name_in_any_case(filled):
    sas = signing.table_sas(filled.endpoint.account, filled.endpoint.key, filled.name.upper(), permissions="r")
    expect_ok(filled.seen_with(sas).query(), 200)


GRID = [(partition, row) for partition in "abcd" for row in "123"]
RANGES = {
    "from a partition": (("b", ""), ("", ""), lambda p, r: p >= "b"),
    "to a partition": (("", ""), ("b", ""), lambda p, r: p <= "b"),
    "from a row": (("b", "2"), ("", ""), lambda p, r: (p, r) >= ("b", "2")),
    "to a row": (("", ""), ("c", "1"), lambda p, r: (p, r) <= ("c", "1")),
    "between rows": (("b", "2"), ("c", "2"), lambda p, r: ("b", "2") <= (p, r) <= ("c", "2")),
    "one row": (("b", "2"), ("b", "2"), lambda p, r: (p, r) == ("b", "2")),
    "nothing": (("d", "9"), ("e", ""), lambda p, r: False),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges(table, name):
    first, last, inside = RANGES[name]
    for key in GRID:
        table.add(*key, {"A": 1})
    seen = table_sas(table, "raud", first=first, last=last)
    wanted = [key for key in GRID if inside(*key)]
    assert seen.keys() == wanted
    assert seen.keys(top=1) == wanted
    assert seen.keys("PartitionKey eq 'b'") == [key for key in wanted if key[0] == "b"]
    for key in GRID:
        read, write = seen.get(*key), seen.write("MERGE", *key, {"B": 1}, {"If-Match": "*"})
        if inside(*key):
            assert (read.status, write.status) == (200, 204)
        else:
            assert read.status in (403, 404), read
            expect_error(write, 403, "AuthorizationFailure")
    assert [row["PartitionKey"] for row in table.query("B eq 1").json()["value"]] == [key[0] for key in wanted]


def test_ranges_hold_in_batches_and_inserts(table):
    seen = table_sas(table, "raud", first=("p", "b"), last=("p", "d"))
    refused(seen.insert("p", "e"), "AuthorizationFailure")
    expect_ok(seen.insert("p", "c"), 201)
    refused(seen.batch([seen.op_insert("p", "b"), seen.op_insert("p", "z")]), "AuthorizationFailure")
    assert table.rows() == ["c"]


def put_policy(table, text):
    """Sets the table's only stored policy, `mine`."""
    xml = f"<SignedIdentifiers><SignedIdentifier><Id>mine</Id>{text}</SignedIdentifier></SignedIdentifiers>"
    expect_ok(table.endpoint.send("PUT", f"/{table.name}?comp=acl", {"Content-Type": "application/xml"}, xml), 204)


def policy(start="2020-01-01T00:00:00Z", expiry="2040-01-01T00:00:00Z", permission="r"):
    """An access policy's XML."""
    parts = [("Start", start), ("Expiry", expiry), ("Permission", permission)]
    return "<AccessPolicy>" + "".join(f"<{tag}>{value}</{tag}>" for tag, value in parts if value) + "</AccessPolicy>"


def test_stored_policy(filled):
    put_policy(filled, policy())
    seen = table_sas(filled, policy="mine")
    expect_ok(seen.query(), 200)
    refused(seen.insert("p", "new"), "AuthorizationPermissionMismatch")
    put_policy(filled, policy(permission="a"))
    refused(seen.query(), "AuthorizationPermissionMismatch")
    put_policy(filled, policy(expiry="2020-02-01T00:00:00Z"))
    refused(seen.query(), "AuthenticationFailed")
    put_policy(filled, policy(start="2039-01-01T00:00:00Z"))
    refused(seen.query(), "AuthenticationFailed")


def test_stored_policy_and_token_share_the_fields(filled):
    put_policy(filled, policy(start="", expiry=""))
    expect_ok(table_sas(filled, policy="mine", expiry=signing.iso_time(600)).query(), 200)
    put_policy(filled, policy(permission=""))
    expect_ok(table_sas(filled, "r", policy="mine").query(), 200)


def test_unknown_policy(filled):
    refused(table_sas(filled, policy="other").query(), "AuthenticationFailed")
    put_policy(filled, policy())
    refused(table_sas(filled, policy="Mine").query(), "AuthenticationFailed")


def test_field_that_neither_side_gives(filled):
    put_policy(filled, policy(expiry=""))
    refused(table_sas(filled, policy="mine").query(), "AuthenticationFailed")


def test_field_that_both_sides_give(filled):
    put_policy(filled, policy())
    answer = table_sas(filled, "r", policy="mine").query()
    assert answer.status in (400, 403), answer


def test_sas_without_version_header(filled):
    # Without x-ms-version, `sv` is the protocol version.
    answer = account_sas(filled, "r").send("GET", f"/{filled.name}()", {"x-ms-version": None, "x-ms-date": None})
    assert expect_ok(answer, 200).header("x-ms-version") == "2019-02-02"


def test_get_by_sas_needs_no_date(filled):
    path = signing.with_query(key_path(filled.name, "p", "r"), table_sas(filled, "r").query_pairs)
    answer = filled.endpoint.send("GET", path, {"x-ms-date": None, "Accept": JSON_MINIMAL}, auth=None)
    expect_ok(answer, 200)
