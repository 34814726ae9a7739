"""An account of the Table service, addressed in path or host style, with its key.

Replay and raw cases send all requests through this class. It signs requests, but does not change their paths.
"""

import dataclasses
import ssl
import urllib.parse

from . import signing
from .wire import Connection

VERSION = "2019-02-02"
JSON_MINIMAL = "application/json;odata=minimalmetadata"


@dataclasses.dataclass
class Endpoint:
    """An account of the Table service. `host_style` puts the account into the Host header instead of the path."""

    url: str
    account: str = signing.WELL_KNOWN_ACCOUNT
    key: str = signing.WELL_KNOWN_KEY
    host_style: str = ""
    ca_file: str = ""
    connection: Connection = dataclasses.field(default=None, repr=False)

    # Headers that requests have by default, besides Host, dates and lengths.
    version = VERSION
    defaults = {"Accept": JSON_MINIMAL}

    def __post_init__(self):
        parts = urllib.parse.urlsplit(self.url)
        self.scheme, self.host = parts.scheme, parts.hostname
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        tls = None
        if self.scheme == "https":
            tls = ssl.create_default_context(cafile=self.ca_file or None)
        self.connection = self.connection or Connection(self.host, self.port, tls)

    @property
    def authority(self):
        """The Host header's value."""
        if self.host_style:
            return f"{self.account}.{self.host_style}:{self.port}"
        return f"{self.host}:{self.port}"

    @property
    def prefix(self):
        """Path before every resource: empty in host style."""
        return "" if self.host_style else "/" + self.account

    @property
    def base(self):
        """The account's URL without a trailing slash."""
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def root(self):
        """The URL of the server."""
        return f"{self.scheme}://{self.host}:{self.port}"

    def connection_string(self):
        """A connection string with an explicit table endpoint."""
        return (f"DefaultEndpointsProtocol={self.scheme};AccountName={self.account};"
                f"AccountKey={self.key};TableEndpoint={self.base};")

    def sibling(self, **changes):
        """The same server with another account, key or style, on a new connection."""
        return dataclasses.replace(self, connection=None, **changes)

    def send(self, method, path, headers=None, body=None, *, auth="SharedKey", secondary=False, date_offset_s=0,
             bad_key=False):
        """Sends one request and returns its answer.

        `auth`: "SharedKey", "SharedKeyLite", None (a SAS in the path, or nothing), or a complete Authorization value.
        A header with the value None is omitted, even if it has a default.
        """
        target = (f"/{self.account}-secondary" if secondary and not self.host_style else self.prefix) + path
        authority = self.authority
        if secondary and self.host_style:
            authority = authority.replace(self.account, self.account + "-secondary", 1)
        data = body.encode("utf-8") if isinstance(body, str) else body
        fields = {"Host": authority, "x-ms-version": self.version, "x-ms-date": signing.http_date(date_offset_s),
                  **self.defaults}
        if data is not None or method in ("POST", "PUT", "PATCH", "MERGE"):
            fields["Content-Length"] = str(len(data or b""))
        known = {name.lower(): name for name in fields}
        for name, value in (headers or {}).items():
            fields.pop(known.get(name.lower()), None)
            fields[name] = value
        fields = {name: value for name, value in fields.items() if value is not None}
        if auth:
            fields["Authorization"] = self.authorization(auth, method, target, fields, bad_key)
        return self.connection.request(method, target, list(fields.items()), data or b"")

    def authorization(self, auth, method, target, fields, bad_key=False):
        """The Authorization header of a request that has all other headers."""
        low = {name.lower(): value for name, value in fields.items()}
        key = "A" * 84 + "AA==" if bad_key else self.key
        if auth == "SharedKey":
            return signing.shared_key(self.account, key, method, target, low)
        if auth == "SharedKeyLite":
            return signing.shared_key_lite(self.account, key, target, low)
        return auth

    def list_tables(self):
        """Names of all tables of the account."""
        names, path = [], "/Tables"
        while True:
            answer = self.send("GET", path, {"Accept": "application/json;odata=nometadata"})
            names += [table["TableName"] for table in answer.json()["value"]]
            token = answer.header("x-ms-continuation-NextTableName")
            if not token:
                return names
            path = signing.with_query("/Tables", [("NextTableName", token)])

    def wipe(self):
        """Deletes all tables and resets the service properties, for endpoints that cannot be restarted."""
        for name in self.list_tables():
            self.send("DELETE", f"/Tables('{name}')", {"Accept": "application/json"})
        self.reset_properties()

    def reset_properties(self):
        """Sets the service properties to their defaults."""
        off = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
        metrics = f"<Version>1.0</Version><Enabled>false</Enabled>{off}"
        self.send("PUT", "/?restype=service&comp=properties", {"Content-Type": "application/xml"},
                  '<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><Logging><Version>1.0</Version>'
                  f"<Delete>false</Delete><Read>false</Read><Write>false</Write>{off}</Logging>"
                  f"<HourMetrics>{metrics}</HourMetrics><MinuteMetrics>{metrics}</MinuteMetrics><Cors />"
                  "</StorageServiceProperties>")
