"""Conversations with complete answers: sends the requests of a file, and writes the answers as the file has them.

A file has exchanges with a new table or queue, whose name stands in braces, like all values that differ between runs:

    ### title
    POST /{table}
    Accept: application/json;odata=nometadata

    {"PartitionKey":"p","RowKey":"r"}
    < 201 Created
    < Cache-Control: no-cache
    …
    <
    < {"PartitionKey":"p","RowKey":"r","Timestamp":"{time}"}

Lines of a body are joined by CRLF, as in a batch. If answers changed on purpose, `PARTITA_REWRITE_SHAPES=1` rewrites the
files. Review them before you commit them.
"""

import os
import re

import pytest

REWRITE = bool(os.environ.get("PARTITA_REWRITE_SHAPES"))

# The driver must not add default headers that the file does not have.
UNSENT = {"Accept": None}

VARIABLE = [
    (re.compile(r"(?m)(?<=^server: Partita/).*$"), "{version}"),
    # These depend on the names of host and table, which differ between runs.
    (re.compile(r"(?m)(?<=^content-length: )\d+$"), "{length}"),
    (re.compile(r"(?m)(?<=^x-ms-continuation-nexttablename: ).*$"), "{token}"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "{date}"),
]

# Values that the server makes. Equal values that the client sent are not replaced.
MADE = [
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "{id}"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d(?:\.\d+)?Z"), "{time}"),
]

# Where the server makes a receipt. A later request may send the last id and the last receipt.
RECEIPT = re.compile(r"(?m)(?:(?<=^x-ms-popreceipt: )|(?<=<PopReceipt>))[^<\n]+")
SENDABLE = {"id": re.compile(r"(?<=<MessageId>)[^<]+"), "receipt": RECEIPT}


class Exchange:
    """One request of a file and the answer below it, both as text."""

    def __init__(self, text):
        self.title, _, rest = text.partition("\n")
        request, _, self.answer = rest.partition("\n< ")
        self.request = request
        self.answer = "< " + self.answer.rstrip("\n")

    def send(self, endpoint, values):
        """Sends the request, with values in place of its braces."""
        first, newline, text = self.request.partition("\n")
        for name, value in values.items():
            # A plus in a query would be a space.
            first = first.replace(f"{{{name}}}", value.replace("+", "%2B"))
            text = text.replace(f"{{{name}}}", value)
        head, _, body = (first + newline + text).partition("\n\n")
        first, *lines = head.split("\n")
        method, path = first.split(" ", 1)
        headers = UNSENT | dict(line.split(": ", 1) for line in lines)
        unsigned = headers.pop("Unsigned", None) is not None
        secondary = headers.pop("Secondary", None) is not None
        body = body.replace("\n", "\r\n") if body else None
        auth = None if unsigned else "SharedKey"
        return endpoint.send(method, path, headers, body, auth=auth, secondary=secondary)


def plain(answer):
    """The answer as text: status line, headers, body."""
    lines = [f"{answer.status} {answer.reason}", *(f"{name}: {value}" for name, value in answer.fields)]
    text = "\n".join(lines)
    if answer.body:
        text += "\n\n" + answer.body.decode("utf-8").replace("\ufeff", "{bom}").replace("\r\n", "\n")
    return text


def shown(text, endpoint, names, requests):
    """The answer as a file has it. Braces do not replace values that a request of the file sent."""
    text = text.replace(endpoint.base, "{base}").replace(endpoint.authority, "{host}")
    for name, value in names.items():
        text = text.replace(value, f"{{{name}}}")
    for pattern, mark in [*VARIABLE, (RECEIPT, "{receipt}")]:
        text = pattern.sub(mark, text)
    for pattern, mark in MADE:
        text = pattern.sub(lambda found, mark=mark: found[0] if found[0] in requests else mark, text)
    return "\n".join(("< " + line).rstrip() for line in text.rstrip("\n").split("\n"))


def check(path, endpoint, names):
    """Asserts that the answers to the requests of a file are those of the file; `names` has the tables or queues."""
    exchanges = [Exchange(text) for text in re.split(r"(?m)^### ", path.read_text("utf-8"))[1:]]
    assert exchanges
    requests = "".join(exchange.request for exchange in exchanges)
    values, answers = names | {"base": endpoint.base}, []
    for exchange in exchanges:
        text = plain(exchange.send(endpoint, values))
        values |= {name: found[0] for name, pattern in SENDABLE.items() if (found := pattern.search(text))}
        answers.append(shown(text, endpoint, names, requests))
    if REWRITE:
        written = [f"### {one.title}\n{one.request}\n{answer}\n" for one, answer in zip(exchanges, answers)]
        path.write_text("\n".join(written), "utf-8")
        pytest.fail(f"{path.name} was rewritten: review it, then run without PARTITA_REWRITE_SHAPES")
    for exchange, answer in zip(exchanges, answers):
        assert answer == exchange.answer, exchange.title
