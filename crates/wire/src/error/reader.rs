//! Reads the body of an error: what [`super::Failure`] wrote, or another server. The client's side.

use crate::table::json::read_members;
use crate::xml::read_error_xml;

/// What an error body says, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ErrorBody {
    /// The code, such as `TableNotFound`. It may be none that is known here.
    pub code: String,
    /// The text, with its lines of request id and time.
    pub message: String,
}

impl ErrorBody {
    /// Reads OData JSON, or XML of either name space; `None` for any other body (proxies answer in HTML).
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Self> {
        let text = body.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(body);
        match text.trim_ascii_start().first()? {
            b'{' => Self::from_json(text),
            b'<' => read_error_xml(text).map(|[code, message]| Self { code, message }),
            _ => None,
        }
    }

    fn from_json(text: &[u8]) -> Option<Self> {
        let mut found = Self::default();
        read_members(text, &["odata.error", "error"], |name, value| match name {
            "code" => found.code = value,
            "value" | "message" => found.message = value,
            _ => {}
        })?;
        (!found.code.is_empty()).then_some(found)
    }

    /// The index of the operation at fault in a batch, and the text behind it: `3:The specified entity already exists.…`.
    /// Without an index it is the only operation's error (protocol: "Performing entity group transactions", recorded
    /// answers).
    #[must_use]
    pub fn split_index(&self) -> (Option<usize>, &str) {
        match self.message.split_once(':') {
            Some((index, text)) if index.len() <= 3 => match index.parse() {
                Ok(index) => (Some(index), text),
                Err(_) => (None, &self.message),
            },
            _ => (None, &self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorCode, Failure, Occurrence};
    use partita_model::DateTime;

    fn written(batch_index: Option<usize>, xml: bool) -> Vec<u8> {
        let failure = Failure::with_message(ErrorCode::InvalidInput, "a \"b\" <c>\u{1F600}");
        let at = Occurrence {
            request_id: "id",
            time: DateTime::UNIX_EPOCH,
            batch_index,
        };
        let mut out = Vec::new();
        if xml {
            failure.write_xml(&at, &mut out);
        } else {
            failure.write_json(&at, &mut out);
        }
        out
    }

    #[test]
    fn what_the_server_writes_is_read() {
        let message = "a \"b\" <c>\u{1F600}\nRequestId:id\nTime:1970-01-01T00:00:00.0000000Z";
        for xml in [false, true] {
            let body = ErrorBody::read(&written(None, xml)).unwrap();
            assert_eq!(body.code, "InvalidInput");
            assert_eq!(body.message, message);
            assert_eq!(body.split_index(), (None, message));
        }
        let body = ErrorBody::read(&written(Some(17), false)).unwrap();
        assert_eq!(body.split_index(), (Some(17), message));
    }

    #[test]
    fn other_servers_are_read_too() {
        let with_mark = "\u{FEFF}<?xml version=\"1.0\"?><Error><Code>ServerBusy</Code><Message>x</Message></Error>";
        let body = ErrorBody::read(with_mark.as_bytes()).unwrap();
        assert_eq!((&*body.code, &*body.message), ("ServerBusy", "x"));
        let flat = br#"{"odata.error":{"code":"X","message":"plain: text"}}"#;
        let body = ErrorBody::read(flat).unwrap();
        assert_eq!(
            (&*body.code, body.split_index()),
            ("X", (None, "plain: text"))
        );
    }

    #[test]
    fn what_is_no_error_is_none() {
        for text in [
            "",
            "<html><body>502</body></html>",
            "{}",
            "[]",
            "busy",
            "{\"odata.error\":{",
            "<Error>",
        ] {
            assert_eq!(ErrorBody::read(text.as_bytes()), None, "{text}");
        }
    }
}
