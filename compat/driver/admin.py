"""The admin port of a Partita server: its ranges, and actions on them."""

import json
import urllib.error
import urllib.request

TIMEOUT_S = 60


class Admin:
    """The admin port of a server on this machine."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/admin/v1"

    def ranges(self):
        """The ids of the ranges, in key order."""
        with urllib.request.urlopen(f"{self.url}/ranges", timeout=TIMEOUT_S) as answer:
            return [one["id"] for one in json.load(answer)["ranges"]]

    def act(self, number, action, **body):
        """Executes an action on a range; returns None, or the error code if the server refuses the action."""
        request = urllib.request.Request(f"{self.url}/ranges/{number}/{action}", json.dumps(body).encode(),
                                         {"x-partita-admin": "compat"}, method="POST")
        try:
            urllib.request.urlopen(request, timeout=TIMEOUT_S).close()
        except urllib.error.HTTPError as error:
            return json.load(error)["error"]["code"]
        return None
