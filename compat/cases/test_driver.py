"""Tests of the driver: known inputs and results of signatures and of the multipart parser."""

import pytest
from driver import queue_signing, signing
from driver.endpoint import Endpoint
from driver.multipart import BatchError, Dialect, inner_answers
from driver.signing import WELL_KNOWN_ACCOUNT as ACCOUNT
from driver.signing import WELL_KNOWN_KEY as KEY
from driver.wire import Answer

DATE = {"x-ms-date": "Tue, 02 Jan 2024 03:04:05 GMT"}


@pytest.mark.parametrize("method,target,headers,signature", [
    ("POST", "/devstoreaccount1/Tables", {"content-type": "application/json;odata=nometadata"},
     "iiB1b35vtZOiKFEgyj4CUWkdW8t3ek43B3q++T8svbQ="),
    ("POST", "/Tables", {"content-type": "application/json;odata=nometadata"},
     "Rn+2wArHeUpjFpAse6P882KiqmL+TKARtmm20FGah3Y="),
    ("GET", "/devstoreaccount1/MyTable(PartitionKey='p%27%271%20%C3%A9',RowKey='r%23%251')", {},
     "9Olm+Pu2gynqZ1vUcZzK6r1H/1uuvGUaMgv7fmCbHdc="),
    ("GET", "/devstoreaccount1/?restype=service&comp=properties", {}, "cVjyGZEOACfh+foRQv/6yUK4ToC6ihgKULztadbEMTs="),
    ("POST", "/devstoreaccount1/$batch", {"content-type": "multipart/mixed; boundary=batch_1"},
     "EqoXMcYc6tT1SRHHqk5k+tugxoKGjtsFulcAx/LZ2ro=")])
def test_shared_key(method, target, headers, signature):
    assert signing.shared_key(ACCOUNT, KEY, method, target, headers | DATE) == f"SharedKey {ACCOUNT}:{signature}"


def test_shared_key_lite():
    signed = signing.shared_key_lite(ACCOUNT, KEY, "/devstoreaccount1/Tables", DATE)
    assert signed == f"SharedKeyLite {ACCOUNT}:vqH9cAkS8xJlO5MTje1QvTgbpxIibsQNqN4+xo6qZpI="


def test_sas():
    table = signing.table_sas(ACCOUNT, KEY, "MyTable", permissions="raud", start="2024-01-02T03:04:05Z",
                              expiry="2034-01-02T03:04:05Z", ip="10.0.0.1-10.0.0.9", protocol="https,http",
                              first=("a", "1"), last=("z", "9"))
    assert dict(table)["sig"] == "Yfrs0B4KXOhqtYtxwhewKeEXRwaRf18evY030/IwOrM="
    account = signing.account_sas(ACCOUNT, KEY, permissions="rla", types="so", start="2024-01-02T03:04:05Z",
                                  expiry="2034-01-02T03:04:05Z")
    assert dict(account)["sig"] == "absYXTCLhSC7X2yptwv1RE9YgPknKLoufeJRtlQtK/M="
    newer = signing.account_sas(ACCOUNT, KEY, permissions="rwdlacup", services="q", expiry="2034-01-02T03:04:05Z",
                                version="2026-10-06")
    assert dict(newer)["sig"] == "1KOyXO4RHG9Ytz1ebMsKOP6j3rEIQGZTRK+0mruRG/8="


def test_shared_key_of_queues():
    headers = {"content-length": "103", "content-type": "application/xml", "x-ms-version": "2021-02-12"} | DATE
    signed = queue_signing.shared_key(ACCOUNT, KEY, "POST",
                                      "/devstoreaccount1/queue1/messages?visibilitytimeout=3&messagettl=-1", headers)
    assert signed == f"SharedKey {ACCOUNT}:vDr9TJRjofG7w9KagrVhBGJTS9ylCtIKdQ34QvaRS4Y="


def test_text_that_shared_key_of_queues_signs():
    # Before 2015-02-21 a length of zero is signed, and before 2016-05-31 no empty header.
    headers = {"content-length": "0", "x-ms-meta-b": "", "x-ms-meta-a": " two  words ", "date": "then"}
    old = queue_signing.string_to_sign("a", "PUT", "/a/q?comp=metadata", headers | {"x-ms-version": "2014-02-14"})
    assert old == ("PUT\n\n\n0\n\n\nthen\n\n\n\n\n\nx-ms-meta-a:two words\nx-ms-version:2014-02-14\n"
                   "/a/a/q\ncomp:metadata")
    new = queue_signing.string_to_sign("a", "PUT", "/a/q?b=%2B+&B=1", headers | DATE | {"x-ms-version": "2019-02-02"})
    assert new == ("PUT\n\n\n\n\n\n\n\n\n\n\n\n"
                   f"x-ms-date:{DATE['x-ms-date']}\nx-ms-meta-a:two words\nx-ms-meta-b:\nx-ms-version:2019-02-02\n"
                   "/a/a/q\nb:++,1")


def test_queue_sas():
    queue = queue_signing.queue_sas(ACCOUNT, KEY, "myqueue", permissions="raup", start="2024-01-02T03:04:05Z",
                                    expiry="2034-01-02T03:04:05Z", version="2026-10-06")
    assert dict(queue)["sig"] == "wr9E45YDSAI2T5/SxIo4jek0MMjGO495dBcqI1+9k9s="


def answer_of(body):
    """A batch answer with this body."""
    return Answer(202, "Accepted", [("Content-Type", "multipart/mixed; boundary=b")], body)


def test_batch_answers():
    part = (b"Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            b"HTTP/1.1 204 No Content\r\nETag: x\r\n\r\n\r\n")
    whole = (b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n" + part + b"--c\r\n" + part
             + b"--c--\r\n--b--\r\n")
    assert [(inner.status, inner.header("etag")) for inner in inner_answers(answer_of(whole))] == [(204, "x")] * 2
    assert [inner.status for inner in inner_answers(answer_of(b"--b\r\n" + part + b"--b--\r\n"))] == [204]
    with pytest.raises(BatchError):
        inner_answers(answer_of(b"--b\r\n" + part))


def test_dialects_write_what_they_say():
    endpoint = Endpoint("http://127.0.0.1:1")
    operation = ("POST", "/T", {"Content-Type": "application/json"}, "{}")
    kind, body = Dialect(line_end="\n", urls="bare", quote_boundary=True).write(endpoint, [operation])
    assert kind == 'multipart/mixed; boundary="batch_1"' and "\r" not in body and "\nPOST /T HTTP/1.1\n" in body
    _, body = Dialect(lower_headers=True).write(endpoint, [operation])
    assert "content-type: application/json" in body
    assert "POST http://127.0.0.1:1/devstoreaccount1/T HTTP/1.1" in body
