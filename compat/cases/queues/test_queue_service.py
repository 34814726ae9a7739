"""Access policies of a queue, service properties and CORS."""

import re

import pytest
from messages import Queue, error_details
from service_xml import ALL_OFF, LOGGING_OFF, LOGGING_ON, METRICS_OFF, METRICS_ON, START, identifier, identifiers, rule
from tables import XML, expect_error, expect_ok

FULL = ("<AccessPolicy><Start>2024-01-01T00:00:00Z</Start><Expiry>2034-01-01T00:00:00.5Z</Expiry>"
        "<Permission>raup</Permission></AccessPolicy>")
EMPTY = START + "<SignedIdentifiers />"


def policies(queue):
    """The access policies of a queue, as answered."""
    return expect_ok(queue.acl(), 200).text


def test_acl_is_empty_at_first(queue):
    assert policies(queue) == EMPTY
    assert expect_ok(queue.acl("HEAD"), 200).body == b""


def test_acl_round_trip(queue):
    assert expect_ok(queue.set_acl(identifiers(identifier("a", FULL), identifier("b"))), 204).body == b""
    # As recorded, times have seven decimals.
    stored = FULL.replace("00:00:00Z", "00:00:00.0000000Z").replace("00.5Z", "00.5000000Z")
    assert policies(queue) == identifiers(identifier("a", stored), identifier("b"))


def test_acl_of_whole_days(queue):
    # As recorded (python--test_queue_test_set_queue_acl_with_signed_identifiers).
    days = "<AccessPolicy><Start>2011-10-11</Start><Expiry>2011-10-12</Expiry><Permission>r</Permission></AccessPolicy>"
    expect_ok(queue.set_acl(identifiers(identifier("a", days))), 204)
    assert policies(queue) == identifiers(identifier("a", days.replace("</Start>", "T00:00:00.0000000Z</Start>")
                                                     .replace("</Expiry>", "T00:00:00.0000000Z</Expiry>")))


@pytest.mark.parametrize("body", [None, "", START + "<SignedIdentifiers />", identifiers()])
def test_acl_is_cleared(queue, body):
    expect_ok(queue.set_acl(identifiers(identifier("a", FULL))), 204)
    expect_ok(queue.set_acl(body), 204)
    assert "<Id>" not in policies(queue)


def test_five_policies(queue):
    expect_ok(queue.set_acl(identifiers(*(identifier(f"id{n}", FULL) for n in range(5)))), 204)
    assert re.findall("<Id>(.*?)</Id>", policies(queue)) == [f"id{n}" for n in range(5)]


@pytest.mark.parametrize("body", [
    identifiers(*(identifier(f"id{n}") for n in range(6))), "<Signed", "<Other />", "text",
    identifiers("<SignedIdentifier />"), identifiers(identifier("x" * 65)),
    identifiers(identifier("a", "<AccessPolicy><Start>soon</Start></AccessPolicy>")),
    identifiers(identifier("a", "<AccessPolicy><Permission>rwdl</Permission></AccessPolicy>")),
    identifiers(identifier("a"), identifier("a"))])
def test_acl_that_is_refused(queue, body):
    expect_ok(queue.set_acl(identifiers(identifier("kept"))), 204)
    answer = queue.set_acl(body)
    assert answer.status == 400 and answer.code, answer
    assert re.findall("<Id>(.*?)</Id>", policies(queue)) == ["kept"]


def test_error_of_a_permission_that_queues_do_not_know(queue):
    # As recorded (js--queueclient_setaccesspolicy_negative).
    answer = queue.set_acl(identifiers(identifier("a", FULL.replace("raup", "rwdl"))))
    expect_error(answer, 400, "InvalidXmlDocument")
    assert error_details(answer) == {"LineNumber": "0", "LinePosition": "0", "Reason": ""}
    assert b"<Reason />" in answer.body


@pytest.fixture
def service(endpoint):
    """The account, with default service properties after the case."""
    yield endpoint
    expect_ok(put_properties(endpoint, ALL_OFF), 202)


def put_properties(endpoint, inner):
    """PUT comp=properties."""
    xml = f"{START}<StorageServiceProperties>{inner}</StorageServiceProperties>"
    return endpoint.send("PUT", "/?restype=service&comp=properties", {"Content-Type": XML}, xml)


def get_properties(endpoint):
    """The text inside the root element."""
    answer = expect_ok(endpoint.send("GET", "/?restype=service&comp=properties"), 200)
    return re.search("<StorageServiceProperties>(.*)</StorageServiceProperties>", answer.text, re.DOTALL)[1]


def test_properties_sections_change_alone(service):
    assert expect_ok(put_properties(service, ALL_OFF), 202).body == b""
    assert get_properties(service) == ALL_OFF
    expect_ok(put_properties(service, LOGGING_ON), 202)
    assert get_properties(service) == ALL_OFF.replace(LOGGING_OFF, LOGGING_ON)
    expect_ok(put_properties(service, f"<HourMetrics>{METRICS_ON}</HourMetrics>"), 202)
    assert get_properties(service) == (f"{LOGGING_ON}<HourMetrics>{METRICS_ON}</HourMetrics>"
                                       f"<MinuteMetrics>{METRICS_OFF}</MinuteMetrics><Cors />")


def test_booleans_in_capitals(service):
    # As recorded, the old Python client writes `True`; the answer has small letters, and children in their order.
    written = ("<Logging><Version>1.0</Version><Delete>True</Delete><Read>False</Read><Write>True</Write>"
               "<RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></Logging>")
    expect_ok(put_properties(service, written), 202)
    assert ("<Logging><Version>1.0</Version><Read>false</Read><Write>true</Write><Delete>true</Delete>"
            "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>") in get_properties(service)


@pytest.mark.parametrize("inner", [
    "<Logging><Version>1.0</Version></Logging>", LOGGING_ON.replace("<Days>7</Days>", "<Days>366</Days>"),
    LOGGING_ON.replace("<Days>7</Days>", "<Days>0</Days>"), LOGGING_ON.replace("<Days>7</Days>", ""),
    LOGGING_ON.replace("true</Read>", "maybe</Read>"), "<Cors>" + rule() * 6 + "</Cors>",
    f"<Cors>{rule(methods='JUMP')}</Cors>", f"<Cors>{rule(origins='')}</Cors>", f"<Cors>{rule(age=-1)}</Cors>", "<Logging",
    "<Unknown />"])
def test_properties_that_are_refused(service, inner):
    before = get_properties(service)
    answer = put_properties(service, inner)
    assert answer.status == 400 and answer.code, answer
    assert get_properties(service) == before


def test_properties_of_queues_are_not_those_of_other_accounts(service, second):
    expect_ok(put_properties(service, LOGGING_ON), 202)
    assert LOGGING_ON not in get_properties(second)


def preflight(endpoint, origin, method, headers=None, path="/?comp=list"):
    """An OPTIONS request; never signed."""
    fields = {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers,
              "x-ms-version": None, "x-ms-date": None}
    return endpoint.send("OPTIONS", path, fields, auth=None)


@pytest.fixture
def cors(service):
    """The account with two CORS rules."""
    rules = (rule("http://a.example,http://b.example", "GET,PUT", "content-type,x-ms-meta-*",
                  "x-ms-request-id,x-ms-approximate-messages-count", 77) + rule("http://c.example", "DELETE", "", "", 0))
    expect_ok(put_properties(service, f"<Cors>{rules}</Cors>"), 202)
    return service


def test_cors_rules_come_back(cors):
    assert ("<CorsRule><AllowedMethods>DELETE</AllowedMethods><AllowedOrigins>http://c.example</AllowedOrigins>"
            "<AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>0</MaxAgeInSeconds></CorsRule>") in get_properties(cors)


def test_preflight(cors):
    for path in ("/?comp=list", "/no-such-queue/messages"):
        answer = expect_ok(preflight(cors, "http://b.example", "PUT", "content-type, x-ms-meta-any", path), 200)
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


def test_actual_requests(cors, new_name):
    queue = Queue(cors, new_name("queue"))
    queue.create()
    answer = queue.metadata(headers={"Origin": "http://a.example"})
    assert answer.header("Access-Control-Allow-Origin") == "http://a.example"
    assert answer.header("Access-Control-Allow-Credentials") == "true"
    assert "x-ms-approximate-messages-count" in answer.header("Access-Control-Expose-Headers")
    answer = expect_ok(queue.metadata(headers={"Origin": "http://z.example"}), 200)
    assert answer.header("Access-Control-Allow-Origin") is None
    assert "Origin" in (answer.header("Vary") or "")
    assert queue.metadata().header("Access-Control-Allow-Origin") is None
    queue.drop()


def test_any_origin(service):
    expect_ok(put_properties(service, f"<Cors>{rule(methods='GET,POST')}</Cors>"), 202)
    answer = service.send("GET", "/?comp=list", {"Origin": "http://x.example"})
    assert answer.header("Access-Control-Allow-Origin") == "*"
    answer = expect_ok(preflight(service, "http://x.example", "POST", "any-header"), 200)
    assert answer.header("Access-Control-Allow-Origin") == "*"
