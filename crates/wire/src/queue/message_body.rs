//! The body of Put Message and Update Message: `<QueueMessage><MessageText>text</MessageText></QueueMessage>`.
//!
//! The text is kept as it is: with its blanks, its line ends and its Base64, which is a matter of the clients. Put Message
//! reads the body before it looks for the queue (recording python--test_queue_encodings_test_message_text_xml_invalid_chars
//! has a queue that does not exist).

use super::error::{invalid_xml, malformed_xml};
use crate::xml::{
    Bounds, Element, Malformed, is_xml_char, write_declaration_only, write_end, write_start,
    write_text,
};
use crate::{ErrorCode, Failure};
use partita_model::limits::MESSAGE_BYTES_MAX;

/// The maximum size of a body with a message, in bytes (as the service reports it).
pub const MESSAGE_BODY_BYTES_MAX: usize = 131_584;
/// The bounds of a body. Elements that are not part of the form are ignored.
const BOUNDS: Bounds = Bounds {
    bytes_max: MESSAGE_BODY_BYTES_MAX,
    nodes_max: 64,
};

/// Reads the text of a message.
///
/// # Errors
/// 413 RequestBodyTooLarge for a body over [`MESSAGE_BODY_BYTES_MAX`], and for a text over [`MESSAGE_BYTES_MAX`]; 400
/// InvalidXmlDocument, with the place if the body is not XML (recordings python--test_queue_encodings_* and
/// js--queueclient_messageid_methods_update_message_negative_*).
pub fn read_message(body: &[u8]) -> Result<String, Failure> {
    if body.len() > MESSAGE_BODY_BYTES_MAX {
        return Err(body_too_large(MESSAGE_BODY_BYTES_MAX));
    }
    let root = Element::read(body, BOUNDS).map_err(|malformed| malformed_xml(body, malformed))?;
    if root.name != "QueueMessage" {
        return Err(invalid_xml());
    }
    let mut texts = root
        .children
        .into_iter()
        .filter(|child| child.name == "MessageText");
    match (texts.next(), texts.next()) {
        (Some(text), None) if text.children.is_empty() => {
            if text.text.len() > MESSAGE_BYTES_MAX {
                return Err(body_too_large(MESSAGE_BYTES_MAX));
            }
            Ok(text.text)
        }
        _ => Err(invalid_xml()),
    }
}

/// 413 RequestBodyTooLarge with the limit.
pub fn body_too_large(bytes_max: usize) -> Failure {
    Failure::new(ErrorCode::RequestBodyTooLarge).detail("MaxLimit", bytes_max.to_string())
}

/// The body for a text, for clients.
///
/// # Errors
/// The failures with which the service would answer: 413 RequestBodyTooLarge for a text that is too long, 400
/// InvalidXmlDocument for a character that XML cannot hold.
pub fn write_message(text: &str) -> Result<Vec<u8>, Failure> {
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(body_too_large(MESSAGE_BYTES_MAX));
    }
    if let Some(at) = text.find(|c| !is_xml_char(c)) {
        return Err(malformed_xml(text.as_bytes(), Malformed { at: Some(at) }));
    }
    let mut out = Vec::with_capacity(text.len() + 128);
    write_declaration_only(&mut out);
    write_start("QueueMessage", &mut out);
    write_text("MessageText", text, &mut out);
    write_end("QueueMessage", &mut out);
    if out.len() > MESSAGE_BODY_BYTES_MAX {
        return Err(body_too_large(MESSAGE_BODY_BYTES_MAX));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::code;
    use proptest::prelude::*;

    fn body(text: &str) -> String {
        format!(
            "<?xml version='1.0' encoding='utf-8'?>\n<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"
        )
    }

    /// The bodies of several official clients (recordings js--, net-- and python--).
    #[test]
    fn texts_are_read_as_sent() {
        for (sent, text) in [
            (body("eHl6"), "eHl6"),
            (
                "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><QueueMessage><MessageText/></QueueMessage>".to_owned(),
                "",
            ),
            ("<QueueMessage>\r\n  <MessageText></MessageText>\r\n</QueueMessage>".to_owned(), ""),
            ("\u{FEFF}<QueueMessage><MessageText>\u{554A}</MessageText></QueueMessage>".to_owned(), "\u{554A}"),
            (body("  a &lt;b&gt; &amp;&#xD;\n\t&#x1F600; "), "  a <b> &\r\n\t\u{1F600} "),
            (body("a\r\nb\r"), "a\r\nb\r"),
            (body("<![CDATA[<x>]]>&quot;<!-- y -->z"), "<x>\"z"),
        ] {
            assert_eq!(read_message(sent.as_bytes()).as_deref(), Ok(text), "{sent}");
        }
    }

    /// Recording python--test_queue_encodings_test_message_text_xml_invalid_chars.
    #[test]
    fn the_place_of_a_character_that_is_not_xml_is_told() {
        let place = |body: &[u8]| {
            let failure = read_message(body).unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidXmlDocument);
            failure.details
        };
        let at = |line: &str, column: &str| {
            vec![
                ("LineNumber", line.to_owned()),
                ("LinePosition", column.to_owned()),
                ("Reason", "Error parsing Xml content".to_owned()),
            ]
        };
        assert_eq!(place(body("\u{1}").as_bytes()), at("2", "28"));
        assert_eq!(
            place(format!("\u{FEFF}{}", body("\u{1}")).as_bytes()),
            at("2", "28")
        );
        assert_eq!(
            place(body("\u{1F600}\n\u{1F600}é\u{FFFE}").as_bytes()),
            at("3", "4")
        );
        assert_eq!(place(b"<QueueMessage>\xFF</QueueMessage>"), at("1", "15"));
        for bad in [
            "",
            "text",
            "<QueueMessage>",
            "<QueueMessage><a></QueueMessage>",
            "<!DOCTYPE a>",
            "<a/><b/>",
        ] {
            assert_eq!(place(bad.as_bytes()).len(), 3, "{bad}");
        }
        for bad in ["&#1;", "&unknown;", "&", "a & b"] {
            assert_eq!(place(body(bad).as_bytes()).len(), 3, "{bad}");
        }
    }

    #[test]
    fn another_document_has_no_place() {
        for bad in [
            "<Other/>",
            "<QueueMessage/>",
            "<QueueMessage><Text>x</Text></QueueMessage>",
            "<QueueMessage><MessageText><b/></MessageText></QueueMessage>",
            "<QueueMessage><MessageText/><MessageText/></QueueMessage>",
        ] {
            assert_eq!(read_message(bad.as_bytes()), Err(invalid_xml()), "{bad}");
        }
        assert_eq!(
            read_message(body(&"<a>".repeat(20)).as_bytes()),
            Err(invalid_xml())
        );
    }

    /// Recordings js--queueclient_messageid_methods_update_message_with_64kb_* and …_negative_with_65537b_*.
    #[test]
    fn texts_and_bodies_have_limits() {
        let read = |text: &str| read_message(body(text).as_bytes());
        let largest = "a".repeat(MESSAGE_BYTES_MAX);
        assert_eq!(read(&largest).unwrap().len(), MESSAGE_BYTES_MAX);
        let limit = |failure: Failure| (failure.status(), failure.details);
        let of = |bytes: &str| (413, vec![("MaxLimit", bytes.to_owned())]);
        assert_eq!(
            limit(read(&format!("{largest}a")).unwrap_err()),
            of("65536")
        );
        // Bytes of UTF-8 count, after unescaping.
        assert_eq!(limit(read(&"é".repeat(32_769)).unwrap_err()), of("65536"));
        assert!(read(&"&amp;".repeat(26_000)).is_ok());
        assert_eq!(
            limit(read(&"&amp;".repeat(26_400)).unwrap_err()),
            of("131584")
        );
        assert_eq!(
            code(write_message(&format!("{largest}a"))),
            ErrorCode::RequestBodyTooLarge
        );
        assert_eq!(
            code(write_message(&"&".repeat(30_000))),
            ErrorCode::RequestBodyTooLarge
        );
        assert_eq!(code(write_message("a\u{0}")), ErrorCode::InvalidXmlDocument);
    }

    proptest! {
        #[test]
        fn messages_round_trip(text: String, shaped in "[ \r\n\t<>&'\"a\u{1F600}]{0,20}") {
            for text in [&text, &shaped] {
                match write_message(text) {
                    Ok(body) => prop_assert_eq!(read_message(&body), Ok(text.clone())),
                    Err(_) => prop_assert!(text.contains(|c| !is_xml_char(c))),
                }
            }
        }

        #[test]
        fn any_body_is_read_or_refused(bytes: Vec<u8>, shaped in "(</?(QueueMessage|MessageText)/?>|&[#a-z0-9x]{0,5};|<!\\[CDATA\\[|\\]\\]>|[a-z \n]){0,20}") {
            for body in [&bytes[..], shaped.as_bytes()] {
                let _ = read_message(body);
            }
        }
    }
}
