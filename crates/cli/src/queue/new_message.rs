//! New messages: their times from flags, and messages as lines of stdin.
//!
//! A line is the text of a message or, with `--json`, an object such as `{"text":"paint","ttl":"1h","visibility":30}`.
//! The objects that `partita queue get` prints are accepted too; only their `MessageText` is used.

use crate::error::CommandError;
use crate::lines::Line;
use crate::units::{DURATION_HELP, parse_duration, parse_duration_above_zero};
use partita_client::{MessageExpiry, SendOptions};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::time::Duration;

/// A message to put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewMessage {
    pub(super) text: String,
    pub(super) options: SendOptions,
}

/// The flags of a message's times.
#[derive(clap::Args)]
pub(super) struct TimeArgs {
    /// Time to live of the messages, such as 30s or 7d, or `never` [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = parse_expiry)]
    ttl: Option<MessageExpiry>,
    /// Hide the messages for this time, such as 30s; at most 7d [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    visibility: Option<Duration>,
}

impl TimeArgs {
    pub(super) fn options(&self) -> SendOptions {
        SendOptions {
            visibility_timeout: self.visibility.unwrap_or_default(),
            expiry: self.ttl.unwrap_or_default(),
        }
    }
}

/// How lines become messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineForm {
    /// Whether each line is a JSON object, not a text.
    pub(super) json: bool,
    /// The times of messages that set none.
    pub(super) options: SendOptions,
}

impl LineForm {
    pub(super) fn message(self, (number, line): &Line) -> Result<NewMessage, CommandError> {
        let LineForm { json, mut options } = self;
        if !json {
            let text = line.clone();
            return Ok(NewMessage { text, options });
        }
        let invalid = |what: String| {
            CommandError::usage(format!("line {number} of the input is invalid: {what}"))
        };
        let object: MessageObject =
            serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
        if let Some(ttl) = &object.ttl {
            let ttl = time_text(ttl).and_then(|text| parse_expiry(&text));
            options.expiry = ttl.map_err(|why| invalid(format!("ttl: {why}")))?;
        }
        if let Some(visibility) = &object.visibility {
            let visibility = time_text(visibility).and_then(|text| parse_duration(&text));
            options.visibility_timeout =
                visibility.map_err(|why| invalid(format!("visibility: {why}")))?;
        }
        let text = object.text;
        Ok(NewMessage { text, options })
    }
}

/// A message as JSON.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageObject {
    #[serde(alias = "MessageText")]
    text: String,
    ttl: Option<Value>,
    visibility: Option<Value>,
    // What a received message has besides its text.
    #[serde(rename = "MessageId")]
    _id: Option<IgnoredAny>,
    #[serde(rename = "InsertionTime")]
    _inserted: Option<IgnoredAny>,
    #[serde(rename = "ExpirationTime")]
    _expires: Option<IgnoredAny>,
    #[serde(rename = "PopReceipt")]
    _receipt: Option<IgnoredAny>,
    #[serde(rename = "TimeNextVisible")]
    _next_visible: Option<IgnoredAny>,
    #[serde(rename = "DequeueCount")]
    _dequeue_count: Option<IgnoredAny>,
}

/// A time as flags write it, from a text or from a number of seconds.
fn time_text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if number.is_u64() => Ok(format!("{number}s")),
        other => Err(format!(
            "{other} is neither a number of seconds nor a duration, {DURATION_HELP}"
        )),
    }
}

/// Reads a time to live.
fn parse_expiry(text: &str) -> Result<MessageExpiry, String> {
    match text {
        "never" => Ok(MessageExpiry::Never),
        text => parse_duration_above_zero(text).map(MessageExpiry::After),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(json: bool, line: &str) -> Result<NewMessage, String> {
        let options = SendOptions {
            visibility_timeout: Duration::from_secs(5),
            expiry: MessageExpiry::Usual,
        };
        let form = LineForm { json, options };
        let message = form.message(&(7, line.to_owned()));
        message.map_err(|error| error.chain())
    }

    #[test]
    fn lines_are_texts_or_objects() {
        let plain = message(false, "{\"text\":").unwrap();
        assert_eq!(plain.text, "{\"text\":");
        assert_eq!(plain.options.visibility_timeout, Duration::from_secs(5));
        for (line, visibility, expiry) in [
            (r#"{"text":"a"}"#, 5, MessageExpiry::Usual),
            (
                r#"{"text":"a","ttl":90}"#,
                5,
                MessageExpiry::After(Duration::from_secs(90)),
            ),
            (
                r#"{"text":"a","ttl":"never","visibility":"1m"}"#,
                60,
                MessageExpiry::Never,
            ),
            (
                r#"{"MessageId":"x","MessageText":"a","DequeueCount":3,"visibility":0}"#,
                0,
                MessageExpiry::Usual,
            ),
        ] {
            let read = message(true, line).unwrap();
            assert_eq!(read.text, "a", "{line}");
            let timeout = read.options.visibility_timeout;
            assert_eq!(
                (timeout.as_secs(), read.options.expiry),
                (visibility, expiry),
                "{line}"
            );
        }
    }

    #[test]
    fn errors_name_the_line_and_the_member() {
        for (line, expected) in [
            ("a", "line 7 of the input is invalid: expected value"),
            ("{}", "missing field `text`"),
            (r#"{"text":"a","tll":1}"#, "unknown field `tll`"),
            (
                r#"{"text":"a","ttl":0}"#,
                "ttl: expected a duration above 0",
            ),
            (
                r#"{"text":"a","ttl":-1}"#,
                "ttl: -1 is neither a number of seconds",
            ),
            (
                r#"{"text":"a","visibility":"x"}"#,
                "visibility: \"x\" is not a duration",
            ),
        ] {
            let refused = message(true, line).unwrap_err();
            assert!(refused.contains(expected), "{line}: {refused}");
        }
    }
}
