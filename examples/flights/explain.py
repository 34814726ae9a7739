"""Collects a Partita server's explanations of a query over all pages."""

import json

HEADER = "x-partita-explain"


class Explain:
    """Pass `request_headers` to a query and `read` as its `raw_response_hook`."""

    def __init__(self):
        self.request_headers = {HEADER: "true"}
        self.pages = []

    def read(self, response):
        """Keeps the explanation of one page. Servers other than Partita send none."""
        text = response.http_response.headers.get(HEADER)
        if text:
            self.pages.append(json.loads(text))

    def total(self, name):
        """The sum of a figure over all pages."""
        return sum(page.get(name, 0) for page in self.pages)

    def __str__(self):
        found = self.pages[0]
        pages = "1 page" if len(self.pages) == 1 else f"{len(self.pages)} pages"
        tested = found.get("tested_per_row") or "nothing"
        return (f"{found['class']}: {self.total('rows_read'):,} rows read, {self.total('rows_returned'):,} returned, "
                f"{pages}; tested per row: {tested}")
