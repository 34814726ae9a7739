"""TLS and bearer tokens, with `--oauth basic`: the server checks the claims of a token, not its signature."""

import time

import pytest
from driver import signing
from driver.certificate import make_token
from messages import Queue
from tables import expect_ok


def test_shared_key_over_tls(secure, new_name):
    queue = Queue(secure, new_name("queue"))
    queue.create()
    queue.change(queue.add("text"), "other")
    assert queue.texts() == ["other"]
    assert 'ServiceEndpoint="https://' in secure.send("GET", "/?comp=list").text


def test_host_style_over_tls(secure):
    expect_ok(secure.sibling(host_style="queue.localhost").send("GET", "/?comp=list"), 200)


def test_https_only_sas(secure, new_name):
    queue = Queue(secure, new_name("queue"))
    queue.create()
    sas = signing.account_sas(secure.account, secure.key, permissions="r", services="q", protocol="https")
    expect_ok(queue.seen_with(sas).peek(), 200)


def test_bearer(secure, new_name):
    queue = Queue(secure, new_name("queue"), auth="Bearer " + make_token())
    queue.create()
    message = queue.add("text")
    queue.change(message, "other")
    [taken] = queue.take()
    expect_ok(queue.delete(taken.id, taken.receipt), 204)
    assert queue.count() == 0
    expect_ok(queue.drop(), 204)


@pytest.mark.parametrize("audience", ["https://storage.azure.com", "https://storage.azure.com/",
                                      "https://devstoreaccount1.queue.core.windows.net",
                                      "e406a681-f3d4-42a8-90b6-c2b029497af1"])
def test_audiences(secure, audience):
    expect_ok(secure.send("GET", "/?comp=list", auth="Bearer " + make_token(aud=audience)), 200)


@pytest.mark.parametrize("claims", [
    {"exp": int(time.time()) - 3600}, {"nbf": int(time.time()) + 3600}, {"aud": "https://elsewhere.example"},
    {"aud": "https://devstoreaccount1.table.core.windows.net"}, {"aud": None}, {"iss": "https://elsewhere.example/"},
    {"iss": None}, {"exp": None}])
def test_tokens_that_are_refused(secure, claims):
    answer = secure.send("GET", "/?comp=list", auth="Bearer " + make_token(**claims))
    assert answer.status in (401, 403) and answer.code, answer


def test_bearer_needs_tls(endpoint):
    answer = endpoint.send("GET", "/?comp=list", auth="Bearer " + make_token())
    assert answer.status in (400, 401, 403) and answer.code, answer
