"""Object stores for backups: moto's S3 and Azurite's Blob service, each in its own process.

The stores use free ports and keep data in memory or in a temporary directory; waits have a deadline. This module reads
and writes objects by plain HTTP, so it does not depend on the tested code.
"""

import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

from .server import DEPS, READY_DEADLINE_S, STOP_DEADLINE_S, free_port
from .signing import WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, account_sas, encode_query

BUCKET = "backups"
# The time between two requests to a store that is starting.
POLL_S = 0.05


class ObjectStore:
    """A running store with one bucket; use it as a context manager. Subclasses define command line and requests."""

    scheme = None
    # Headers of every request, and further ones of every put.
    headers = {}
    put_headers = {}

    def __init__(self):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="partita-objects-"))
        self.process = None

    def __enter__(self):
        with open(self.folder / "output", "wb") as output:
            self.process = subprocess.Popen([str(word) for word in self.command()], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + READY_DEADLINE_S
        while not self.made_bucket():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(f"{type(self).__name__} did not start in time")
            time.sleep(POLL_S)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(STOP_DEADLINE_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, path, body=None, headers=None, query=()):
        """Sends a request; returns the body of the answer. Raises on an error status."""
        pairs = [*query, *self.credentials()]
        url = f"{self.url}{path}" + ("?" + encode_query(pairs) if pairs else "")
        request = urllib.request.Request(url, body, self.headers | (headers or {}), method=method)
        with urllib.request.urlopen(request, timeout=READY_DEADLINE_S) as answer:
            return answer.read()

    def credentials(self):
        """The query parameters that authorize every request."""
        return []

    def made_bucket(self):
        """Tries to create the bucket; whether that succeeded."""
        try:
            self.make_bucket()
        except (urllib.error.URLError, ConnectionError):
            return False
        return True

    def place(self, prefix):
        """The URL of a location in the store."""
        return f"{self.scheme}://{BUCKET}/{prefix}"

    def get(self, name):
        """The bytes of an object."""
        return self.send("GET", self.path(name))

    def put(self, name, body):
        """Replaces an object."""
        self.send("PUT", self.path(name), body, self.put_headers)

    def delete(self, name):
        """Removes an object."""
        self.send("DELETE", self.path(name))


class MotoS3(ObjectStore):
    """moto's S3. It requires an Authorization header, but does not check signatures."""

    scheme = "s3"
    headers = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request"}
    put_headers = {"Content-Type": "application/octet-stream"}

    def command(self):
        """The command line of the server."""
        return [DEPS / "venv/bin/moto_server", "-H", "127.0.0.1", "-p", str(self.port)]

    def path(self, name):
        """The path of an object."""
        return f"/{BUCKET}/{urllib.parse.quote(name)}"

    def make_bucket(self):
        """Creates the bucket."""
        self.send("PUT", f"/{BUCKET}")

    def names(self, prefix):
        """The names of all objects with this prefix."""
        listing = self.send("GET", f"/{BUCKET}", query=[("list-type", "2"), ("prefix", prefix)])
        return [found.text for found in xml.etree.ElementTree.fromstring(listing).iter()
                if found.tag.rpartition("}")[2] == "Key"]

    def environment(self, url):
        """The environment variables with which Partita reaches the store at `url`."""
        return {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true"}


class AzuriteBlob(ObjectStore):
    """Azurite's Blob service. It checks signatures."""

    scheme = "az"
    put_headers = {"x-ms-blob-type": "BlockBlob"}

    def command(self):
        """The command line of the server."""
        packages = DEPS / "node/node_modules"
        return [packages / "node/bin/node", packages / "azurite/dist/src/blob/main.js", "--blobHost", "127.0.0.1",
                "--blobPort", str(self.port), "--location", self.folder, "--skipApiVersionCheck", "--disableTelemetry"]

    def credentials(self):
        """An account SAS with all permissions that the requests need."""
        return account_sas(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, permissions="rwdlac", services="b")

    def path(self, name):
        """The path of an object."""
        return f"/{WELL_KNOWN_ACCOUNT}/{BUCKET}/{urllib.parse.quote(name)}"

    def make_bucket(self):
        """Creates the container."""
        self.send("PUT", f"/{WELL_KNOWN_ACCOUNT}/{BUCKET}", b"", query=[("restype", "container")])

    def names(self, prefix):
        """The names of all objects with this prefix."""
        listing = self.send("GET", f"/{WELL_KNOWN_ACCOUNT}/{BUCKET}",
                            query=[("restype", "container"), ("comp", "list"), ("prefix", prefix)])
        return [found.text for found in xml.etree.ElementTree.fromstring(listing).iter("Name")]

    def environment(self, url):
        """The environment variables with which Partita reaches the store at `url`."""
        return {"AZURE_STORAGE_ACCOUNT_NAME": WELL_KNOWN_ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": WELL_KNOWN_KEY,
                "AZURE_STORAGE_ENDPOINT": f"{url}/{WELL_KNOWN_ACCOUNT}", "AZURE_ALLOW_HTTP": "true"}
