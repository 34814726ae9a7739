"""Sends recorded requests, with values in place of marks, and with new signatures."""

import re
import urllib.parse

from driver import signing

CONTENT_LENGTH = re.compile(r"(?im)^(content-length:[ \t]*)\d+")


def send(endpoint, marks, request, token=None):
    """Sends one recorded request; `token` is a bearer token to use in place of Shared Key."""
    path = marks.fill(request["path"], encode_tokens=True)
    auth = f"Bearer {token}" if token else "SharedKey"
    if re.search(r"[?&]sig=", path):
        path, auth = resign(endpoint, path), None
    # The driver must not add default headers that the recorded client did not send.
    unsent = {"accept": None, "x-ms-version": None}
    headers = unsent | {name: marks.fill(value) for name, value in request["headers"].items()}
    return endpoint.send(request["method"], path, headers, body_of(request, marks), auth=auth,
                         secondary=bool(request.get("secondary")), bad_key=bool(request.get("badkey")))


def body_of(request, marks):
    """The body, with values in place of marks. In a batch, the length of each changed part is computed again."""
    body = request.get("body")
    if body is None:
        return None
    if not request["headers"].get("content-type", "").startswith("multipart/mixed"):
        return marks.fill(body)
    # Each part keeps its delimiter, so the joined parts are the whole text.
    return "".join(fill_part(part, marks) for part in re.split(r"(?m)(?=^--)", body))


def fill_part(part, marks):
    """One part of a batch, with values in place of marks. The body follows the headers of the inner request."""
    inner = re.search(r"(?m)^[A-Z]+ \S.* HTTP/1\.1\r?$", part)
    blank = inner and re.compile(r"\r?\n\r?\n").search(part, inner.end())
    if not blank or "{" not in part[blank.end():]:
        return marks.fill(part)
    head, body = marks.fill(part[:blank.end()]), marks.fill(part[blank.end():])
    if body == part[blank.end():]:
        return head + body
    length = len(body.strip("\r\n").encode("utf-8"))
    return CONTENT_LENGTH.sub(rf"\g<1>{length}", head) + body


def resign(endpoint, path):
    """The path with its SAS parameters: with valid times, and signed with the endpoint's key."""
    bare, _, query = path.partition("?")
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    values = dict(pairs)
    if "st" in values:
        values["st"] = signing.iso_time(-3600)
    if "se" in values:
        values["se"] = signing.iso_time(3600)
    common = {"permissions": values.get("sp", ""), "version": values["sv"], "start": values.get("st", ""),
              "expiry": values.get("se", ""), "ip": values.get("sip", ""), "protocol": values.get("spr", "")}
    if "tn" in values:
        signed = signing.table_sas(
            endpoint.account, endpoint.key, values["tn"], policy=values.get("si", ""),
            first=(values.get("spk", ""), values.get("srk", "")), last=(values.get("epk", ""), values.get("erk", "")),
            **common)
    else:
        signed = signing.account_sas(endpoint.account, endpoint.key, types=values["srt"], services=values["ss"],
                                     **common)
    values["sig"] = dict(signed)["sig"]
    return bare + "?" + signing.encode_query([(name, values[name]) for name, _ in pairs])
