"""Compares an answer of the Queue service with the recorded one.

The recorded body lacks the byte order mark that every answer had. The messages of an answer are compared by their ids,
not by their places. A body is compared as text; where texts differ, the differences are listed by element.
"""

import re
import xml.etree.ElementTree as ElementTree

from compare import Difference, compare_headers, open_elements

BOM = b"\xef\xbb\xbf"
DECLARATION = re.compile(r"(<\?xml[^>]*\?>)?(.*)", re.DOTALL)
MESSAGE = re.compile(r"<QueueMessage>(.*?)</QueueMessage>", re.DOTALL)
ELEMENT = re.compile(r"<(\w+)>.*?</\1>|<(\w+) ?/>", re.DOTALL)


def compare(step, answer, marks):
    """All differences between a step's recorded response and the answer."""
    recorded = step.response
    found = []
    status = int(recorded["status"].text)
    if status != answer.status:
        found.append(Difference("status", "", str(status), f"{answer.status} {answer.code or ''}".strip()))
    found += compare_headers(recorded["headers"], answer.headers, marks, "")
    return found + compare_body(recorded.get("body"), answer.body, marks)


def compare_body(recorded, body, marks):
    """Differences of two bodies; an absent body must be absent."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return [Difference("body", "", "text", repr(body[:200]))]
    if recorded is None:
        return [Difference("body", "presence", None, text[:300])] if text else []
    if not text:
        return [Difference("body", "presence", recorded[:300], None)]
    found = [] if body.startswith(BOM) else [Difference("body", "byte order mark", "EF BB BF", repr(body[:3]))]
    expected, actual = DECLARATION.fullmatch(recorded), DECLARATION.fullmatch(text)
    if expected[1] != actual[1]:
        found.append(Difference("body", "declaration", expected[1], actual[1]))
    if "<QueueMessagesList" in recorded:
        return found + list(compare_messages(expected[2], actual[2], marks))
    if marks.matches(expected[2], open_elements(recorded, actual[2])):
        return found
    return found + list(compare_elements(expected[2], actual[2], marks))


def compare_messages(recorded, text, marks):
    """Differences of two lists of messages."""
    frames = MESSAGE.sub("", recorded), MESSAGE.sub("", text)
    if frames[0] != frames[1]:
        yield Difference("body", "list", frames[0], frames[1][:1000])
    expected, actual = MESSAGE.findall(recorded), MESSAGE.findall(text)
    if len(expected) != len(actual):
        yield Difference("body", "number of messages", str(len(expected)), str(len(actual)))
    receipts = set()
    for one in expected:
        other = partner(one, actual, marks)
        if other is None:
            yield Difference("body", "message", one, None)
        else:
            actual.remove(other)
            yield from compare_message(one, other, marks, receipts)


def partner(recorded, candidates, marks):
    """The message with the recorded id. If the id is not known yet: the first with the recorded text, or the first."""
    mark = element(recorded, "MessageId").removeprefix("<MessageId>{").removesuffix("}</MessageId>")
    known = marks.value(mark)
    if known is not None:
        return next((one for one in candidates if f"<MessageId>{known}</MessageId>" in one), None)
    bound = set(marks.known.values())
    fresh = [one for one in candidates if element(one, "MessageId")[11:-12] not in bound]
    same = [one for one in fresh if marks.matches(element(recorded, "MessageText"), element(one, "MessageText"))]
    return next(iter([*same, *fresh]), None)


def element(message, name):
    """The whole element of a message; empty if it has none."""
    return next((found[0] for found in ELEMENT.finditer(message) if name in found.groups()), "")


def compare_message(recorded, actual, marks, receipts):
    """Differences of two messages: their elements, in their order, and the text of each."""
    names = [[found[1] or found[2] for found in ELEMENT.finditer(one)] for one in (recorded, actual)]
    if names[0] != names[1]:
        yield Difference("body", "elements of a message", " ".join(names[0]), " ".join(names[1]))
    for name in names[0]:
        one, other = element(recorded, name), element(actual, name)
        # The service gives all messages of an answer one receipt. Clients cannot depend on that.
        if name == "PopReceipt" and one in receipts:
            one = "<PopReceipt>{*}</PopReceipt>"
        receipts.add(one)
        if other and not marks.matches(one, other):
            yield Difference("body", name, one, other)


def compare_elements(recorded, text, marks):
    """Differences of two XML texts, by element."""
    try:
        expected, actual = leaves(recorded), leaves(text)
    except ElementTree.ParseError as error:
        yield Difference("body", "XML", recorded, f"{error}: {text[:500]}")
        return
    equal = True
    for open_place in [place for place, value in expected.items() if value == "{*}"]:
        actual = {place: value for place, value in actual.items() if not place.startswith(open_place + "/")}
        actual[open_place] = ""
    for place in expected | actual:
        one, other = expected.get(place), actual.get(place)
        if one is None or other is None or not marks.matches(one, other):
            equal = False
            yield Difference("body", place, one, other)
    if equal and list(expected) != list(actual):
        yield Difference("body", "order of elements", " ".join(expected), " ".join(actual))
    elif equal:
        yield Difference("body", "form", recorded, text[:1000])


def leaves(text):
    """Texts of the elements without children, and values of attributes, by their paths."""
    found = {}

    def add(path, value):
        while path in found:
            path += "'"
        found[path] = value

    def visit(node, path):
        for name, value in node.attrib.items():
            add(f"{path}@{name}", value)
        if not len(node):
            add(path, node.text or "")
        for child in node:
            visit(child, f"{path}/{child.tag}")

    root = ElementTree.fromstring(text)
    visit(root, root.tag)
    return found
