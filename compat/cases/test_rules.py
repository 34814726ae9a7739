"""Rules of the service that clients notice only in unusual requests.

Sources: [R] answers recorded from the service, [S] what the tests of the SDKs expect from it, [I] answers quoted in public issues.
Recordings named here belong to azure-sdk-for-python, sdk/tables/azure-data-tables/tests, unless `shared/recordings` has them.
"""

import base64
import json
import time
import uuid

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.data.tables import TableClient
from driver import signing
from driver.certificate import make_token
from driver.multipart import Dialect, inner_answers
from tables import JSON_MINIMAL, XML, Table, expect_error, expect_ok, key_path

QUIET = {"Prefer": "return-no-content"}
PLAIN_JSON = "application/json"
REQUEST_LINES = ("PUT", "PATCH", "MERGE", "POST PUT", "POST MERGE", "POST PATCH")


def written(table, line, body, headers=None):
    """Writes the entity ("p", "r"); `line` is a verb, or POST and the verb of X-HTTP-Method."""
    verb, _, tunnelled = line.partition(" ")
    fields = ({"X-HTTP-Method": tunnelled} if tunnelled else {}) | (headers or {})
    return table.send(verb, key_path(table.name, "p", "r"), fields, body)


# Keys in the body of an update.

BODY_KEYS = [
    '"PartitionKey": "p", "RowKey": "other"', '"PartitionKey": "other", "RowKey": "r"',
    '"PartitionKey": "it\'\'s", "RowKey": "%27r%27"', '"PartitionKey": "", "RowKey": "a/b#?\\u0001"',
    f'"PartitionKey": "p", "RowKey": "{uuid.UUID(int=7)}", "RowKey@odata.type": "Edm.Guid"',
    '"PartitionKey": "2024-01-02T03:04:05Z", "PartitionKey@odata.type": "Edm.DateTime"',
    f'"RowKey@odata.type": "Edm.Binary", "RowKey": "{base64.b64encode(b"r").decode()}"',
    '"PartitionKey": "5", "PartitionKey@odata.type": "Edm.Int64", "RowKey": 7', '"PartitionKey": true, "RowKey": null',
    '"PartitionKey": {"a": 1}, "RowKey": [1]', '"PartitionKey": "x", "PartitionKey@odata.type": "Edm.Unknown"',
    f'"PartitionKey": "{"x" * 2000}", "RowKey": "r"',
]


@pytest.mark.parametrize("keys", BODY_KEYS)
@pytest.mark.parametrize("line", REQUEST_LINES)
def test_keys_in_the_body_of_an_update_are_ignored(table, line, keys):
    # [R] go--TestEntityQuotes and others repeat the keys. [S] test_encoder.py, test_encoder_upsert_entity_* and
    # test_encoder_update_entity_*: keys that are Guids, dates, binaries or enumerations are answered with 204.
    expect_ok(written(table, line, f'{{{keys}, "A": 1}}'), 204)
    expect_ok(written(table, line, f'{{"A": 2, {keys}}}', {"If-Match": "*"}), 204)
    assert table.keys() == [("p", "r")] and table.properties("p", "r") == {"A": "2"}


@pytest.mark.parametrize("keys", BODY_KEYS)
def test_keys_in_the_body_are_ignored_in_batches(table, keys):
    for verb in ("PUT", "PATCH", "MERGE"):
        operation = (verb, key_path(table.name, "p", "r"), {"Content-Type": "application/json"}, f'{{{keys}, "A": "{verb}"}}')
        assert [inner.status for inner in table.changes([operation])] == [204]
        assert table.keys() == [("p", "r")] and table.properties("p", "r") == {"A": verb}


# Errors before the operation.

REFUSED_PATHS = ["/Tables", "/Tables('TABLE')", "/TABLE", "/TABLE()", "/TABLE(PartitionKey='p',RowKey='r')", "/$batch"]


@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_authentication_errors_are_json_when_asked(table, path):
    # [R] test_table_batch test_new_invalid_key; [I] azure-sdk-for-python 26444, AzureStorageExplorer 8572.
    path = path.replace("TABLE", table.name)
    for accept in (PLAIN_JSON, JSON_MINIMAL, "application/json;odata=nometadata"):
        answer = table.endpoint.send("GET", path, {"Accept": accept}, bad_key=True)
        expect_error(answer, 403, "AuthenticationFailed")
        assert answer.header("Content-Type") == PLAIN_JSON
        assert answer.header("x-ms-error-code") == "AuthenticationFailed" and answer.header("Cache-Control") is None
        error = answer.json()
        assert list(error) == ["odata.error"] and list(error["odata.error"]) == ["code", "message"]
        assert list(error["odata.error"]["message"]) == ["lang", "value"]
    answer = table.endpoint.send("GET", signing.with_query(path, [("$format", JSON_MINIMAL)]), {"Accept": XML}, bad_key=True)
    assert answer.header("Content-Type") == PLAIN_JSON, answer


@pytest.mark.parametrize("accept,version", [("*/*", "2019-02-02"), (None, "2019-02-02"), (XML, "2019-02-02"),
                                            ("application/atom+xml", "2019-02-02"), (JSON_MINIMAL, None)])
@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_authentication_errors_are_xml_otherwise(table, path, accept, version):
    # [R] test_table_batch test_new_invalid_key of 2020, with `Accept: */*`.
    fields = {"Accept": accept, "x-ms-version": version}
    answer = table.endpoint.send("GET", path.replace("TABLE", table.name), fields, auth=None)
    expect_error(answer, 403, "AuthenticationFailed")
    assert answer.header("Content-Type") == XML and b"<m:error" in answer.body


@pytest.mark.parametrize("path", ["/TABLE?comp=acl", "/?restype=service&comp=properties", "/?restype=service&comp=stats"])
def test_authentication_errors_of_xml_operations_are_xml(table, path):
    # [R] test_challenge_auth_unsupported_version
    answer = table.endpoint.send("GET", path.replace("TABLE", table.name), {"Accept": JSON_MINIMAL}, bad_key=True)
    expect_error(answer, 403, "AuthenticationFailed")
    assert answer.header("Content-Type") == XML


@pytest.mark.parametrize("pairs,code", [
    ([("sv", "2019-02-02"), ("sig", "AAAA")], "AuthenticationFailed"),
    ([("timeout", "soon")], "InvalidQueryParameterValue")])
def test_other_early_errors_are_json_too(table, pairs, code):
    auth = None if code == "AuthenticationFailed" else "SharedKey"
    path = signing.with_query(f"/{table.name}()", pairs)
    for accept, content_type in ((JSON_MINIMAL, PLAIN_JSON), (XML, XML)):
        answer = table.endpoint.send("GET", path, {"Accept": accept}, auth=auth)
        assert (answer.code, answer.header("Content-Type")) == (code, content_type), answer
        assert answer.header("x-ms-error-code") == code


def secondary_writes(table):
    """Writes to the secondary endpoint: method, path, body."""
    entity = '{"PartitionKey": "p", "RowKey": "r"}'
    row = key_path(table.name, "p", "r")
    return [("POST", "/Tables", '{"TableName": "never"}'), ("DELETE", f"/Tables('{table.name}')", None),
            ("POST", "/" + table.name, entity), ("PUT", row, entity), ("MERGE", row, "{}"), ("DELETE", row, None),
            ("POST", "/$batch", "")]


def test_writes_to_the_secondary(table):
    # [S] test_table_client_location_mode; the text is in the service's document "Common REST API Error Codes".
    for method, path, body in secondary_writes(table):
        fields = {"Accept": JSON_MINIMAL, "Content-Type": "application/json", "If-Match": "*"}
        answer = table.endpoint.send(method, path, fields, body, secondary=True)
        expect_error(answer, 403, "InsufficientAccountPermissions")
        assert answer.message.startswith("Write operations are not allowed.\n"), answer
        assert answer.header("Content-Type") == PLAIN_JSON
    assert table.keys() == []


def test_python_client_at_the_secondary(endpoint, table):
    # [S] test_table_client_location_mode
    url = f"{endpoint.root}/{endpoint.account}-secondary"
    with TableClient(url, table.name, credential=AzureNamedKeyCredential(endpoint.account, endpoint.key)) as client:
        for write in (client.create_table, client.delete_table, lambda: client.upsert_entity({"PartitionKey": "a", "RowKey": "b"}),
                      lambda: client.delete_entity("a", "b")):
            with pytest.raises(HttpResponseError) as refused:
                write()
            assert "Write operations are not allowed." in str(refused.value)
        with pytest.raises(ResourceNotFoundError):
            client.get_entity("a", "b")
        assert list(client.list_entities()) == []
    assert table.keys() == []


@pytest.mark.parametrize("style", ["path", "host"])
def test_a_batch_does_not_write_to_the_secondary(table, style):
    endpoint = table.endpoint if style == "path" else table.endpoint.sibling(host_style="table.localhost")
    seen = Table(endpoint, table.name)
    account = endpoint.account
    url = (f"{endpoint.root}/{account}-secondary" if style == "path"
           else f"{endpoint.scheme}://{endpoint.authority.replace(account, account + '-secondary', 1)}")
    for method, path, headers, body in (seen.op_insert("p", "r"), seen.op_write("PUT", "p", "r"), seen.op_delete("p", "r")):
        content_type, text = Dialect().write(endpoint, [(method, path, headers, body)])
        text = text.replace(endpoint.base + path, url + path)
        assert url in text
        answer = expect_ok(seen.send("POST", "/$batch", {"Content-Type": content_type}, text), 202)
        [inner] = inner_answers(answer)
        assert (inner.status, inner.code) == (403, "InsufficientAccountPermissions"), inner
    assert table.keys() == []


# Filters.

@pytest.mark.parametrize("true,false", [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("tRuE", "fAlSe")])
def test_booleans_in_any_case(table, true, false):
    # [I] Azurite 1947: the service accepts them.
    table.add("p", "yes", {"B": True})
    table.add("p", "no", {"B": False})
    assert table.rows(f"B eq {true}") == ["yes"] and table.rows(f"B eq {false}") == ["no"]
    assert table.rows(f"not (B eq {true})") == ["no"] and table.rows(f"{true} and B") == ["yes"]
    assert table.rows(f"B eq {false} or {false}") == ["no"]


@pytest.mark.parametrize("text", ["B EQ true", "B eq true AND B eq true", "NOT B", "B Ne false", "B eq true Or B"])
def test_operators_are_lower_case(table, text):
    expect_error(table.query(text), 400, "InvalidInput")


# Names of tables in paths.

LENGTH = "The specified resource name length is not within the permissible limits."
CHARACTERS = "The specifed resource name contains invalid characters."
BAD_NAMES = [("1table", "InvalidResourceName", CHARACTERS), ("my_table", "InvalidResourceName", CHARACTERS),
             ("my-table", "InvalidResourceName", CHARACTERS), ("t%C3%A4ble", "InvalidResourceName", CHARACTERS),
             ("ta%20ble", "InvalidResourceName", CHARACTERS), ("a" * 2, "OutOfRangeInput", LENGTH),
             ("a" * 64, "OutOfRangeInput", LENGTH)]


@pytest.mark.parametrize("name,code,text", BAD_NAMES)
def test_bad_names_of_tables(endpoint, name, code, text):
    # [S] _error.py and test_table_name_errors: the answer to any table or entity operation.
    entity, row = '{"PartitionKey": "p", "RowKey": "r"}', f"/{name}(PartitionKey='p',RowKey='r')"
    fields = {"Accept": JSON_MINIMAL, "Content-Type": "application/json"}
    for method, path, body, more in (
            ("GET", f"/{name}()", None, {}), ("POST", f"/{name}", entity, {}), ("GET", row, None, {}), ("PUT", row, entity, {}),
            ("PATCH", row, entity, {"If-Match": "*"}), ("DELETE", row, None, {"If-Match": "*"}),
            ("POST", row, entity, {"X-HTTP-Method": "MERGE"})):
        answer = endpoint.send(method, path, fields | more, body)
        expect_error(answer, 400, code)
        assert answer.message.startswith(text + "\n"), answer
        content_type, batch = Dialect().write(endpoint, [(method, path, {"Content-Type": "application/json"} | more, body)])
        if method == "GET":
            content_type, batch = Dialect().write_query(endpoint, path, {"Accept": JSON_MINIMAL})
        answer = expect_ok(endpoint.send("POST", "/$batch", {"Content-Type": content_type}, batch), 202)
        [inner] = inner_answers(answer)
        assert (inner.status, inner.code) == (400, code) and text in inner.message, inner
    for method, body in (("GET", None), ("PUT", "")):
        answer = endpoint.send(method, f"/{name}?comp=acl", {"Accept": XML}, body)
        expect_error(answer, 400, code)
        assert answer.header("Content-Type") == XML and answer.message.startswith(text + "\n"), answer


def test_python_client_notices_bad_names(endpoint):
    # [S] test_table_name_errors
    key = AzureNamedKeyCredential(endpoint.account, endpoint.key)
    entity = {"PartitionKey": "foo", "RowKey": "bar"}
    for name in ("1table", "a" * 2, "a" * 64, "a//", "my_table"):
        with TableClient(endpoint.base, name, credential=key) as client:
            for ask in (client.create_table, lambda: client.create_entity(entity), lambda: client.upsert_entity(entity),
                        lambda: client.delete_entity("PK", "RK"), client.get_table_access_policy,
                        lambda: client.submit_transaction([("upsert", entity)])):
                with pytest.raises(ValueError, match="Storage table names must be alphanumeric"):
                    ask()


def test_absent_system_tables_are_not_found(endpoint):
    # Understanding the Table service data model: names of system tables begin with `$Metrics`.
    answer = endpoint.send("GET", "/$MetricsHourPrimaryTransactionsTable()")
    expect_error(answer, 404, "TableNotFound")


# Content types.

@pytest.mark.parametrize("content_type", ["text/plain", "application/atom+xml", "application/x-www-form-urlencoded",
                                          "multipart/mixed; boundary=b"])
def test_a_post_of_another_type(table, content_type):
    # [S] test_table_batch test_client_with_url_ends_with_table_name: 415 for multipart/mixed.
    entity = '{"PartitionKey": "p", "RowKey": "r"}'
    for path, body in (("/" + table.name, entity), (f"/{table.name}()", entity), ("/Tables", '{"TableName": "never"}')):
        answer = table.send("POST", path, {"Content-Type": content_type}, body)
        expect_error(answer, 415, "MediaTypeNotSupported")
        assert answer.message.startswith("None of the provided media types are supported"), answer
    operation = ("POST", "/" + table.name, {"Content-Type": content_type}, entity)
    [inner] = table.changes([operation])
    assert (inner.status, inner.code) == (415, "MediaTypeNotSupported"), inner
    assert table.keys() == []


@pytest.mark.parametrize("content_type", [None, "", "Application/JSON", "application/json; charset=utf-8",
                                          "application/json;odata=nometadata", "application/json;odata=fullmetadata"])
def test_a_post_of_json(table, content_type):
    answer = table.send("POST", "/" + table.name, {"Content-Type": content_type}, '{"PartitionKey": "p", "RowKey": "r"}')
    expect_ok(answer, 201)


# Bearer tokens.

DETAILS = [({"iss": "https://elsewhere.example/"}, "Issuer validation failed. Issuer did not match."),
           ({"aud": "https://elsewhere.example"}, "Audience validation failed. Audience did not match."),
           ({"exp": int(time.time()) - 3600}, "Lifetime validation failed. The token is expired."),
           ({"nbf": int(time.time()) + 3600}, "Lifetime validation failed. The token is not yet valid.")]


@pytest.mark.parametrize("claims,detail", DETAILS)
@pytest.mark.parametrize("version,status,code", [("2019-02-02", 403, "AuthenticationFailed"),
                                                 ("2019-10-10", 403, "AuthenticationFailed"),
                                                 ("2019-12-12", 401, "InvalidAuthenticationInfo"),
                                                 ("2020-12-06", 401, "InvalidAuthenticationInfo")])
def test_refused_tokens_say_why(secure, claims, detail, version, status, code):
    # [I] azure-docs 11564 (issuer, 403), AzureStor 119 (audience, 401), azure-sdk-for-net 42859 (lifetime, 401),
    # azure-sdk-for-java 8667 (lifetime, 403). The text of a token that is not yet valid is that of the .NET library.
    token = "Bearer " + make_token(**claims)
    answer = secure.send("GET", "/Tables", {"Accept": XML, "x-ms-version": version}, auth=token)
    expect_error(answer, status, code)
    assert f"<m:AuthenticationErrorDetail>{detail}</m:AuthenticationErrorDetail>" in answer.text, answer
    challenge = answer.header("WWW-Authenticate") or ""
    assert challenge.startswith("Bearer authorization_uri=") == (status == 401), answer
    answer = secure.send("GET", "/Tables", {"Accept": JSON_MINIMAL, "x-ms-version": version}, auth=token)
    expect_error(answer, status, code)
    assert list(answer.json()["odata.error"]) == ["code", "message"] and detail not in answer.text


@pytest.mark.parametrize("version,status", [("2019-07-07", 403), ("2019-12-12", 401), ("2020-12-06", 401)])
def test_no_credentials_by_version(endpoint, version, status):
    # [R] test_challenge_auth_unsupported_version (403), test_challenge_auth_supported_version (401)
    answer = endpoint.send("GET", "/Tables", {"x-ms-version": version}, auth=None)
    expect_error(answer, status, {403: "AuthenticationFailed", 401: "InvalidAuthenticationInfo"}[status])


def test_tokens_where_none_are_accepted(endpoint):
    answer = endpoint.send("GET", "/Tables", {"Accept": XML}, auth="Bearer " + make_token())
    expect_error(answer, 403, "AuthenticationFailed")
    assert "Authentication scheme Bearer is not supported." in answer.text


# Endpoints that contain the name of a table.

def test_urls_below_a_table(table, new_name):
    # [R] test_table_client and test_table_service_properties test_client_with_url_ends_with_table_name
    missing, name = "/" + new_name("missing"), "/" + table.name
    create = json.dumps({"TableName": table.name})
    for method, path, body in (("POST", "/Tables", create), ("GET", "/Tables", None), ("DELETE", f"/Tables('{table.name}')", None)):
        answer = table.send(method, missing + path, None, body)
        expect_error(answer, 404, "TableNotFound")
        assert answer.header("Cache-Control") is None
    answer = table.send("POST", name + "/Tables", None, create)
    expect_error(answer, 400, "PropertiesNeedValue")
    assert answer.header("Cache-Control") == "no-cache"
    for path in ("/Tables", f"/Tables?$filter=TableName%20eq%20%27{table.name}%27"):
        expect_error(table.send("GET", name + path), 501, "NotImplemented")
    answer = table.send("DELETE", f"{name}/Tables('{table.name}')")
    expect_error(answer, 400, "InvalidInput")
    assert answer.message.startswith("The number of keys specified in the URI does not match number of key properties for the "
                                     f"resource '{table.endpoint.account}.{table.name}'.\n"), answer
    assert answer.header("Cache-Control") is None
    for method, body in (("GET", None), ("PUT", "<StorageServiceProperties />")):
        answer = table.send(method, name + "/?restype=service&comp=properties", {"Accept": XML, "Content-Type": XML}, body)
        expect_error(answer, 400, "InvalidQueryParameterValue")
        assert answer.header("Content-Type") == XML


def test_a_batch_below_a_table(table):
    # [S] test_table_batch test_client_with_url_ends_with_table_name
    content_type, body = Dialect().write(table.endpoint, [table.op_insert("p", "r", None, **QUIET)])
    answer = table.send("POST", f"/{table.name}/$batch", {"Content-Type": content_type}, body)
    expect_error(answer, 415, "MediaTypeNotSupported")
    assert table.keys() == []


def test_nothing_is_written_below_a_table(table):
    # compat.md: the service's answers to these are unknown.
    entity = '{"PartitionKey": "p", "RowKey": "r"}'
    row = key_path(table.name, "p", "r")
    for method, path, more in (("POST", "/" + table.name, {}), ("PUT", row, {}), ("MERGE", row, {"If-Match": "*"}),
                               ("DELETE", row, {"If-Match": "*"})):
        expect_error(table.send(method, f"/{table.name}{path}", more, entity), 400, "InvalidInput")
        operation = (method, f"/{table.name}{path}", {"Content-Type": "application/json"} | more, entity)
        [inner] = table.changes([operation])
        assert (inner.status, inner.code) == (400, "InvalidInput"), inner
    assert table.keys() == []


def test_python_client_with_a_table_in_its_url(endpoint, table):
    # [S] test_client_with_url_ends_with_table_name
    key = AzureNamedKeyCredential(endpoint.account, endpoint.key)
    with TableClient(f"{endpoint.base}/{table.name}", table.name, credential=key) as client:
        for ask, text in ((client.create_table, "values are not specified"),
                          (client.delete_table, "URI does not match number of key properties for the resource"),
                          (lambda: client.submit_transaction([("upsert", {"PartitionKey": "p", "RowKey": "r"})]),
                           "None of the provided media types are supported")):
            with pytest.raises(HttpResponseError) as refused:
                ask()
            assert text in str(refused.value)
    with TableClient(f"{endpoint.base}/missing", table.name, credential=key) as client:
        with pytest.raises(ResourceNotFoundError, match="table specified does not exist"):
            client.create_table()
    assert table.keys() == []


# Batches.

def test_an_empty_change_set(table):
    # [R] The service answers 202; azure-sdk-for-python 31471 and 31482 show a client that reads this answer.
    answer = expect_ok(table.batch([]), 202)
    assert inner_answers(answer) == [] and b"boundary=changesetresponse_" in answer.body


def test_python_client_submits_nothing(endpoint, table):
    # [S] test_table_batch test_empty_batch
    with TableClient.from_connection_string(endpoint.connection_string(), table.name) as client:
        assert client.submit_transaction([]) == []


ENDS = {"nothing": "", "no outer boundary": "--changeset_1--\r\n", "no inner boundary": "--batch_1--\r\n",
        "another operation": "--changeset_1\r\n", "half a boundary": "--changeset_1--\r\n--batch_"}


@pytest.mark.parametrize("name", ENDS)
def test_a_batch_that_is_cut_short(table, name):
    # Multipart bodies end with their boundaries (RFC 2046); a part of a transaction must not be executed.
    operations = [table.op_insert("p", "a", None, **QUIET), table.op_insert("p", "b", None, **QUIET)]
    content_type, body = Dialect().write(table.endpoint, operations)
    end = "--changeset_1--\r\n--batch_1--\r\n"
    assert body.endswith(end)
    answer = table.send("POST", "/$batch", {"Content-Type": content_type}, body.removesuffix(end) + ENDS[name])
    expect_error(answer, 400, "InvalidInput")
    assert table.keys() == []


def test_a_query_in_a_batch_that_is_cut_short(table):
    content_type, body = Dialect().write_query(table.endpoint, f"/{table.name}()", {"Accept": JSON_MINIMAL})
    answer = table.send("POST", "/$batch", {"Content-Type": content_type}, body.removesuffix("--batch_1--\r\n"))
    expect_error(answer, 400, "InvalidInput")


def test_preference_of_failed_operations(table):
    # [R] go--TestBatchErrorHandleResponse, gostorage--TableBatchSuite_*, python--test_table_batch_test_new_non_existent_table
    table.add("p", "here")
    many = [table.op_insert("p", f"{row:03}", None, **QUIET) for row in range(101)]
    for operations, code in (([table.op_insert("p", "here", None, **QUIET)], "EntityAlreadyExists"),
                             ([table.op_write("PUT", "p", "gone", {}, If_Match="*", **QUIET)], "ResourceNotFound"),
                             ([table.op_write("MERGE", "p", "a", {"n" * 256: 1}, **QUIET)], "PropertyNameTooLong"),
                             (many, "InvalidInput")):
        [inner] = table.changes(operations)
        assert (inner.code, inner.header("Preference-Applied")) == (code, "return-no-content"), inner
    missing = Table(table.endpoint, "nosuchtable")
    [inner] = missing.changes([missing.op_insert("p", "r", None, **QUIET)])
    assert (inner.code, inner.header("Preference-Applied")) == ("TableNotFound", None), inner
    answer = missing.insert("p", "r", None, QUIET)
    assert (answer.code, answer.header("Preference-Applied")) == ("TableNotFound", None), answer
    [inner] = table.changes([table.op_insert("p", "here")])
    assert (inner.code, inner.header("Preference-Applied")) == ("EntityAlreadyExists", None), inner


# Service properties.

def test_cors_headers_are_listed_literal_ones_first(endpoint):
    # [R] test_table_service_properties test_set_cors
    rule = ("<Cors><CorsRule><AllowedOrigins>www.xyz.com</AllowedOrigins><AllowedMethods>GET</AllowedMethods>"
            "<AllowedHeaders>x-ms-meta-data*,x-ms-meta-target*,x-ms-meta-xyz,x-ms-meta-foo</AllowedHeaders>"
            "<ExposedHeaders>x-ms-meta-data*,x-ms-meta-source*,x-ms-meta-abc,x-ms-meta-bcd</ExposedHeaders>"
            "<MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule></Cors>")
    path, fields, root = "/?restype=service&comp=properties", {"Accept": XML, "Content-Type": XML}, "StorageServiceProperties"
    expect_ok(endpoint.send("PUT", path, fields, f"<{root}>{rule}</{root}>"), 202)
    try:
        text = expect_ok(endpoint.send("GET", path, {"Accept": XML}), 200).text
    finally:
        expect_ok(endpoint.send("PUT", path, fields, f"<{root}><Cors /></{root}>"), 202)
    assert "<AllowedHeaders>x-ms-meta-xyz,x-ms-meta-foo,x-ms-meta-data*,x-ms-meta-target*</AllowedHeaders>" in text
    assert "<ExposedHeaders>x-ms-meta-abc,x-ms-meta-bcd,x-ms-meta-data*,x-ms-meta-source*</ExposedHeaders>" in text


# Shared access signatures.

def sas_of(table, **options):
    """The pairs of a table SAS that permits everything."""
    endpoint = table.endpoint
    return signing.table_sas(endpoint.account, endpoint.key, table.name, permissions="raud", **options)


def test_a_parameter_of_a_signature_given_twice(table):
    endpoint = table.endpoint
    account = signing.account_sas(endpoint.account, endpoint.key, permissions="r", protocol="https,http")
    for good in (account, sas_of(table, first=("a", "1"), last=("z", "9"))):
        expect_ok(table.seen_with(good).query(), 200)
        for name, value in good:
            for pairs in ([*good, (name, value)], [(name, value), *good], [*good, (name.upper(), "x")]):
                answer = table.seen_with(pairs).query()
                expect_error(answer, 403, "AuthenticationFailed")
        expect_ok(table.seen_with([*good, ("timeout", "5"), ("timeout", "5")]).query(), 200)


@pytest.mark.parametrize("bounds", [{"first": ("", "5")}, {"last": ("", "5")}, {"first": ("a", ""), "last": ("", "5")},
                                    {"first": ("", "5"), "last": ("z", "")}])
def test_a_row_key_in_a_signature_needs_its_partition_key(table, bounds):
    # Document "Create a service SAS": startPk must accompany startRk, endPk must accompany endRk.
    table.add("p", "r")
    seen = table.seen_with(sas_of(table, **bounds))
    for answer in (seen.query(), seen.get("p", "r"), seen.insert("p", "new"), seen.batch([seen.op_insert("p", "b")])):
        expect_error(answer, 403, "AuthenticationFailed")
    assert table.rows() == ["r"]
