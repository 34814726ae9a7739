use super::*;
use proptest::prelude::*;

const HEAD: &str = "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?>";
const ID: &str = "6a0aa3b7-4d20-4a4c-9a3c-1d2e3f405060";
const RECEIPT: &str = "AgAAAAMAAAAAAAAA9LoMkJ1W2gE=";
/// The elements with which every message begins.
const START: &str = "<MessageId>6a0aa3b7-4d20-4a4c-9a3c-1d2e3f405060</MessageId>\
    <InsertionTime>Tue, 02 Jan 2024 03:04:05 GMT</InsertionTime><ExpirationTime>Tue, 09 Jan 2024 03:04:05 GMT</ExpirationTime>";
const RECEIPT_PART: &str = "<PopReceipt>AgAAAAMAAAAAAAAA9LoMkJ1W2gE=</PopReceipt>\
    <TimeNextVisible>Tue, 02 Jan 2024 03:04:35 GMT</TimeNextVisible>";

fn time(text: &str) -> DateTime {
    DateTime::parse(text).unwrap()
}

fn message(text: &str) -> MessageFields<'_> {
    MessageFields {
        id: Guid::parse(ID).unwrap(),
        inserted: time("2024-01-02T03:04:05.1234567Z"),
        expires: time("2024-01-09T03:04:05.1234567Z"),
        receipt: RECEIPT,
        next_visible: time("2024-01-02T03:04:35.9999999Z"),
        dequeue_count: 1,
        text: text.as_bytes(),
    }
}

fn written(view: MessageView, version: &str, messages: &[MessageFields<'_>]) -> String {
    let mut out = Vec::new();
    let version = Version::parse(version).unwrap();
    write_messages(view, version, messages.iter().copied(), &mut out);
    String::from_utf8(out).unwrap()
}

fn list(messages: &str) -> String {
    format!("{HEAD}<QueueMessagesList>{messages}</QueueMessagesList>")
}

/// Recordings js--queueclient_message_methods_*, storagepython2016--test_queue_encodings_* and storagepython2017--*.
#[test]
fn bodies_equal_those_of_the_service() {
    use MessageView::{Get, Peek, Put};
    let one = |view, version| written(view, version, &[message("Hello World")]);
    let body = |rest: &str| list(&format!("<QueueMessage>{START}{rest}</QueueMessage>"));
    let (count, text) = (
        "<DequeueCount>1</DequeueCount>",
        "<MessageText>Hello World</MessageText>",
    );
    assert_eq!(one(Put, "2015-04-05"), "");
    for version in ["2016-05-31", "2018-03-28", "2020-04-08"] {
        assert_eq!(one(Put, version), body(RECEIPT_PART));
        let new = body(&format!("{RECEIPT_PART}{count}{text}"));
        assert_eq!(one(Get, version), new);
    }
    let old = body(&format!("{count}{RECEIPT_PART}{text}"));
    assert_eq!(one(Get, "2015-04-05"), old);
    for version in ["2015-04-05", "2016-05-31", "2019-02-02"] {
        assert_eq!(one(Peek, version), body(&format!("{count}{text}")));
    }
    for view in [Get, Peek] {
        let empty = format!("{HEAD}<QueueMessagesList />");
        assert_eq!(written(view, "2019-02-02", &[]), empty);
        let two = written(view, "2019-02-02", &[message("a"), message("b")]);
        assert_eq!(two.matches("<QueueMessage>").count(), 2);
    }
}

#[test]
fn texts_are_escaped_and_keep_blanks() {
    let text = |text| written(MessageView::Peek, "2019-02-02", &[message(text)]);
    assert!(text("").contains("<MessageText /></QueueMessage>"));
    let escaped = "<MessageText> &lt;a&gt; \"'&amp;&#xD;\n\t\u{1F600} </MessageText>";
    assert!(text(" <a> \"'&\r\n\t\u{1F600} ").contains(escaped));
}

/// Recording python--test_queue_test_put_message_infinite_time_to_live.
#[test]
fn a_message_without_expiry_expires_in_9999() {
    let never = MessageFields {
        expires: DateTime::MAX,
        ..message("x")
    };
    let body = written(MessageView::Put, "2019-02-02", &[never]);
    assert!(body.contains("<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>"));
}

#[test]
fn clients_read_what_servers_write() {
    use MessageView::{Get, Peek, Put};
    for view in [Put, Get, Peek] {
        for version in ["2015-04-05", "2019-02-02"] {
            let body = written(view, version, &[message(" a\r\n&"), message("")]);
            let read = read_messages(body.as_bytes()).unwrap();
            if body.is_empty() {
                assert_eq!(read, []);
                continue;
            }
            let (has_receipt, has_text) = (view != Peek, view != Put);
            let first = ReceivedMessage {
                id: ID.to_owned(),
                inserted: time("2024-01-02T03:04:05Z"),
                expires: time("2024-01-09T03:04:05Z"),
                receipt: has_receipt.then(|| RECEIPT.to_owned()),
                next_visible: has_receipt.then(|| time("2024-01-02T03:04:35Z")),
                dequeue_count: has_text.then_some(1),
                text: has_text.then(|| " a\r\n&".to_owned()),
            };
            let second = ReceivedMessage {
                text: has_text.then(String::new),
                ..first.clone()
            };
            assert_eq!(read, [first, second], "{view:?} {version}");
        }
    }
}

#[test]
fn other_bodies_are_refused() {
    let one = |rest: &str| list(&format!("<QueueMessage>{rest}</QueueMessage>"));
    assert!(read_messages(one(START).as_bytes()).is_ok());
    for bad in [
        "<QueueMessage/>".to_owned(),
        "text".to_owned(),
        one(""),
        one(&START.replace("GMT", "UTC")),
        one(&format!("{START}<DequeueCount>-1</DequeueCount>")),
        one(&format!("{START}{START}")),
    ] {
        assert!(read_messages(bad.as_bytes()).is_err(), "{bad}");
    }
}

/// The largest answer: 32 messages of 64 KiB, in which every character is escaped.
#[test]
fn the_largest_answer_is_read() {
    let text = "\r".repeat(64 * 1024);
    let body = written(MessageView::Get, "2019-02-02", &[message(&text); 32]);
    let read = read_messages(body.as_bytes()).unwrap();
    assert!(
        read.len() == 32
            && read
                .iter()
                .all(|message| message.text.as_ref() == Some(&text))
    );
}

proptest! {
    #[test]
    fn texts_round_trip(text in "[ \r\n\t<>&'\"a-zé\u{1F600}]{0,40}") {
        let body = written(MessageView::Get, "2019-02-02", &[message(&text)]);
        let read = read_messages(body.as_bytes()).unwrap();
        prop_assert_eq!(read[0].text.as_ref(), Some(&text));
    }

    #[test]
    fn any_body_is_read_or_refused(bytes: Vec<u8>, shaped in "(</?(QueueMessagesList|QueueMessage|MessageId|InsertionTime)/?>|[a-z ]){0,12}") {
        for body in [&bytes[..], shaped.as_bytes()] {
            let _ = read_messages(body);
        }
    }
}
