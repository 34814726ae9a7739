//! The text of an error body, which every service ends in the same two lines, and its escapes.

use super::Failure;
use partita_model::DateTime;

/// Which request failed, and when: the last two lines of every error text.
#[derive(Debug, Clone, Copy)]
pub struct Occurrence<'a> {
    /// The value of the header `x-ms-request-id`.
    pub request_id: &'a str,
    /// The server's time.
    pub time: DateTime,
    /// Zero-based index of the failed operation, where the error of a batch must name it.
    pub batch_index: Option<usize>,
}

impl Failure {
    /// Appends the text with request id and time; `push` escapes it.
    pub(crate) fn write_text(
        &self,
        at: &Occurrence<'_>,
        out: &mut Vec<u8>,
        push: fn(&str, &mut Vec<u8>),
    ) {
        if let Some(index) = at.batch_index {
            push(&index.to_string(), out);
            push(":", out);
        }
        push(self.text(), out);
        push("\nRequestId:", out);
        push(at.request_id, out);
        push("\nTime:", out);
        push(&at.time.text_seven_digits(), out);
    }
}

/// Appends text that stands in a JSON string.
pub(crate) fn push_json(text: &str, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

/// Appends text to XML. Characters that XML 1.0 cannot hold become U+FFFD.
pub(crate) fn push_xml(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '&' => out.extend_from_slice(b"&amp;"),
            '\t' | '\n' => out.push(c as u8),
            '\r' => out.extend_from_slice(b"&#xD;"),
            '\0'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}' => {
                out.extend_from_slice("\u{FFFD}".as_bytes())
            }
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}
