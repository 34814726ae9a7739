"""Raw requests to a queue, and its messages as they were answered."""

import collections
import time
import xml.etree.ElementTree as ElementTree
from urllib.parse import quote
from xml.sax.saxutils import escape

from driver.signing import encode_query
from tables import XML, expect_ok

Message = collections.namedtuple("Message", "id inserted expires receipt next_visible dequeue_count text")

ELEMENTS = ("MessageId", "InsertionTime", "ExpirationTime", "PopReceipt", "TimeNextVisible", "DequeueCount", "MessageText")
WEEK_S = 7 * 24 * 3600
POLL_DEADLINE_S = 30


def eventually(check):
    """Calls `check` until it returns a true value, and returns that. For effects that only the passing time has."""
    deadline = time.monotonic() + POLL_DEADLINE_S
    while not (found := check()):
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.05)
    return found


def message_body(text):
    """The XML of a message with this text."""
    return f"<QueueMessage><MessageText>{escape(text)}</MessageText></QueueMessage>"


def messages_of(answer):
    """The messages of an answer; elements that it lacks are None, and an empty element is the empty text."""
    found = []
    for node in ElementTree.fromstring(answer.body):
        values = {child.tag: child.text or "" for child in node}
        found.append(Message(*(values.get(name) for name in ELEMENTS)))
    return found


def error_details(answer):
    """The elements of an error besides its code and message."""
    return {child.tag: child.text or "" for child in ElementTree.fromstring(answer.body)
            if child.tag not in ("Code", "Message")}


class Queue:
    """Requests about one queue, each returning the raw answer. Named arguments are parameters of the query."""

    def __init__(self, endpoint, name, query=(), auth="SharedKey"):
        self.endpoint, self.name = endpoint, name
        self.query_pairs, self.auth = list(query), auth

    def seen_with(self, query, endpoint=None):
        """The same queue, accessed with a SAS (given as query pairs)."""
        return Queue(endpoint or self.endpoint, self.name, query, auth=None)

    def send(self, method, path, headers=None, body=None, query=()):
        """Sends a request to a path of the account."""
        fields = ({"Content-Type": XML} if body is not None else {}) | (headers or {})
        pairs = [(name, str(value)) for name, value in [*query, *self.query_pairs]]
        if pairs:
            path += ("&" if "?" in path else "?") + encode_query(pairs)
        return self.endpoint.send(method, path, fields, body, auth=self.auth)

    def create(self, headers=None):
        """Creates the queue and expects success."""
        answer = self.send("PUT", "/" + self.name, headers)
        assert answer.status in (201, 204), answer
        return answer

    def drop(self):
        """Deletes the queue."""
        return self.send("DELETE", "/" + self.name)

    def metadata(self, method="GET", headers=None):
        """Reads the metadata."""
        return self.send(method, f"/{self.name}?comp=metadata", headers)

    def set_metadata(self, headers):
        """Replaces the metadata."""
        return self.send("PUT", f"/{self.name}?comp=metadata", headers)

    def acl(self, method="GET"):
        """Reads the access policies."""
        return self.send(method, f"/{self.name}?comp=acl")

    def set_acl(self, xml):
        """Replaces the access policies."""
        return self.send("PUT", f"/{self.name}?comp=acl", None, xml)

    def count(self):
        """The approximate number of messages."""
        return int(expect_ok(self.metadata(), 200).header("x-ms-approximate-messages-count"))

    def put(self, text="text", headers=None, body=None, **query):
        """Puts a message; `body` is other XML than that of the text."""
        return self.send("POST", f"/{self.name}/messages", headers, message_body(text) if body is None else body, query.items())

    def get(self, headers=None, **query):
        """Gets messages."""
        return self.send("GET", f"/{self.name}/messages", headers, None, query.items())

    def peek(self, headers=None, **query):
        """Peeks at messages."""
        return self.send("GET", f"/{self.name}/messages", headers, None, [("peekonly", "true"), *query.items()])

    def update(self, number, receipt, text=None, body=None, **query):
        """Updates a message; without a text, only its visibility. A parameter with the value None is not sent."""
        parameters = {"popreceipt": receipt, "visibilitytimeout": 0} | query
        pairs = [(name, value) for name, value in parameters.items() if value is not None]
        body = message_body(text) if text is not None else body
        return self.send("PUT", f"/{self.name}/messages/{quote(number)}", None, body, pairs)

    def delete(self, number, receipt):
        """Deletes a message."""
        pairs = [("popreceipt", receipt)] if receipt is not None else []
        return self.send("DELETE", f"/{self.name}/messages/{quote(number)}", None, None, pairs)

    def clear(self):
        """Deletes all messages."""
        return self.send("DELETE", f"/{self.name}/messages")

    # The same, expecting success.

    def add(self, text="text", **query):
        """Puts a message and returns it, without its text."""
        [message] = messages_of(expect_ok(self.put(text, **query), 201))
        return message

    def take(self, count=1, **query):
        """Gets at most `count` messages."""
        return messages_of(expect_ok(self.get(numofmessages=count, **query), 200))

    def look(self, count=32):
        """Peeks at at most `count` messages."""
        return messages_of(expect_ok(self.peek(numofmessages=count), 200))

    def texts(self):
        """The texts of the visible messages, in order."""
        return [message.text for message in self.look()]

    def change(self, message, text=None, **query):
        """Updates a message; returns its new receipt."""
        return expect_ok(self.update(message.id, message.receipt, text, **query), 204).header("x-ms-popreceipt")
