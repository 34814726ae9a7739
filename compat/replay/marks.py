"""The marks of recorded scenarios, such as `{base}` or `{etag:1}`: replaced in requests, matched and bound in answers.

The README.md in the folder of recordings defines them. The first answer with a mark `{etag:N}` or `{token:N}` binds it
to a value. After that the mark means exactly this value.
"""

import re
import urllib.parse

MARK = re.compile(r"\{(\*|base|prefix|host|account|etag(?::\d+(?:\|json)?)?|token:\d+)\}")
ETAG = r"""W/"datetime'[^']+'\""""


class UnboundMark(Exception):
    """A request needs the value of a mark that no earlier answer contained."""


class Marks:
    """The values of a scenario's marks, for one endpoint."""

    def __init__(self, endpoint):
        self.known = {"base": endpoint.base, "prefix": endpoint.prefix, "host": endpoint.authority,
                      "account": endpoint.account}

    def fill(self, text, encode_tokens=False):
        """`text` of a request with every mark replaced."""

        def value(match):
            name, _, escape = match.group(1).partition("|")
            if name not in self.known:
                raise UnboundMark(f"{match.group(0)} was in no earlier answer")
            known = self.known[name]
            if escape:
                return known.replace('"', '\\"')
            if encode_tokens and name.startswith("token:"):
                return urllib.parse.quote(known, safe="")
            return known

        return MARK.sub(value, text)

    def matches(self, expected, actual):
        """Whether `actual` matches `expected`; binds new marks."""
        if "{" not in expected:
            return expected == actual
        pattern, names, at = "", [], 0
        for mark in MARK.finditer(expected):
            pattern += re.escape(expected[at:mark.start()])
            at = mark.end()
            name = mark.group(1)
            if name in self.known:
                pattern += re.escape(self.known[name])
            elif name == "*":
                pattern += ".*?"
            elif name == "etag":
                pattern += ETAG
            else:
                names.append(name)
                pattern += f"({ETAG})" if name.startswith("etag:") else "(.+)"
        found = re.fullmatch(pattern + re.escape(expected[at:]), actual, re.DOTALL)
        if not found:
            return False
        self.known |= dict(zip(names, found.groups()))
        return True
