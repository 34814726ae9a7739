"""Texts of messages: what comes back unchanged, what is refused, and the largest ones."""

import pytest
from messages import error_details
from tables import expect_error, expect_ok

LARGEST = 65_536


@pytest.mark.parametrize("text", [
    "", "text", "<&>\"'", "]]>", "  blanks around  ", "\ttab\t", "line\nline", "é ß 日本 \U0001f600", "a" * 1000, "%41+&amp;",
    "<?xml version='1.0'?><inner/>", "{\"json\": [1, 2]}", "\ufeffmark", "\u0085\u2028", "aGVsbG8=", "\ufffd"])
def test_texts_come_back(queue, text):
    queue.add(text)
    assert queue.texts() == [text]
    [taken] = queue.take()
    assert taken.text == text
    queue.change(taken, text[::-1])
    assert queue.texts() == [text[::-1]]


def test_carriage_returns_come_back(queue):
    # Also raw ones, which XML parsers usually change to line feeds (unconfirmed).
    expect_ok(queue.put(body="<QueueMessage><MessageText>a&#13;&#10;b&#xD;c</MessageText></QueueMessage>"), 201)
    expect_ok(queue.put(body="<QueueMessage><MessageText>a\r\nb\rc</MessageText></QueueMessage>"), 201)
    assert queue.texts() == ["a\r\nb\rc"] * 2


@pytest.mark.parametrize("body", [
    "<?xml version='1.0' encoding='utf-8'?>\n<QueueMessage><MessageText>text</MessageText></QueueMessage>",
    '\ufeff<?xml version="1.0" encoding="UTF-8" standalone="yes"?><QueueMessage><MessageText>text</MessageText></QueueMessage>',
    "<QueueMessage>\r\n  <MessageText>text</MessageText>\r\n</QueueMessage>",
    "<QueueMessage><MessageText><![CDATA[text]]></MessageText></QueueMessage>",
    "<QueueMessage><!-- comment --><MessageText>te<!-- inside -->xt</MessageText></QueueMessage>",
    "<QueueMessage><MessageText>&#x74;e&#120;t</MessageText></QueueMessage>"])
def test_forms_of_a_body(queue, body):
    expect_ok(queue.put(body=body), 201)
    assert queue.texts() == ["text"]


@pytest.mark.parametrize("body", ["<QueueMessage><MessageText></MessageText></QueueMessage>",
                                  "<QueueMessage><MessageText /></QueueMessage>"])
def test_forms_of_an_empty_text(queue, body):
    expect_ok(queue.put(body=body), 201)
    assert queue.texts() == [""]


@pytest.mark.parametrize("body", [
    "text", "<QueueMessage>", "<QueueMessage><MessageText>text</QueueMessage>",
    *(f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>" for text in ("a&b", "\x01", "&#1;", "\ufffe", "&no;")),
    "<QueueMessage><MessageText>text</MessageText></QueueMessage><More />",
    '<!DOCTYPE x [<!ENTITY e "text">]><QueueMessage><MessageText>&e;</MessageText></QueueMessage>'])
def test_bodies_that_are_refused(queue, body):
    answer = queue.put(body=body)
    expect_error(answer, 400, "InvalidXmlDocument")
    assert queue.count() == 0


@pytest.mark.parametrize("body", ["", "<QueueMessage />", "<Other><MessageText>text</MessageText></Other>",
                                  "<QueueMessage><Other>text</Other></QueueMessage>"])
def test_bodies_without_a_text(queue, body):
    # Which of the documented codes the service answers is unconfirmed.
    answer = queue.put(body=body)
    assert answer.status == 400 and answer.code in ("InvalidXmlDocument", "InvalidXmlNodeValue", "MissingRequiredXmlNode"), answer
    assert queue.count() == 0


def test_bytes_that_are_not_utf_8(queue):
    expect_error(queue.put(body=b"<QueueMessage><MessageText>\xff\xfe</MessageText></QueueMessage>"), 400, "InvalidXmlDocument")
    assert queue.count() == 0


def test_body_is_checked_before_the_queue_is_looked_for(endpoint):
    # As recorded (python--test_queue_encodings_test_message_text_xml_invalid_chars).
    answer = endpoint.send("POST", "/no-such-queue/messages", {"Content-Type": "application/xml"},
                           "<?xml version='1.0' encoding='utf-8'?>\n<QueueMessage><MessageText>\x01</MessageText></QueueMessage>")
    expect_error(answer, 400, "InvalidXmlDocument")
    assert error_details(answer) == {"LineNumber": "2", "LinePosition": "28", "Reason": "Error parsing Xml content"}


@pytest.mark.parametrize("text", ["a" * LARGEST, "é" * (LARGEST // 2), "<" * 16_000, "\U0001f600" * (LARGEST // 4)],
                         ids=["ascii", "two bytes", "escaped", "four bytes"])
def test_largest_text(queue, text):
    message = queue.add(text)
    assert queue.texts() == [text]
    queue.change(message, text)
    assert queue.texts() == [text]


@pytest.mark.parametrize("text", ["a" * (LARGEST + 1), "é" * (LARGEST // 2) + "a", "a" * 100_000],
                         ids=["ascii", "two bytes", "longer"])
def test_text_that_is_too_large(queue, text):
    # As recorded, for put and update.
    message = queue.add("kept")
    for answer in (queue.put(text), queue.update(message.id, message.receipt, text)):
        expect_error(answer, 413, "RequestBodyTooLarge")
        assert answer.message.startswith("The request body is too large and exceeds the maximum permissible limit.\n")
        assert error_details(answer) == {"MaxLimit": "65536"}
    assert queue.texts() == ["kept"]


def test_body_that_is_too_large(queue):
    # As the recordings of other clients have it: 131,584 bytes of XML at most, before the text is looked at.
    answer = queue.put(body="<QueueMessage><MessageText>" + "&#97;" * 40_000 + "</MessageText></QueueMessage>")
    expect_error(answer, 413, "RequestBodyTooLarge")
    assert error_details(answer) == {"MaxLimit": "131584"}
    assert queue.count() == 0


def test_32_of_the_largest(queue):
    for number in range(32):
        queue.add(f"{number:02}" + "a" * (LARGEST - 2))
    assert [message.text[:2] for message in queue.take(32)] == [f"{number:02}" for number in range(32)]
