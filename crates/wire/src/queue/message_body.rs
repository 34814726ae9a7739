//! The body of Put Message and Update Message: `<QueueMessage><MessageText>text</MessageText></QueueMessage>`.
//!
//! The text is kept as it is: with its blanks, its line ends and its Base64, which is a matter of the clients.

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
