"""Signatures of the Queue service, independent of any client library.

Shared Key of Blob and Queue signs more of a request than that of Table. Account SAS are those of `signing`.
Sources: "Authorize with Shared Key", "Create a service SAS".
"""

import urllib.parse

from .signing import canonical_resource, hmac_base64, iso_time

# Headers whose values are signed by position.
POSITIONS = ("content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
             "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range")


def canonical_headers(headers):
    """All `x-ms-` headers in the order of their names, a line for each. `headers` has lower-case names."""
    version = headers.get("x-ms-version", "")
    lines = []
    for name in sorted(name for name in headers if name.startswith("x-ms-")):
        value = " ".join(headers[name].split())
        # Before this version, empty values are not signed.
        if value or version >= "2016-05-31":
            lines.append(f"{name}:{value}\n")
    return "".join(lines)


def full_resource(account, target):
    """`/account`, the raw path, and a line for each query parameter in the order of their names."""
    path, _, query = target.partition("?")
    values = {}
    for name, value in urllib.parse.parse_qsl(query.replace("+", "%2B"), keep_blank_values=True):
        values.setdefault(name.lower(), []).append(value)
    return f"/{account}{path}" + "".join(f"\n{name}:{','.join(sorted(found))}" for name, found in sorted(values.items()))


def string_to_sign(account, method, target, headers):
    """The text that Shared Key signs."""
    values = dict(headers)
    if "x-ms-date" in values:
        values["date"] = ""
    if values.get("content-length") == "0" and values.get("x-ms-version", "") >= "2015-02-21":
        values["content-length"] = ""
    lines = [method, *(values.get(name, "") for name in POSITIONS)]
    return "\n".join(lines) + "\n" + canonical_headers(headers) + full_resource(account, target)


def shared_key(account, key, method, target, headers):
    """The `Authorization` value of Shared Key for the request as it is sent."""
    return f"SharedKey {account}:{hmac_base64(key, string_to_sign(account, method, target, headers))}"


def shared_key_lite(account, key, method, target, headers):
    """The `Authorization` value of Shared Key Lite."""
    date = "" if "x-ms-date" in headers else headers.get("date", "")
    lines = [method, headers.get("content-md5", ""), headers.get("content-type", ""), date]
    text = "\n".join(lines) + "\n" + canonical_headers(headers) + canonical_resource(account, target)
    return f"SharedKeyLite {account}:{hmac_base64(key, text)}"


def queue_sas(account, key, queue, *, permissions="", version="2019-02-02", start="", expiry=None, policy="", ip="",
              protocol=""):
    """A queue SAS as a list of query pairs, not yet encoded."""
    if expiry is None:
        expiry = "" if policy else iso_time(3600)
    prefix = "/queue/" if version >= "2015-02-21" else "/"
    fields = [permissions, start, expiry, f"{prefix}{account}/{queue}", policy]
    fields += [ip, protocol, version] if version >= "2015-04-05" else [version]
    pairs = [("sv", version), ("st", start), ("se", expiry), ("sp", permissions), ("si", policy), ("sip", ip),
             ("spr", protocol), ("sig", hmac_base64(key, "\n".join(fields)))]
    return [(name, value) for name, value in pairs if value]
