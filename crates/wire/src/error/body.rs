//! The two shapes of an error body.

use super::Failure;
use partita_model::DateTime;

/// Which request failed, and when: the last two lines of every error text.
#[derive(Debug, Clone, Copy)]
pub struct Occurrence<'a> {
    /// The value of the header `x-ms-request-id`.
    pub request_id: &'a str,
    /// The server's time.
    pub time: DateTime,
    /// Zero-based index of the failing operation, where a batch's error must name it.
    pub batch_index: Option<usize>,
}

impl Failure {
    /// Appends the OData JSON body. It is the same at every metadata level; only the content type differs.
    pub fn write_json(&self, occurrence: &Occurrence<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"odata.error\":{\"code\":\"");
        out.extend_from_slice(self.code.name().as_bytes());
        out.extend_from_slice(b"\",\"message\":{\"lang\":\"en-US\",\"value\":\"");
        self.write_text(occurrence, out, push_json);
        out.extend_from_slice(b"\"}}}");
    }

    /// Appends the XML body: declaration and `m:error`, without a byte order mark (recordings of `comp=acl` errors).
    pub fn write_xml(&self, occurrence: &Occurrence<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"");
        out.extend_from_slice(
            b"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>",
        );
        out.extend_from_slice(self.code.name().as_bytes());
        out.extend_from_slice(b"</m:code><m:message xml:lang=\"en-US\">");
        self.write_text(occurrence, out, push_xml);
        out.extend_from_slice(b"</m:message>");
        for (name, text) in &self.details {
            for (open, shut) in [("<m:", ">"), ("</m:", ">")] {
                out.extend_from_slice(open.as_bytes());
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(shut.as_bytes());
                if open == "<m:" {
                    push_xml(text, out);
                }
            }
        }
        out.extend_from_slice(b"</m:error>");
    }

    fn write_text(&self, at: &Occurrence<'_>, out: &mut Vec<u8>, push: fn(&str, &mut Vec<u8>)) {
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

fn push_json(text: &str, out: &mut Vec<u8>) {
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

/// Escapes markup; characters that XML 1.0 cannot hold at all become U+FFFD.
fn push_xml(text: &str, out: &mut Vec<u8>) {
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
