"""The marks of recorded scenarios, such as `{base}` or `{etag:1}`: replaced in requests, matched and bound in answers.

The README.md in the folder of recordings defines them. The first answer with a mark `{etag:N}` or `{token:N}` binds it
to a value. After that the mark means exactly this value.
"""

import re
import urllib.parse

MARK = re.compile(r"\{(\*|base|prefix|host|account|etag(?::\d+(?:\|json)?)?|token:\d+)\}")
ETAG = r"""W/"datetime'[^']+'\""""
# Marks whose values are percent-encoded in a path.
OPAQUE = ("token:", "pop:", "marker:")


class UnboundMark(Exception):
    """A request needs the value of a mark that no earlier answer contained."""


class Marks:
    """The values of a scenario's marks, for one endpoint."""

    form = MARK

    def __init__(self, endpoint):
        self.known = {"base": endpoint.base, "prefix": endpoint.prefix, "host": endpoint.authority,
                      "account": endpoint.account}

    def value(self, name):
        """The value of a mark; None if it has none yet."""
        return self.known.get(name)

    def pattern(self, name):
        """The regular expression of a mark without a value. It has a group if the mark is to be bound."""
        if name == "*":
            return ".*?"
        if name == "etag":
            return ETAG
        return f"({ETAG})" if name.startswith("etag:") else "(.+)"

    def bind(self, name, text):
        """Binds a mark to the text at its place; returns whether the mark permits the text."""
        self.known[name] = text
        return True

    def fill(self, text, encode_tokens=False):
        """`text` of a request with every mark replaced. `encode_tokens` percent-encodes opaque values."""

        def value(match):
            name, _, escape = match.group(1).partition("|")
            known = self.value(name)
            if known is None:
                raise UnboundMark(f"{match.group(0)} was in no earlier answer")
            if escape:
                return known.replace('"', '\\"')
            if encode_tokens and name.startswith(OPAQUE):
                return urllib.parse.quote(known, safe="")
            return known

        return self.form.sub(value, text)

    def matches(self, expected, actual):
        """Whether `actual` matches `expected`; binds new marks."""
        if "{" not in expected:
            return expected == actual
        pattern, names, at = "", [], 0
        for mark in self.form.finditer(expected):
            pattern += re.escape(expected[at:mark.start()])
            at = mark.end()
            known = self.value(mark.group(1))
            part = re.escape(known) if known is not None else self.pattern(mark.group(1))
            if known is None and part.startswith("("):
                names.append(mark.group(1))
            pattern += part
        found = re.fullmatch(pattern + re.escape(expected[at:]), actual, re.DOTALL)
        return bool(found) and all([self.bind(name, text) for name, text in zip(names, found.groups())])
