"""Writes batch requests as text, and parses batch answers."""

import re

from .wire import Answer


class BatchError(ValueError):
    """The answer is not a batch answer."""


def boundary_of(content_type):
    """The boundary parameter of a multipart content type."""
    found = re.search(r'boundary="?([^";]+)"?', content_type or "")
    if not (content_type or "").lower().startswith("multipart/mixed") or not found:
        raise BatchError(f"not multipart: {content_type!r}")
    return found.group(1)


def split_parts(body, boundary):
    """The parts between the boundaries, each without its final line end."""
    pieces = re.split(rb"(?:^|\r?\n)--" + re.escape(boundary.encode()), b"\n" + body)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise BatchError(f"no closing boundary {boundary!r} in {body[:500]!r}")
    return [piece.partition(b"\n")[2] for piece in pieces[1:-1]]


def split_head(text):
    """Header pairs (or lines) and body of a part."""
    head, found, body = text.partition(b"\r\n\r\n")
    if not found:
        head, _, body = text.partition(b"\n\n")
    return head.replace(b"\r\n", b"\n").decode("utf-8").strip("\n").split("\n"), body


def pairs(lines):
    """`Name: value` lines as pairs."""
    return [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines if line)]


def inner_answer(part):
    """The HTTP answer in an `application/http` part; its `part` has the headers of the part."""
    outer, rest = split_head(part)
    lines, body = split_head(rest)
    match = re.match(r"HTTP/1\.1 (\d{3}) ?(.*)", lines[0])
    if not match:
        raise BatchError(f"no status line: {lines[0]!r}")
    answer = Answer(int(match.group(1)), match.group(2), pairs(lines[1:]), body)
    answer.part = dict((name.lower(), value) for name, value in pairs(outer))
    return answer


def inner_answers(answer):
    """The inner answers of a batch answer: one for a single query, or those of the operations of a change set."""
    parts = split_parts(answer.body, boundary_of(answer.header("content-type")))
    found = []
    for part in parts:
        lines, rest = split_head(part)
        content_type = dict((name.lower(), value) for name, value in pairs(lines)).get("content-type", "")
        if content_type.startswith("multipart/mixed"):
            found += [inner_answer(inner) for inner in split_parts(rest, boundary_of(content_type))]
        else:
            found.append(inner_answer(part))
    return found


class Dialect:
    """The form in which a client writes batches. The default is that of the current official clients."""

    def __init__(self, *, line_end="\r\n", quote_boundary=False, lower_headers=False, urls="absolute",
                 content_length=True, blank_before_body=False, content_id=None, close=True, preamble=""):
        """`urls` is "absolute", "account" or "bare"; `content_id` None, "part" or "operation"."""
        self.line_end = line_end
        self.quote_boundary = quote_boundary
        self.lower_headers = lower_headers
        self.urls = urls
        self.content_length = content_length
        self.blank_before_body = blank_before_body
        self.content_id = content_id
        self.close = close
        self.preamble = preamble

    def url(self, endpoint, path):
        """The URL of an inner request: absolute, a path with the account, or a path without it."""
        return {"absolute": endpoint.base, "account": endpoint.prefix, "bare": ""}[self.urls] + path

    def part(self, endpoint, index, operation):
        """The lines of one part; `operation` is (method, path, headers, body)."""
        method, path, headers, body = operation
        lines = ["Content-Type: application/http", "Content-Transfer-Encoding: binary"]
        if self.content_id == "part":
            lines.append(f"Content-ID: {index}")
        lines += ["", f"{method} {self.url(endpoint, path)} HTTP/1.1"]
        if self.content_id == "operation":
            lines.append(f"Content-ID: {index}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body and self.content_length:
            lines.append(f"Content-Length: {len(body.encode())}")
        lines.append("")
        if self.blank_before_body:
            lines.append("")
        if self.lower_headers:
            lines = [line if line[:1] in "{" or " HTTP/1.1" in line else lower_name(line) for line in lines]
        return lines + [body or ""]

    def write(self, endpoint, operations, boundary="batch_1", changeset="changeset_1"):
        """Content-Type and body of a batch whose one change set holds `operations`."""
        lines = [self.preamble] if self.preamble else []
        lines += [f"--{boundary}", f"Content-Type: multipart/mixed; boundary={changeset}", ""]
        for index, operation in enumerate(operations):
            lines += [f"--{changeset}", *self.part(endpoint, index, operation)]
        end = "--" if self.close else ""
        lines += [f"--{changeset}{end}", f"--{boundary}{end}", ""]
        return self.content_type(boundary), self.line_end.join(lines)

    def write_query(self, endpoint, path, headers, boundary="batch_1"):
        """Content-Type and body of a batch whose only part is a query."""
        lines = [f"--{boundary}", *self.part(endpoint, 0, ("GET", path, headers, None)), f"--{boundary}--", ""]
        return self.content_type(boundary), self.line_end.join(lines)

    def content_type(self, boundary):
        """The outer content type."""
        return "multipart/mixed; boundary=" + (f'"{boundary}"' if self.quote_boundary else boundary)


def lower_name(line):
    """The line, with its header name in lower case."""
    name, colon, value = line.partition(":")
    return name.lower() + colon + value
