"""Table ACL, service properties and CORS."""

import re

import pytest
from service_xml import ALL_OFF, LOGGING_OFF, LOGGING_ON, METRICS_OFF, METRICS_ON, START, identifier, identifiers, rule
from tables import JSON_MINIMAL, XML, Table, expect_error, expect_ok

BOM = b"\xef\xbb\xbf"


def put_acl(table, xml):
    """PUT comp=acl."""
    return table.endpoint.send("PUT", f"/{table.name}?comp=acl", {"Content-Type": XML, "Accept": XML}, xml)


def get_acl(table, method="GET"):
    """GET comp=acl."""
    return table.endpoint.send(method, f"/{table.name}?comp=acl", {"Accept": XML})


FULL = ("<AccessPolicy><Start>2024-01-01T00:00:00Z</Start><Expiry>2034-01-01T00:00:00.5Z</Expiry>"
        "<Permission>raud</Permission></AccessPolicy>")


def test_acl_is_empty_at_first(table):
    answer = expect_ok(get_acl(table), 200)
    assert answer.body.startswith(BOM + START.encode())
    assert answer.text == START + "<SignedIdentifiers />"
    assert answer.header("Content-Type") == XML
    assert answer.header("Cache-Control") is None and answer.header("X-Content-Type-Options") is None
    assert expect_ok(get_acl(table, "HEAD"), 200).body == b""


def test_acl_round_trip(table):
    expect_ok(put_acl(table, identifiers(identifier("a", FULL), identifier("b"))), 204)
    # As recorded, times have seven decimals.
    stored = FULL.replace("00:00:00Z", "00:00:00.0000000Z").replace("00.5Z", "00.5000000Z")
    assert get_acl(table).text == identifiers(identifier("a", stored), identifier("b"))


@pytest.mark.parametrize("policy", ["", "<AccessPolicy />", "<AccessPolicy></AccessPolicy>",
                                    "<AccessPolicy><Start></Start><Expiry></Expiry><Permission></Permission></AccessPolicy>"])
def test_acl_with_an_empty_policy(table, policy):
    # As in recording js--access_policy_operations_should_send_a_null_ap.
    expect_ok(put_acl(table, identifiers(identifier("null", policy))), 204)
    assert get_acl(table).text == identifiers(identifier("null"))


def test_acl_with_a_partial_policy(table):
    inner = "<AccessPolicy><Permission>r</Permission></AccessPolicy>"
    expect_ok(put_acl(table, identifiers(identifier("a", inner))), 204)
    assert get_acl(table).text == identifiers(identifier("a", inner))


@pytest.mark.parametrize("body", [None, "", START + "<SignedIdentifiers />", identifiers()])
def test_acl_is_cleared(table, body):
    expect_ok(put_acl(table, identifiers(identifier("a", FULL))), 204)
    expect_ok(put_acl(table, body), 204)
    assert get_acl(table).text == START + "<SignedIdentifiers />"


@pytest.mark.parametrize("body", [
    identifiers(*(identifier(f"id{n}") for n in range(6))), "<Signed", "<Other />", "text",
    identifiers("<SignedIdentifier />"), identifiers(identifier("x" * 65)),
    identifiers(identifier("a", "<AccessPolicy><Start>soon</Start></AccessPolicy>")),
    identifiers(identifier("a", "<AccessPolicy><Permission>xyz</Permission></AccessPolicy>")),
    identifiers(identifier("a"), identifier("a"))])
def test_acl_that_is_refused(table, body):
    expect_ok(put_acl(table, identifiers(identifier("kept"))), 204)
    answer = put_acl(table, body)
    assert answer.status == 400 and answer.code, answer
    assert answer.header("Content-Type").startswith(XML)
    assert get_acl(table).text == identifiers(identifier("kept"))


def test_acl_six_identifiers(table):
    answer = put_acl(table, identifiers(*(identifier(f"id{n}") for n in range(6))))
    expect_error(answer, 400, "InvalidXmlDocument")
    assert answer.header("x-ms-error-code") == "InvalidXmlDocument"


def test_acl_of_no_table(endpoint):
    for answer in (get_acl(Table(endpoint, "nosuchtable")), put_acl(Table(endpoint, "nosuchtable"), identifiers())):
        expect_error(answer, 404, "TableNotFound")
        assert b"<m:error" in answer.body


def test_acl_goes_with_its_table(table):
    expect_ok(put_acl(table, identifiers(identifier("a"))), 204)
    table.drop()
    table.create()
    assert get_acl(table).text == START + "<SignedIdentifiers />"


@pytest.fixture
def service(endpoint):
    """The account, with default service properties."""
    endpoint_of_test = endpoint
    yield endpoint_of_test
    expect_ok(put_properties(endpoint, ALL_OFF), 202)


def put_properties(endpoint, inner, start=START):
    """PUT comp=properties."""
    xml = f"{start}<StorageServiceProperties>{inner}</StorageServiceProperties>"
    return endpoint.send("PUT", "/?restype=service&comp=properties", {"Content-Type": XML, "Accept": XML}, xml)


def get_properties(endpoint):
    """The text inside the root element."""
    answer = expect_ok(endpoint.send("GET", "/?restype=service&comp=properties", {"Accept": XML}), 200)
    assert answer.body.startswith(BOM + START.encode())
    return re.fullmatch(re.escape(START) + "<StorageServiceProperties>(.*)</StorageServiceProperties>", answer.text,
                        re.DOTALL).group(1)


def test_properties_sections_change_alone(service):
    expect_ok(put_properties(service, ALL_OFF), 202)
    assert get_properties(service) == ALL_OFF
    answer = expect_ok(put_properties(service, LOGGING_ON), 202)
    assert answer.body == b"" and answer.header("Cache-Control") is None
    assert get_properties(service) == ALL_OFF.replace(LOGGING_OFF, LOGGING_ON)
    expect_ok(put_properties(service, f"<HourMetrics>{METRICS_ON}</HourMetrics>"), 202)
    assert get_properties(service) == (f"{LOGGING_ON}<HourMetrics>{METRICS_ON}</HourMetrics>"
                                       f"<MinuteMetrics>{METRICS_OFF}</MinuteMetrics><Cors />")
    expect_ok(put_properties(service, LOGGING_OFF), 202)
    assert f"<HourMetrics>{METRICS_ON}</HourMetrics>" in get_properties(service)


def test_properties_with_a_byte_order_mark(service):
    expect_ok(put_properties(service, LOGGING_ON, "\ufeff" + START), 202)
    assert LOGGING_ON in get_properties(service)


@pytest.mark.parametrize("inner", [
    "<Logging><Version>1.0</Version></Logging>",
    LOGGING_ON.replace("<Days>7</Days>", "<Days>366</Days>"), LOGGING_ON.replace("<Days>7</Days>", "<Days>0</Days>"),
    LOGGING_ON.replace("<Days>7</Days>", ""), LOGGING_ON.replace("true</Read>", "maybe</Read>"),
    f"<HourMetrics>{METRICS_ON.replace('<IncludeAPIs>true</IncludeAPIs>', '')}</HourMetrics>",
    "<Cors>" + rule() * 6 + "</Cors>", f"<Cors>{rule(methods='JUMP')}</Cors>", f"<Cors>{rule(origins='')}</Cors>",
    f"<Cors>{rule(origins='x' * 257)}</Cors>", f"<Cors>{rule(age='soon')}</Cors>", f"<Cors>{rule(age=-1)}</Cors>",
    f"<Cors>{rule(headers='x-a*,x-b*,x-c*')}</Cors>", "<Logging", "<Unknown />"])
def test_properties_that_are_refused(service, inner):
    before = get_properties(service)
    answer = put_properties(service, inner)
    assert answer.status == 400 and answer.code, answer
    assert answer.header("x-ms-error-code") == answer.code
    assert get_properties(service) == before


def test_properties_codes_as_recorded(service):
    # Recordings python--test_table_service_properties_test_retention_too_long and _test_too_many_cors_rules.
    expect_error(put_properties(service, LOGGING_ON.replace("<Days>7</Days>", "<Days>366</Days>")), 400,
                 "InvalidXmlDocument")
    expect_error(put_properties(service, "<Cors>" + rule() * 6 + "</Cors>"), 400, "InvalidXmlDocument")


def preflight(endpoint, origin, method, headers=None, path="/Tables"):
    """An OPTIONS request; never signed."""
    fields = {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers,
              "x-ms-version": None, "x-ms-date": None}
    return endpoint.send("OPTIONS", path, fields, auth=None)


@pytest.fixture
def cors(service):
    """The account with two CORS rules."""
    rules = (rule("http://a.example,http://b.example", "GET,PUT", "content-type,x-ms-meta-*", "x-ms-request-id,ETag", 77)
             + rule("http://c.example", "DELETE", "", "", 0))
    expect_ok(put_properties(service, f"<Cors>{rules}</Cors>"), 202)
    assert rules in get_properties(service)
    return service


def test_preflight(cors):
    answer = expect_ok(preflight(cors, "http://b.example", "PUT", "content-type, x-ms-meta-any"), 200)
    assert answer.header("Access-Control-Allow-Origin") == "http://b.example"
    assert answer.header("Access-Control-Allow-Credentials") == "true"
    assert answer.header("Access-Control-Max-Age") == "77"
    assert "PUT" in answer.header("Access-Control-Allow-Methods")
    assert "x-ms-meta-any" in answer.header("Access-Control-Allow-Headers")
    assert answer.body == b""


@pytest.mark.parametrize("origin,method,headers", [
    ("http://b.example", "DELETE", None), ("http://z.example", "GET", None), ("HTTP://B.example", "GET", None),
    ("http://b.example", "GET", "authorization"), ("http://c.example", "DELETE", "content-type")])
def test_preflight_without_rule(cors, origin, method, headers):
    expect_error(preflight(cors, origin, method, headers), 403, "CorsPreflightFailure")


@pytest.mark.parametrize("origin,method", [(None, "GET"), ("http://a.example", None)])
def test_preflight_without_its_headers(cors, origin, method):
    expect_error(preflight(cors, origin, method), 400, "InvalidHeaderValue")


def test_preflight_when_there_are_no_rules(service):
    expect_ok(put_properties(service, "<Cors />"), 202)
    expect_error(preflight(service, "http://a.example", "GET"), 403, "CorsPreflightFailure")


def test_preflight_of_any_path(cors):
    expect_ok(preflight(cors, "http://a.example", "GET", path="/nosuch(PartitionKey='a',RowKey='b')"), 200)


def test_actual_request_with_origin(cors):
    answer = cors.send("GET", "/Tables", {"Accept": JSON_MINIMAL, "Origin": "http://a.example"})
    assert answer.header("Access-Control-Allow-Origin") == "http://a.example"
    assert answer.header("Access-Control-Allow-Credentials") == "true"
    assert "x-ms-request-id" in answer.header("Access-Control-Expose-Headers")
    assert "Origin" in (answer.header("Vary") or "")


def test_actual_request_without_match(cors):
    answer = expect_ok(cors.send("GET", "/Tables", {"Accept": JSON_MINIMAL, "Origin": "http://z.example"}), 200)
    assert answer.header("Access-Control-Allow-Origin") is None
    assert "Origin" in (answer.header("Vary") or "")
    assert cors.send("GET", "/Tables").header("Access-Control-Allow-Origin") is None


def test_any_origin(service):
    expect_ok(put_properties(service, f"<Cors>{rule(methods='GET,MERGE')}</Cors>"), 202)
    answer = service.send("GET", "/Tables", {"Accept": JSON_MINIMAL, "Origin": "http://x.example"})
    assert answer.header("Access-Control-Allow-Origin") == "*"
    assert answer.header("Access-Control-Allow-Credentials") is None
    answer = expect_ok(preflight(service, "http://x.example", "MERGE", "any-header"), 200)
    assert answer.header("Access-Control-Allow-Origin") == "*"
    assert answer.header("Access-Control-Allow-Credentials") is None


def test_patch_is_a_method_of_rules(service):
    expect_ok(put_properties(service, f"<Cors>{rule(methods='PATCH')}</Cors>"), 202)
    expect_ok(preflight(service, "http://x.example", "PATCH"), 200)


def test_metrics_in_one_element(service):
    before = get_properties(service)
    expect_error(put_properties(service, f"<Metrics>{METRICS_ON}</Metrics>"), 400, "InvalidXmlDocument")
    assert get_properties(service) == before
