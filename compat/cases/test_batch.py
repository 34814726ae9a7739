"""Entity group transactions: effects, errors, and all forms that clients write."""

import json

import pytest
from driver.multipart import Dialect, inner_answers
from tables import JSON_MINIMAL, Table, continuation, expect_ok, key_path

OLD = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\""
QUIET = {"Prefer": "return-no-content"}


def failing(answers, status, code, index=None):
    """Asserts that the change set failed with this single error; `index` is the operation in the message."""
    assert len(answers) == 1, answers
    error = answers[0]
    assert (error.status, error.code) == (status, code), error
    prefix = error.message.split(":", 1)[0]
    if index is not None:
        assert prefix == str(index), error.message
    assert error.header("DataServiceVersion") == "3.0;"
    assert error.header("Content-Type") == "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"


def test_every_operation(table):
    for row in ("update", "merge", "delete", "upsert"):
        table.add("p", row, {"A": 1, "B": 1})
    answers = table.changes([
        table.op_insert("p", "insert", {"A": 9}, **QUIET),
        table.op_write("PUT", "p", "update", {"A": 2}, If_Match="*"),
        table.op_write("PATCH", "p", "merge", {"A": 3}, If_Match="*"),
        table.op_delete("p", "delete"),
        table.op_write("PUT", "p", "upsert", {"A": 4}),
        table.op_write("MERGE", "p", "fresh", {"A": 5}),
    ])
    assert [answer.status for answer in answers] == [204] * 6
    assert [bool(answer.header("ETag")) for answer in answers] == [True, True, True, False, True, True]
    found = {row: table.properties("p", row) for row in ("insert", "update", "merge", "delete", "upsert", "fresh")}
    assert found == {"insert": {"A": "9"}, "update": {"A": "2"}, "merge": {"A": "3", "B": "1"}, "delete": None,
                     "upsert": {"A": "4"}, "fresh": {"A": "5"}}
    assert answers[0].header("ETag") == table.get("p", "insert").header("ETag")


def test_frame_of_the_answer(table):
    answer = expect_ok(table.batch([table.op_insert("p", "a", None, **QUIET), table.op_delete("p", "a")][:1]), 202)
    assert answer.header("Content-Type").startswith("multipart/mixed")
    assert "boundary=batchresponse_" in answer.header("Content-Type")
    assert answer.header("Cache-Control") == "no-cache" and answer.header("X-Content-Type-Options") == "nosniff"
    assert b"boundary=changesetresponse_" in answer.body
    [inner] = inner_answers(answer)
    place = f"{table.endpoint.base}/{table.name}(PartitionKey='p',RowKey='a')"
    assert inner.headers == {
        "x-content-type-options": "nosniff", "cache-control": "no-cache", "preference-applied": "return-no-content",
        "dataserviceversion": "3.0;", "location": place, "dataserviceid": place, "etag": inner.header("etag")}
    assert inner.part["content-type"] == "application/http" and inner.part["content-transfer-encoding"] == "binary"


def test_insert_with_content(table):
    # The current Python client sends no Prefer and accepts 201 with a body.
    [inner] = table.changes([table.op_insert("p", "a", {"A": 1})])
    assert inner.status == 201 and inner.json()["A"] == 1
    assert inner.header("Content-Type") == "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"


def test_update_and_delete_say_version_one(table):
    table.add("p", "a")
    table.add("p", "b")
    for inner in table.changes([table.op_write("PUT", "p", "a", {}, If_Match="*"), table.op_delete("p", "b")]):
        assert inner.header("DataServiceVersion") == "1.0;" and inner.header("Location") is None


@pytest.mark.parametrize("place", ["operation", "part"])
def test_content_id_comes_back(table, place):
    # Recordings cosmosdbpython--test_table_batch_* have it among the headers of the operation. Clients may also send
    # it among those of the part.
    answers = table.changes([table.op_insert("p", str(row), None, **QUIET) for row in range(3)],
                            Dialect(content_id=place))
    found = [answer.header("Content-ID") if place == "operation" else answer.part.get("content-id") for answer in answers]
    assert found == ["0", "1", "2"]


FAILURES = {
    "exists": (lambda t: t.op_insert("p", "here"), 409, "EntityAlreadyExists"),
    "missing update": (lambda t: t.op_write("PUT", "p", "gone", {}, If_Match="*"), 404, "ResourceNotFound"),
    "missing delete": (lambda t: t.op_delete("p", "gone"), 404, "ResourceNotFound"),
    "etag": (lambda t: t.op_write("MERGE", "p", "here", {}, If_Match=OLD), 412, "UpdateConditionNotSatisfied"),
    "delete etag": (lambda t: t.op_delete("p", "here", OLD), 412, "UpdateConditionNotSatisfied"),
    "value": (lambda t: t.op_insert("p", "new", {"S": "x" * 32769}), 400, "PropertyValueTooLarge"),
    "name": (lambda t: t.op_insert("p", "new", {"n" * 256: 1}), 400, "PropertyNameTooLong"),
    "key": (lambda t: t.op_insert("p", "a/b"), 400, "OutOfRangeInput"),
    "same row": (lambda t: t.op_write("PUT", "p", "first", {}), 400, "InvalidDuplicateRow"),
    "other partition": (lambda t: t.op_insert("q", "new"), 400, "CommandsInBatchActOnDifferentPartitions"),
}


@pytest.mark.parametrize("place", ["middle", "last"])
@pytest.mark.parametrize("name", FAILURES)
def test_failure_changes_nothing(table, name, place):
    make, status, code = FAILURES[name]
    etag = table.add("p", "here", {"Kept": 1})
    operations = [table.op_insert("p", "first", None, **QUIET), make(table)]
    if place == "middle":
        operations.append(table.op_insert("p", "after", None, **QUIET))
    failing(table.changes(operations), status, code, 1)
    assert table.rows() == ["here"] and table.get("p", "here").header("ETag") == etag


@pytest.mark.parametrize("name", ["exists", "missing update", "missing delete", "etag"])
def test_lone_operation_fails_without_index(table, name):
    # The service puts no index into the error of a change set with one operation.
    make, status, code = FAILURES[name]
    table.add("p", "here")
    [error] = table.changes([make(table)])
    assert (error.status, error.code) == (status, code)
    assert error.message.startswith("The "), error.message


def test_missing_table(endpoint):
    table = Table(endpoint, "nosuchtable")
    failing(table.changes([table.op_insert("p", "a")]), 404, "TableNotFound", 0)


def test_two_tables(table, endpoint, new_name):
    # Unconfirmed (docs/compat.md): the code is that of two partitions in one transaction.
    other = Table(endpoint, new_name())
    other.create()
    answer = table.batch([table.op_insert("p", "a", None, **QUIET), other.op_insert("p", "b", None, **QUIET)])
    failing(inner_answers(answer), 400, "CommandsInBatchActOnDifferentPartitions", 1)
    assert table.keys() == other.keys() == []
    other.drop()


def test_hundred_and_one(table):
    operations = [table.op_insert("p", f"{row:03}", None, **QUIET) for row in range(101)]
    answer = table.batch(operations)
    error = inner_answers(answer)[0] if answer.status == 202 else answer
    assert (error.status, error.code) == (400, "InvalidInput"), error
    assert error.message.startswith("99:The batch request operation exceeds the maximum 100 changes per change set.")
    assert table.keys() == []
    assert [inner.status for inner in table.changes(operations[:100])] == [204] * 100
    assert len(table.keys()) == 100


def test_too_large(table):
    operations = [table.op_insert("p", f"{row:03}", {f"S{n}": "x" * 30000 for n in range(10)}, **QUIET)
                  for row in range(15)]
    answer = table.batch(operations)
    error = inner_answers(answer)[0] if answer.status == 202 else answer
    assert error.status == 413 and error.code == "RequestBodyTooLarge", error
    assert table.keys() == []


def test_small_patches_of_large_entities(table):
    # Each patch writes a whole entity of nearly 1 MiB, which takes half as much again in storage: about 28 MiB in all.
    rows = [f"{row:03}" for row in range(20)]
    for row in rows:
        table.add("p", row, {f"S{index:02}": "\u3042" * 32000 for index in range(15)})
    answers = table.changes([table.op_write("MERGE", "p", row, {"A": 7}, If_Match="*") for row in rows])
    assert [answer.status for answer in answers] == [204] * len(rows)
    assert table.rows("A eq 7", select="PartitionKey,RowKey") == rows


@pytest.mark.parametrize("body", ["", "nonsense", "--batch_1--\r\n", "--batch_1\r\n\r\n--batch_1--\r\n"])
def test_no_batch_at_all(table, body):
    answer = table.send("POST", "/$batch", {"Content-Type": "multipart/mixed; boundary=batch_1"}, body)
    assert answer.status == 400 and answer.code, answer


@pytest.mark.parametrize("content_type", ["application/json", "multipart/mixed", None])
def test_no_boundary(table, content_type):
    answer = table.send("POST", "/$batch", {"Content-Type": content_type}, "--batch_1--")
    assert 400 <= answer.status < 500 and answer.code, answer


def test_query_alone(table):
    table.add("p", "a", {"A": 1})
    content_type, body = Dialect().write_query(table.endpoint, key_path(table.name, "p", "a"), {"Accept": JSON_MINIMAL})
    answer = expect_ok(table.send("POST", "/$batch", {"Content-Type": content_type}, body), 202)
    [inner] = inner_answers(answer)
    assert inner.status == 200 and inner.json()["A"] == 1 and inner.header("DataServiceVersion") == "3.0;"
    assert b"changesetresponse" not in answer.body


def test_query_of_nothing(table):
    content_type, body = Dialect().write_query(table.endpoint, key_path(table.name, "p", "a"), {"Accept": JSON_MINIMAL})
    answer = expect_ok(table.send("POST", "/$batch", {"Content-Type": content_type}, body), 202)
    [inner] = inner_answers(answer)
    assert (inner.status, inner.code) == (404, "ResourceNotFound")


def test_query_of_rows(table):
    for row in "abc":
        table.add("p", row)
    path = f"/{table.name}()?$filter=RowKey%20gt%20%27a%27"
    content_type, body = Dialect().write_query(table.endpoint, path, {"Accept": JSON_MINIMAL})
    answer = expect_ok(table.send("POST", "/$batch", {"Content-Type": content_type}, body), 202)
    assert [row["RowKey"] for row in inner_answers(answer)[0].json()["value"]] == ["b", "c"]


def test_query_goes_on_where_its_page_ended(table):
    for row in "abc":
        table.add("p", row)
    found, more = [], ""
    while len(found) < 5:
        path = f"/{table.name}()?$top=2{more}"
        content_type, body = Dialect().write_query(table.endpoint, path, {"Accept": JSON_MINIMAL})
        answer = expect_ok(table.send("POST", "/$batch", {"Content-Type": content_type}, body), 202)
        [inner] = inner_answers(answer)
        found += [row["RowKey"] for row in inner.json()["value"]]
        token = continuation(inner)
        if not token:
            break
        more = "".join(f"&{name}={value}" for name, value in token.items())
    assert found == ["a", "b", "c"]


def test_query_between_writes(table):
    # Which code the service answers is unconfirmed (docs/compat.md).
    operations = [table.op_insert("p", "a", None, **QUIET),
                  ("GET", key_path(table.name, "p", "a"), {"Accept": JSON_MINIMAL}, None)]
    answer = table.batch(operations)
    error = inner_answers(answer)[0] if answer.status == 202 else answer
    assert error.status == 400 and error.code in ("InvalidInput", "BatchOperationNotSupported"), error
    assert table.keys() == []


DIALECTS = {
    "current": {}, "LF": {"line_end": "\n"}, "quoted boundary": {"quote_boundary": True},
    "lower-case names": {"lower_headers": True}, "path with account": {"urls": "account"}, "bare path": {"urls": "bare"},
    "no length": {"content_length": False}, "blank before body": {"blank_before_body": True},
    "no closing dashes": {"close": False}, "preamble": {"preamble": "This is a batch."},
    "JS": {"lower_headers": True, "content_length": False, "blank_before_body": True},
    "legacy Python": {"line_end": "\n", "urls": "bare", "content_id": "operation"},
}


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects(table, name):
    # The forms in which clients write batches, as captured from clients or recorded.
    dialect = Dialect(**DIALECTS[name])
    answers = table.changes([table.op_insert("p", "it's é", {"A": "line\nend"}, **QUIET),
                             table.op_write("PATCH", "p", "b", {"B": 2}),
                             table.op_insert("p", "c", {"C": 3}, **QUIET)], dialect)
    assert [answer.status for answer in answers] == [204] * 3
    assert table.properties("p", "it's é") == {"A": "line\nend"} and table.properties("p", "b") == {"B": "2"}
    [answer] = table.changes([table.op_delete("p", "b")], dialect)
    assert answer.status == 204 and table.rows() == ["c", "it's é"]


@pytest.mark.parametrize("path", [
    "/TABLE%28PartitionKey%3D%27p%27%2CRowKey%3D%27a%27%29", "/TABLE(PartitionKey='p',%20RowKey='a')",
    "/TABLE(PartitionKey='p',RowKey='a')?timeout=30&sig=ignored"])
def test_inner_urls(table, path):
    table.add("p", "a", {"A": 1})
    operation = ("MERGE", path.replace("TABLE", table.name), {"Content-Type": "application/json"}, '{"B": 2}')
    [answer] = table.changes([operation])
    assert answer.status == 204 and table.properties("p", "a") == {"A": "1", "B": "2"}


def test_tunnelled_merge_inside(table):
    table.add("p", "a", {"A": 1})
    operation = ("POST", key_path(table.name, "p", "a"),
                 {"Content-Type": "application/json", "X-HTTP-Method": "MERGE", "If-Match": "*"}, '{"B": 2}')
    [answer] = table.changes([operation])
    assert answer.status == 204 and table.properties("p", "a") == {"A": "1", "B": "2"}


def test_encoded_batch_path(table):
    content_type, body = Dialect().write(table.endpoint, [table.op_insert("p", "a", None, **QUIET)])
    expect_ok(table.send("POST", "/%24batch", {"Content-Type": content_type}, body), 202)
    assert table.rows() == ["a"]


def test_body_that_looks_like_a_boundary(table):
    text = "--changeset_1 --batch_1--"
    [answer] = table.changes([table.op_insert("p", "a", {"S": text}, **QUIET)])
    assert answer.status == 204 and table.properties("p", "a") == {"S": text}


def test_second_change_set_is_refused(table):
    # As the service documents, more than one change set is an error.
    content_type, body = Dialect().write(table.endpoint, [table.op_insert("p", "a", None, **QUIET)])
    _, other = Dialect().write(table.endpoint, [table.op_insert("p", "b", None, **QUIET)], changeset="changeset_2")
    body = body.replace("--batch_1--\r\n", "") + other
    answer = table.send("POST", "/$batch", {"Content-Type": content_type}, body)
    assert answer.status == 400 and answer.code, answer
    assert table.keys() == []


def test_conditions_hold_inside(table):
    etag = table.add("p", "a", {"A": 1})
    [answer] = table.changes([table.op_write("PUT", "p", "a", {"A": 2}, If_Match=etag)])
    assert answer.status == 204
    [answer] = table.changes([table.op_write("PUT", "p", "a", {"A": 3}, If_Match=etag)])
    assert answer.status == 412 and table.properties("p", "a") == {"A": "2"}


def test_client_request_id_of_a_batch(table):
    answer = table.batch([table.op_insert("p", "a", None, **QUIET)], headers={"x-ms-client-request-id": "mine-2"})
    assert answer.header("x-ms-client-request-id") == "mine-2"


def test_order_of_answers(table):
    operations = [table.op_insert("p", f"{(row * 37) % 100:02}", {"N": row}, **QUIET) for row in range(100)]
    for operation, answer in zip(operations, table.changes(operations)):
        assert json.loads(operation[3])["RowKey"] in answer.header("Location")
