"""Signatures of the Table service, independent of any client library.

Sources: "Authorize with Shared Key", "Constructing an Account SAS", "Constructing a Service SAS". This
implementation in plain Python keeps the suite independent of the server and of the official clients.
"""

import base64
import datetime
import email.utils
import hashlib
import hmac
import urllib.parse

WELL_KNOWN_ACCOUNT = "devstoreaccount1"
WELL_KNOWN_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


def hmac_base64(key, text):
    """Base64 of the HMAC-SHA256 of `text` under the base64 account key."""
    mac = hmac.new(base64.b64decode(key), text.encode("utf-8"), hashlib.sha256)
    return base64.b64encode(mac.digest()).decode()


def http_date(offset_s=0):
    """The current time plus `offset_s` seconds, as an RFC 1123 date."""
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=offset_s)
    return email.utils.format_datetime(now, usegmt=True)


def iso_time(offset_s=0):
    """The current time plus `offset_s` seconds, as a SAS has it."""
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=offset_s)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def canonical_resource(account, target):
    """`/account`, the raw path, and `?comp=…` if the query has it."""
    path, _, query = target.partition("?")
    resource = "/" + account + path
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name == "comp":
            return resource + "?comp=" + urllib.parse.unquote(value)
    return resource


def shared_key(account, key, method, target, headers):
    """The `Authorization` value of Shared Key for the request as it is sent.

    `headers` maps lower-case names to values. If it has both `x-ms-date` and `date`, the former is signed.
    """
    text = "\n".join(
        [
            method,
            headers.get("content-md5", ""),
            headers.get("content-type", ""),
            headers.get("x-ms-date") or headers.get("date", ""),
            canonical_resource(account, target),
        ]
    )
    return f"SharedKey {account}:{hmac_base64(key, text)}"


def shared_key_lite(account, key, target, headers):
    """The `Authorization` value of Shared Key Lite."""
    date = headers.get("x-ms-date") or headers.get("date", "")
    text = date + "\n" + canonical_resource(account, target)
    return f"SharedKeyLite {account}:{hmac_base64(key, text)}"


def account_sas(account, key, *, permissions, types="sco", services="t", version="2019-02-02",
                expiry=None, start="", ip="", protocol=""):
    """An account SAS as a list of query pairs, not yet encoded."""
    expiry = expiry or iso_time(3600)
    fields = [account, permissions, services, types, start, expiry, ip, protocol, version]
    if version >= "2020-12-06":
        fields.append("")  # the encryption scope
    signature = hmac_base64(key, "".join(field + "\n" for field in fields))
    pairs = [("sv", version), ("ss", services), ("srt", types), ("st", start), ("se", expiry),
             ("sp", permissions), ("sip", ip), ("spr", protocol), ("sig", signature)]
    return [(name, value) for name, value in pairs if value]


def table_sas(account, key, table, *, permissions="", version="2019-02-02", start="", expiry=None,
              policy="", ip="", protocol="", first=("", ""), last=("", "")):
    """A table SAS as a list of query pairs; `first` and `last` are (PartitionKey, RowKey)."""
    if expiry is None:
        expiry = "" if policy else iso_time(3600)
    prefix = "/table/" if version >= "2015-02-21" else "/"
    canonical = f"{prefix}{account}/{table.lower()}"
    if version >= "2015-04-05":
        fields = [permissions, start, expiry, canonical, policy, ip, protocol, version]
    else:
        fields = [permissions, start, expiry, canonical, policy, version]
    signature = hmac_base64(key, "\n".join([*fields, *first, *last]))
    pairs = [("sv", version), ("tn", table), ("st", start), ("se", expiry), ("sp", permissions),
             ("si", policy), ("sip", ip), ("spr", protocol), ("spk", first[0]), ("srk", first[1]),
             ("epk", last[0]), ("erk", last[1]), ("sig", signature)]
    return [(name, value) for name, value in pairs if value]


def encode_query(pairs):
    """Query pairs as text. Percent-encodes every character except unreserved ones, and except `$` in names."""
    quote = urllib.parse.quote
    return "&".join(f"{quote(name, safe='$')}={quote(value, safe='')}" for name, value in pairs)


def with_query(target, pairs):
    """`target` with the pairs added to its query."""
    return target + ("&" if "?" in target else "?") + encode_query(pairs)
