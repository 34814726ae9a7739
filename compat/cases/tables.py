"""Raw requests to a table, and assertions about answers."""

import json

from driver.endpoint import JSON_MINIMAL
from driver.multipart import Dialect, inner_answers
from driver.signing import encode_query
from urllib.parse import quote

JSON_NONE = "application/json;odata=nometadata"
JSON_FULL = "application/json;odata=fullmetadata"
XML = "application/xml"


def key_path(table, partition, row):
    """The path of one entity. Quotes in keys are doubled, then both keys are percent-encoded."""
    literal = [quote(key.replace("'", "''"), safe="'") for key in (partition, row)]
    return f"/{table}(PartitionKey='{literal[0]}',RowKey='{literal[1]}')"


def entity_body(partition, row, properties):
    """The JSON text of an entity; `properties` may be JSON text, which is inserted unchanged."""
    keys = json.dumps({"PartitionKey": partition, "RowKey": row})
    if isinstance(properties, str):
        return keys[:-1] + (", " + properties if properties else "") + "}"
    return json.dumps({"PartitionKey": partition, "RowKey": row} | (properties or {}))


class Table:
    """Requests about one table, each returning the raw answer."""

    def __init__(self, endpoint, name, query=(), auth="SharedKey"):
        self.endpoint, self.name = endpoint, name
        self.query_pairs, self.auth = list(query), auth

    def seen_with(self, query, endpoint=None):
        """The same table, accessed with a SAS (given as query pairs)."""
        return Table(endpoint or self.endpoint, self.name, query, auth=None)

    def send(self, method, path, headers=None, body=None, query=()):
        """Sends a request; by default its body and the answer are JSON."""
        fields = {"Accept": JSON_MINIMAL} | ({"Content-Type": "application/json"} if body is not None else {})
        for name, value in (headers or {}).items():
            fields[name] = value
        pairs = [*query, *self.query_pairs]
        if pairs:
            path += ("&" if "?" in path else "?") + encode_query(pairs)
        return self.endpoint.send(method, path, fields, body, auth=self.auth)

    def create(self, headers=None):
        """Creates the table."""
        answer = self.send("POST", "/Tables", headers, json.dumps({"TableName": self.name}))
        assert answer.status in (201, 204), answer
        return answer

    def drop(self):
        """Deletes the table."""
        return self.send("DELETE", f"/Tables('{self.name}')")

    def insert(self, partition, row, properties=None, headers=None):
        """Inserts an entity."""
        return self.send("POST", "/" + self.name, headers, entity_body(partition, row, properties))

    def add(self, partition, row, properties=None):
        """Inserts an entity and expects success; returns its ETag."""
        answer = self.insert(partition, row, properties, {"Prefer": "return-no-content"})
        assert answer.status == 204, answer
        return answer.header("ETag")

    def write(self, method, partition, row, properties=None, headers=None):
        """PUT, MERGE or PATCH without keys in the body."""
        body = properties if isinstance(properties, str) else json.dumps(properties or {})
        return self.send(method, key_path(self.name, partition, row), headers, body)

    def delete(self, partition, row, headers=None):
        """Deletes an entity, by default with any ETag."""
        return self.send("DELETE", key_path(self.name, partition, row), headers or {"If-Match": "*"})

    def get(self, partition, row, accept=JSON_MINIMAL, query=()):
        """Reads an entity."""
        return self.send("GET", key_path(self.name, partition, row), {"Accept": accept}, query=query)

    def properties(self, partition, row):
        """The entity's properties with minimal metadata and raw numbers; None if it does not exist."""
        answer = self.get(partition, row)
        if answer.status == 404:
            return None
        assert answer.status == 200, answer
        found = answer.json(parse_float=Raw, parse_int=Raw)
        for name in ("odata.metadata", "odata.etag", "PartitionKey", "RowKey", "Timestamp"):
            found.pop(name, None)
        return found

    def query(self, filter_text=None, accept=JSON_MINIMAL, **options):
        """Queries; `options` are `top`, `select` and the continuation parameters."""
        pairs = [("$filter", filter_text)] if filter_text is not None else []
        for name, value in options.items():
            pairs.append(("$" + name if name in ("top", "select", "format") else name, str(value)))
        return self.send("GET", f"/{self.name}()", {"Accept": accept}, query=pairs)

    def keys(self, filter_text=None, **options):
        """(PartitionKey, RowKey) of all rows of all pages, in order."""
        found, token = [], {}
        while True:
            answer = self.query(filter_text, **options, **token)
            assert answer.status == 200, answer
            found += [(row["PartitionKey"], row["RowKey"]) for row in answer.json()["value"]]
            token = continuation(answer)
            if not token:
                return found

    def rows(self, filter_text=None, **options):
        """RowKeys of all matching rows."""
        return [row for _, row in self.keys(filter_text, **options)]

    def batch(self, operations, dialect=None, headers=None):
        """Sends a batch; returns the outer answer."""
        content_type, body = (dialect or Dialect()).write(self.endpoint, operations)
        fields = {"Content-Type": content_type, "Accept": JSON_MINIMAL, "DataServiceVersion": "3.0"}
        return self.send("POST", "/$batch", fields | (headers or {}), body)

    def changes(self, operations, dialect=None):
        """Sends a batch and returns the inner answers."""
        answer = self.batch(operations, dialect)
        assert answer.status == 202, answer
        return inner_answers(answer)

    # Operations of a batch.

    def op_insert(self, partition, row, properties=None, **headers):
        """An insert; header names have underscores instead of hyphens."""
        return ("POST", "/" + self.name, batch_headers(headers, True), entity_body(partition, row, properties))

    def op_write(self, method, partition, row, properties=None, **headers):
        """A PUT, MERGE or PATCH."""
        return (method, key_path(self.name, partition, row), batch_headers(headers, True), json.dumps(properties or {}))

    def op_delete(self, partition, row, etag="*"):
        """A delete."""
        return ("DELETE", key_path(self.name, partition, row), batch_headers({"If_Match": etag}, False), None)


class Raw(str):
    """A JSON number as its text."""

    def __repr__(self):
        return f"Raw({str(self)})"


def batch_headers(headers, has_body):
    """Inner headers as current clients send them."""
    fields = {"Content-Type": "application/json"} if has_body else {}
    fields |= {"Accept": JSON_MINIMAL, "DataServiceVersion": "3.0;"}
    return fields | {name.replace("_", "-"): value for name, value in headers.items()}


def continuation(answer):
    """The continuation parameters of an answer, as keyword arguments of `query`."""
    token = {name: answer.header("x-ms-continuation-" + name) for name in ("NextPartitionKey", "NextRowKey")}
    return {name: value for name, value in token.items() if value is not None}


def expect_error(answer, status, code):
    """Asserts that the answer is this error, with a message that ends with request id and time."""
    assert (answer.status, answer.code) == (status, code), answer
    request_id = answer.header("x-ms-request-id")
    if request_id:
        assert f"\nRequestId:{request_id}\nTime:" in (answer.message or "").replace("\r", ""), answer


def expect_ok(answer, status):
    """Asserts that the answer has this status."""
    assert answer.status == status, answer
    return answer
