"""Shared Key, Shared Key Lite, dates, missing and broken credentials; both URL styles; the secondary."""

import pytest
from driver import signing
from driver.queue_endpoint import QueueEndpoint
from messages import Queue, message_body
from tables import XML, expect_error, expect_ok

LIST = "/?comp=list"


@pytest.mark.parametrize("scheme", ["SharedKey", "SharedKeyLite"])
def test_schemes(endpoint, new_name, scheme):
    queue = Queue(endpoint, new_name("queue"), auth=scheme)
    queue.create({"x-ms-meta-name": "two words"})
    message = queue.add("text", visibilitytimeout=0, messagettl=60)
    assert queue.texts() == ["text"] and queue.count() == 1
    queue.change(message, "other")
    expect_ok(queue.acl(), 200)
    for path in (LIST, "?comp=list", "/?restype=service&comp=properties", "?restype=service&comp=properties"):
        expect_ok(queue.send("GET", path), 200)
    expect_ok(queue.set_acl("<SignedIdentifiers />"), 204)
    expect_ok(queue.drop(), 204)


def test_both_keys(second):
    for key in ("c2Vjb25kIGtleSBvbmU=", "c2Vjb25kIGtleSB0d28="):
        expect_ok(second.sibling(key=key).send("GET", LIST), 200)
    expect_error(second.sibling(key="YW5vdGhlcg==").send("GET", LIST), 403, "AuthenticationFailed")


def test_accounts_are_apart(queue, second):
    other = Queue(second, queue.name)
    expect_error(other.peek(), 404, "QueueNotFound")
    other.create()
    other.add("other")
    assert queue.texts() == []
    other.drop()


@pytest.mark.parametrize("scheme", ["SharedKey", "SharedKeyLite"])
def test_wrong_key(endpoint, scheme):
    expect_error(endpoint.send("GET", LIST, auth=scheme, bad_key=True), 403, "AuthenticationFailed")


def test_unknown_account(endpoint):
    expect_error(endpoint.sibling(account="unknown").send("GET", LIST), 403, "AuthenticationFailed")


def test_account_of_the_signature_must_be_the_one_addressed(endpoint, second):
    headers = {"x-ms-date": signing.http_date(), "x-ms-version": endpoint.version}
    signed = second.authorization("SharedKey", "GET", endpoint.prefix + LIST, headers)
    expect_error(endpoint.send("GET", LIST, headers, auth=signed), 403, "AuthenticationFailed")


CHANGES = {
    "method": {"method": "PUT"}, "path": {"path": "/other/messages"}, "query": {"query": "?messagettl=70"},
    "query name": {"query": "?messagettl=60&visibilitytimeout=1"}, "date": {"x-ms-date": signing.http_date(-60)},
    "type": {"Content-Type": "text/plain"}, "length": {"Content-Length": "1"}, "digest": {"Content-MD5": "x"},
    "header": {"x-ms-client-request-id": "other"}, "language": {"Content-Language": "en"},
    "encoding": {"Content-Encoding": "gzip"}, "range": {"Range": "bytes=0-1"}, "condition": {"If-Match": "*"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_signature_covers(queue, change):
    endpoint, body = queue.endpoint, message_body("text")
    headers = {"Content-Type": XML, "x-ms-date": signing.http_date(), "x-ms-version": endpoint.version,
               "x-ms-client-request-id": "mine", "Content-Length": str(len(body))}
    signed = {"method": "POST", "path": f"/{queue.name}/messages", "query": "?messagettl=60"} | headers
    altered = signed | CHANGES[change]
    fields = {name: value for name, value in altered.items() if name not in ("method", "path", "query")}
    good, bad = (endpoint.authorization("SharedKey", one["method"], endpoint.prefix + one["path"] + one["query"], sent)
                 for one, sent in ((signed, headers), (altered, fields)))
    path = signed["path"] + signed["query"]
    expect_error(endpoint.send("POST", path, headers, body, auth=bad), 403, "AuthenticationFailed")
    assert queue.count() == 0
    expect_ok(endpoint.send("POST", path, headers, body, auth=good), 201)


def test_headers_in_any_case(endpoint):
    headers = {"X-MS-Client-Request-Id": " a b ", "X-Ms-Meta-B": "2", "x-ms-meta-a": "1", "x-ms-meta-a1": "3"}
    expect_ok(endpoint.send("GET", LIST, headers), 200)


def test_blanks_in_headers(endpoint):
    # As the service documents, several blanks are signed as one.
    expect_ok(endpoint.send("GET", LIST, {"x-ms-client-request-id": "a  b\t c"}), 200)


def test_empty_headers(endpoint):
    # From 2016-05-31 on, an empty value is signed.
    for version in ("2015-12-11", "2016-05-31", "2021-12-02"):
        expect_ok(endpoint.send("GET", LIST, {"x-ms-client-request-id": "", "x-ms-version": version}), 200)


def test_zero_length(queue):
    # Until 2014-02-14, a length of zero is signed.
    for version in ("2014-02-14", "2015-02-21", "2021-12-02"):
        expect_ok(queue.send("PUT", f"/{queue.name}?comp=metadata", {"x-ms-version": version}), 204)


def test_repeated_parameters(endpoint):
    expect_ok(endpoint.send("GET", "/?comp=list&unknown=b&unknown=a"), 200)


def test_parameters_are_signed_decoded(endpoint):
    for query in ("prefix=a%2Fb", "prefix=%c3%a9", "PREFIX=a", "prefix=", "prefix=a%2Bb", "prefix=a%20b"):
        assert endpoint.send("GET", f"/?comp=list&{query}").status in (200, 400), query


@pytest.mark.parametrize("minutes,fine", [(-14, True), (14, True), (-16, False), (16, False), (-60 * 24, False)])
def test_clock_skew(endpoint, minutes, fine):
    answer = endpoint.send("GET", LIST, date_offset_s=60 * minutes)
    if fine:
        expect_ok(answer, 200)
    else:
        expect_error(answer, 403, "AuthenticationFailed")


def test_date_header_alone(endpoint):
    expect_ok(endpoint.send("GET", LIST, {"x-ms-date": None, "Date": signing.http_date()}), 200)


def test_both_dates(endpoint):
    expect_ok(endpoint.send("GET", LIST, {"Date": signing.http_date(-60)}), 200)


@pytest.mark.parametrize("date", [None, "yesterday", "2024-01-01T00:00:00Z"])
def test_date_without_sense(endpoint, date):
    answer = endpoint.send("GET", LIST, {"x-ms-date": date})
    assert answer.status in (400, 403) and answer.code, answer


@pytest.mark.parametrize("value", ["SharedKey ", "SharedKey devstoreaccount1", "SharedKey :", "Basic YTpi", "nonsense",
                                   "SharedKey devstoreaccount1:not base64!"])
def test_broken_authorization(endpoint, value):
    answer = endpoint.send("GET", LIST, auth=value)
    assert (answer.status, answer.code) in ((400, "InvalidAuthenticationInfo"), (403, "AuthenticationFailed")), answer


def test_no_credentials(endpoint):
    # As the Table service: for versions that support bearer tokens, the answer is 401 with a challenge.
    answer = endpoint.send("GET", LIST, auth=None)
    assert answer.status == 401 and answer.code in ("InvalidAuthenticationInfo", "NoAuthenticationInformation"), answer
    assert (answer.header("WWW-Authenticate") or "").startswith("Bearer authorization_uri="), answer
    assert endpoint.send("GET", LIST, {"x-ms-version": "2016-05-31"}, auth=None).status in (401, 403)


def test_nothing_happens_without_credentials(queue):
    message = queue.add()
    anonymous = Queue(queue.endpoint, queue.name, auth=None)
    for answer in (anonymous.put(), anonymous.get(), anonymous.peek(), anonymous.delete(message.id, message.receipt),
                   anonymous.update(message.id, message.receipt, "other"), anonymous.clear(), anonymous.drop(),
                   anonymous.metadata(), anonymous.acl(), anonymous.set_metadata({"x-ms-meta-a": "1"})):
        assert answer.status in (401, 403), answer
    assert [(message.text, message.dequeue_count) for message in queue.look()] == [("text", "0")]


def test_table_signature_is_refused(endpoint):
    headers = {"x-ms-date": signing.http_date(), "x-ms-version": endpoint.version}
    signed = signing.shared_key(endpoint.account, endpoint.key, "GET", endpoint.prefix + LIST, headers)
    expect_error(endpoint.send("GET", LIST, headers, auth=signed), 403, "AuthenticationFailed")


def test_host_style(endpoint, queue):
    host = endpoint.sibling(host_style="queue.localhost")
    seen = Queue(host, queue.name)
    seen.add("text")
    assert seen.texts() == queue.texts() == ["text"]
    assert f'ServiceEndpoint="{host.base}' in expect_ok(host.send("GET", LIST), 200).text
    expect_ok(host.send("GET", "/?restype=service&comp=properties"), 200)
    expect_ok(seen.clear(), 204)


def test_stats_on_the_secondary(endpoint):
    for at in (endpoint, endpoint.sibling(host_style="queue.localhost")):
        answer = expect_ok(at.send("GET", "/?restype=service&comp=stats", secondary=True), 200)
        assert "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>" in answer.text


def test_stats_on_the_primary(endpoint):
    # Unconfirmed, as for the Table service: an error.
    answer = endpoint.send("GET", "/?restype=service&comp=stats")
    assert answer.status in (400, 403) and answer.code, answer


def test_secondary_reads(queue):
    queue.add("text")
    path = f"/{queue.name}/messages?peekonly=true"
    assert "<MessageText>text<" in expect_ok(queue.endpoint.send("GET", path, secondary=True), 200).text
    expect_ok(queue.endpoint.send("GET", f"/{queue.name}?comp=metadata", secondary=True), 200)
    expect_ok(queue.endpoint.send("GET", LIST, secondary=True), 200)


def test_secondary_does_not_write(queue):
    queue.add("text")
    endpoint = queue.endpoint
    for method, path in (("POST", f"/{queue.name}/messages"), ("DELETE", f"/{queue.name}/messages"), ("PUT", f"/{queue.name}"),
                         ("DELETE", f"/{queue.name}"), ("PUT", f"/{queue.name}?comp=metadata")):
        answer = endpoint.send(method, path, None, message_body("no") if method == "POST" else None, secondary=True)
        assert answer.status in (400, 403) and answer.code, answer
    assert queue.texts() == ["text"]


def test_connection_string(endpoint):
    assert QueueEndpoint(endpoint.url, endpoint.account, endpoint.key).base in endpoint.connection_string()
