//! The body of an error: XML in every case.

use crate::xml::{push_text, write_declaration, write_end, write_start, write_text};
use crate::{ErrorCode, Failure, Occurrence};

/// The elements that a body has even if they are empty, by code (recordings
/// js--queueclient_setaccesspolicy_negative, js--queueclient_message_methods_enqueue_peek_and_dequeue_negative).
const REQUIRED: [(ErrorCode, &[(&str, &str)]); 2] = [
    (
        ErrorCode::InvalidXmlDocument,
        &[("LineNumber", "0"), ("LinePosition", "0"), ("Reason", "")],
    ),
    (ErrorCode::InvalidQueryParameterValue, &[("Reason", "")]),
];

/// Appends the body of an error: byte order mark, declaration, `Error` with code, text and the failure's details.
pub fn write_error_xml(failure: &Failure, occurrence: &Occurrence<'_>, out: &mut Vec<u8>) {
    write_declaration(out);
    write_start("Error", out);
    write_text("Code", failure.code.name(), out);
    write_start("Message", out);
    failure.write_text(occurrence, out, push_text);
    write_end("Message", out);
    for (name, text) in &failure.details {
        write_text(name, text, out);
    }
    let required = REQUIRED.iter().find(|(code, _)| *code == failure.code);
    for (name, text) in required.map_or(&[][..], |(_, elements)| *elements) {
        if !failure.details.iter().any(|(present, _)| present == name) {
            write_text(name, text, out);
        }
    }
    write_end("Error", out);
}
