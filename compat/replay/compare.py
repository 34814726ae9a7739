"""Compares an answer with the recorded one and lists the differences."""

import dataclasses
import re

from driver.multipart import BatchError, inner_answers

from scenario import Number, parse

# Headers of the transport, of separate features, or of Partita alone, which the recordings do not have.
UNRECORDED = {"connection", "keep-alive", "content-length", "transfer-encoding", "vary", "x-partita-hint"}


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference: `part` is "status", "header" or "body", `place` the position in it."""

    part: str
    place: str
    expected: str
    actual: str

    def __str__(self):
        return f"{self.part} {self.place}: recorded {self.expected!r}, answered {self.actual!r}"


def compare(step, answer, marks):
    """All differences between a step's recorded response and the answer."""
    recorded = step.response
    found = compare_message(recorded, answer, marks, "")
    if "batch" not in recorded:
        return found
    try:
        inner = inner_answers(answer)
    except (BatchError, UnicodeDecodeError) as error:
        return found + [Difference("body", "batch", f"{len(recorded['batch'])} answers", str(error)[:300])]
    if len(inner) != len(recorded["batch"]):
        found.append(Difference("body", "batch", f"{len(recorded['batch'])} answers", f"{len(inner)} answers"))
    for index, (expected, actual) in enumerate(zip(recorded["batch"], inner)):
        found += compare_message(expected, actual, marks, f"[{index}]")
    return found


def compare_message(recorded, answer, marks, place):
    """Status, headers and body of one message."""
    found = []
    status = int(recorded["status"].text)
    if status != answer.status:
        found.append(Difference("status", place, str(status), str(answer.status)))
    found += compare_headers(recorded["headers"], answer.headers, marks, place)
    if "batch" not in recorded:
        found += compare_body(recorded.get("body"), answer.body, marks, place)
    return found


def compare_headers(recorded, actual, marks, place):
    """Compares names and values of both sets."""
    found = []
    for name, expected in recorded.items():
        value = actual.get(name)
        if value is None or not marks.matches(expected, value):
            found.append(Difference("header", place + name, expected, value))
    for name, value in actual.items():
        if name in recorded or name in UNRECORDED or name.startswith("access-control-"):
            continue
        # Some recorders dropped the request id.
        if name != "x-ms-request-id":
            found.append(Difference("header", place + name, None, value))
    return found


def compare_body(recorded, body, marks, place):
    """Compares JSON by value and other text by pattern; an absent body must be absent."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return [Difference("body", place, "text", repr(body[:200]))]
    if recorded is None:
        return [Difference("body", place, None, text[:300])] if text else []
    if isinstance(recorded, str):
        same = marks.matches(recorded, open_elements(recorded, text))
        return [] if same else [Difference("body", place, recorded, text[:1000])]
    try:
        value = parse(text)
    except ValueError:
        return [Difference("body", place, "JSON", text[:300])]
    return list(compare_values(recorded, value, marks, place + "$"))


def open_elements(recorded, text):
    """`text` with `<Cors />` written as `<Cors></Cors>` where the recording has `<Cors>{*}</Cors>`."""
    for name in re.findall(r"<(\w+)>\{\*\}</", recorded):
        text = text.replace(f"<{name} />", f"<{name}></{name}>")
    return text


def compare_values(expected, actual, marks, place):
    """Differences of two JSON values; member order does not count."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in expected | actual:
            if name not in actual:
                yield Difference("body", f"{place}.{name}", show(expected[name]), None)
            elif name not in expected:
                yield Difference("body", f"{place}.{name}", None, show(actual[name]))
            else:
                yield from compare_values(expected[name], actual[name], marks, f"{place}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield Difference("body", place, f"{len(expected)} elements", f"{len(actual)} elements")
        for index, (one, other) in enumerate(zip(expected, actual)):
            yield from compare_values(one, other, marks, f"{place}[{index}]")
    elif not same_scalar(expected, actual, marks):
        yield Difference("body", place, show(expected), show(actual))


def same_scalar(expected, actual, marks):
    """Compares scalars; strings may contain marks."""
    if expected == "{*}":
        return True
    if type(expected) is not type(actual):
        return False
    if isinstance(expected, Number):
        return expected.same(actual)
    if isinstance(expected, str):
        return marks.matches(expected, actual)
    return expected == actual


def show(value):
    """The text of a value in a message."""
    return value.text if isinstance(value, Number) else value if isinstance(value, str) else repr(value)[:300]
