"""Compares complete answers byte for byte with `shapes/*.http`: status line, headers in their order, body.

A file is a conversation about one new table:

    ### title
    POST /{table}
    Accept: application/json;odata=nometadata

    {"PartitionKey":"p","RowKey":"r"}
    < 201 Created
    < Cache-Control: no-cache
    …
    <
    < {"PartitionKey":"p","RowKey":"r","Timestamp":"{time}"}

Lines of a body are joined by CRLF, as in a batch. Braces stand for values that differ between runs. If answers changed
on purpose, `PARTITA_REWRITE_SHAPES=1 compat/run test_shapes.py` rewrites the files. Review them before you commit them.
"""

import os
import pathlib
import re

import pytest

SHAPES = pathlib.Path(__file__).parent / "shapes"
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


class Exchange:
    """One request of a file and the answer below it, both as text."""

    def __init__(self, text):
        self.title, _, rest = text.partition("\n")
        request, _, self.answer = rest.partition("\n< ")
        self.request = request
        self.answer = "< " + self.answer.rstrip("\n")

    def send(self, table):
        """Sends the request, with values in place of its braces."""
        head, _, body = self.request.replace("{table}", table.name).replace("{base}", table.endpoint.base).partition("\n\n")
        first, *lines = head.split("\n")
        method, path = first.split(" ", 1)
        headers = UNSENT | dict(line.split(": ", 1) for line in lines)
        unsigned = headers.pop("Unsigned", None) is not None
        secondary = headers.pop("Secondary", None) is not None
        body = body.replace("\n", "\r\n") if body else None
        auth = None if unsigned else "SharedKey"
        return table.endpoint.send(method, path, headers, body, auth=auth, secondary=secondary)


def shown(answer, table, requests):
    """The answer as a file has it. Braces do not replace values that a request of the file sent."""
    lines = [f"{answer.status} {answer.reason}", *(f"{name}: {value}" for name, value in answer.fields)]
    text = "\n".join(lines)
    if answer.body:
        text += "\n\n" + answer.body.decode("utf-8").replace("\ufeff", "{bom}").replace("\r\n", "\n")
    text = text.replace(table.endpoint.base, "{base}").replace(table.endpoint.authority, "{host}").replace(table.name, "{table}")
    for pattern, mark in VARIABLE:
        text = pattern.sub(mark, text)
    for pattern, mark in MADE:
        text = pattern.sub(lambda found, mark=mark: found[0] if found[0] in requests else mark, text)
    return "\n".join(("< " + line).rstrip() for line in text.rstrip("\n").split("\n"))


@pytest.mark.parametrize("path", sorted(SHAPES.glob("*.http")), ids=lambda path: path.stem)
def test_answers_are_as_written(table, path):
    exchanges = [Exchange(text) for text in re.split(r"(?m)^### ", path.read_text("utf-8"))[1:]]
    assert exchanges
    requests = "".join(exchange.request for exchange in exchanges)
    answers = [shown(exchange.send(table), table, requests) for exchange in exchanges]
    if REWRITE:
        written = [f"### {one.title}\n{one.request}\n{answer}\n" for one, answer in zip(exchanges, answers)]
        path.write_text("\n".join(written), "utf-8")
        pytest.fail(f"{path.name} was rewritten: review it, then run without PARTITA_REWRITE_SHAPES")
    for exchange, answer in zip(exchanges, answers):
        assert answer == exchange.answer, exchange.title
