"""An account of the Queue service: its signatures, its connection string, and removal of all its queues."""

import dataclasses
import re
import urllib.parse

from . import queue_signing
from .endpoint import Endpoint
from .signing import with_query

NAME = re.compile(r"<Queue><Name>([^<]+)</Name>")
MARKER = re.compile(r"<NextMarker>([^<]+)</NextMarker>")


@dataclasses.dataclass
class QueueEndpoint(Endpoint):
    """An account of the Queue service, with the requests of `Endpoint`."""

    version = "2021-12-02"
    defaults = {}

    def connection_string(self):
        """A connection string with an explicit queue endpoint."""
        return (f"DefaultEndpointsProtocol={self.scheme};AccountName={self.account};"
                f"AccountKey={self.key};QueueEndpoint={self.base};")

    def authorization(self, auth, method, target, fields, bad_key=False):
        """The Authorization header of a request that has all other headers."""
        low = {name.lower(): value for name, value in fields.items()}
        key = "A" * 84 + "AA==" if bad_key else self.key
        if auth == "SharedKey":
            return queue_signing.shared_key(self.account, key, method, target, low)
        if auth == "SharedKeyLite":
            return queue_signing.shared_key_lite(self.account, key, method, target, low)
        return auth

    def list_queues(self):
        """Names of all queues of the account."""
        names, path = [], "/?comp=list"
        while True:
            text = self.send("GET", path).text
            names += [urllib.parse.unquote(name) for name in NAME.findall(text)]
            marker = MARKER.search(text)
            if not marker:
                return names
            path = with_query("/?comp=list", [("marker", marker[1])])

    def wipe(self):
        """Deletes all queues and resets the service properties, for endpoints that cannot be restarted."""
        for name in self.list_queues():
            self.send("DELETE", "/" + name)
        self.reset_properties()
