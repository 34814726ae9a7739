//! Reads error bodies for clients: the forms of all storage services, which other servers also use.

use crate::xml::read_error_xml;
use serde_json::Value;

/// The code and the text of an error body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ErrorBody {
    /// The code, such as `TableNotFound`. Other servers may send codes that [`crate::ErrorCode`] does not have.
    pub code: String,
    /// The text, with the lines of request id and time.
    pub message: String,
}

impl ErrorBody {
    /// Reads OData JSON, or XML of either name space; `None` for any other body, such as the HTML of a proxy.
    pub fn read(body: &[u8]) -> Option<Self> {
        let text = body.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(body);
        match text.trim_ascii_start().first()? {
            b'{' => Self::from_json(text),
            b'<' => read_error_xml(text).map(|[code, message]| Self { code, message }),
            _ => None,
        }
    }

    /// Reads `{"odata.error":{"code":"…","message":{"value":"…"}}}`. Some servers write `error` instead of
    /// `odata.error`, or the message as a plain string.
    fn from_json(text: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(text).ok()?;
        let error = body.get("odata.error").or_else(|| body.get("error"))?;
        let code = error
            .get("code")?
            .as_str()
            .filter(|code| !code.is_empty())?;
        let message = error.get("message").unwrap_or(&Value::Null);
        let message = message.get("value").unwrap_or(message).as_str();
        Some(Self {
            code: code.to_owned(),
            message: message.unwrap_or_default().to_owned(),
        })
    }

    /// Splits the text of a failed batch, `3:The specified entity already exists.…`, into the index of the failed
    /// operation and the rest. An error without an index belongs to the only operation (service document "Performing
    /// entity group transactions", recorded answers).
    pub fn split_index(&self) -> (Option<usize>, &str) {
        let split = self.message.split_once(':');
        let split = split.filter(|(index, _)| index.len() <= 3);
        split
            .and_then(|(index, text)| Some((Some(index.parse().ok()?), text)))
            .unwrap_or((None, &self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{write_error_json, write_error_xml};
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
            write_error_xml(&failure, &at, &mut out);
        } else {
            write_error_json(&failure, &at, &mut out);
        }
        out
    }

    #[test]
    fn bodies_of_the_server_are_read() {
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
    fn bodies_of_other_servers_are_read() {
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
    fn other_bodies_are_not_errors() {
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
