//! Failures in the form that clients receive: a code, a status, a text and details.
//!
//! A [`Failure`] holds only what an unauthorized caller may read; internal details are only in the server's log. Each
//! service writes failures in its own form of error body (`table/error`); [`crate::ErrorBody`] reads all forms. Texts
//! end in the request id and the time, because users often paste only the text into an issue.

mod code;
mod hint;
mod name;
mod text;

use std::borrow::Cow;
use std::fmt;

pub use code::{COMMON_ERROR_CODES, ErrorCode};
pub(crate) use code::{Description, all_codes, error_codes};
pub use hint::Hint;
pub use name::invalid_name;
pub use text::Occurrence;

/// Why a request was refused: the service's error code, text and details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The code; it determines the status.
    pub code: ErrorCode,
    /// A text that replaces the text of the code; `None` for the text of the code.
    pub message: Option<Cow<'static, str>>,
    /// Names and texts that only XML bodies show, such as `AuthenticationErrorDetail`.
    pub details: Vec<(&'static str, String)>,
    /// The value of the header `Allow` of a 405.
    pub allow: Option<&'static str>,
    /// The value of Partita's header `x-partita-reason` of a 503.
    pub reason: Option<&'static str>,
    /// What to change in the request; Partita's header `x-partita-hint` has it. The text of the service stays as it is.
    pub hint: Option<Box<Hint>>,
    /// The value of the header `Retry-After` of a 503 or a timeout, in seconds; at least 1.
    pub retry_after_s: u64,
}

impl Failure {
    /// A failure with the text of its code.
    pub const fn new(code: ErrorCode) -> Self {
        Self {
            code,
            message: None,
            details: Vec::new(),
            allow: None,
            reason: None,
            hint: None,
            retry_after_s: 1,
        }
    }

    /// A failure with a different text than that of its code.
    pub fn with_message(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::new(code)
        }
    }

    /// 503 ServerBusy with a one-word reason.
    pub const fn busy(reason: &'static str) -> Self {
        let mut failure = Self::new(ErrorCode::ServerBusy);
        failure.reason = Some(reason);
        failure
    }

    /// Adds a detail that XML bodies show.
    #[must_use]
    pub fn detail(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.details.push((name, text.into()));
        self
    }

    /// Adds what to change in the request.
    #[must_use]
    pub(crate) fn hint(mut self, hint: Hint) -> Self {
        self.hint = Some(Box::new(hint));
        self
    }

    /// 403 AuthenticationFailed with the reason as its detail. The reason must not help an attacker: it names times and
    /// fields, never keys or expected signatures.
    pub fn authentication(reason: impl Into<String>) -> Self {
        Self::new(ErrorCode::AuthenticationFailed).detail("AuthenticationErrorDetail", reason)
    }

    /// 400 InvalidHeaderValue with the header's name and value.
    pub fn header_value(name: &str, value: &str) -> Self {
        Self::new(ErrorCode::InvalidHeaderValue)
            .detail("HeaderName", name)
            .detail("HeaderValue", value)
    }

    /// 400 InvalidQueryParameterValue with the parameter's name and value.
    pub(crate) fn query_parameter(name: &str, value: &str) -> Self {
        Self::new(ErrorCode::InvalidQueryParameterValue)
            .detail("QueryParameterName", name)
            .detail("QueryParameterValue", value)
    }

    /// 403 InsufficientAccountPermissions for a write to the secondary. The service documents list this text (Common REST
    /// API Error Codes); the Python SDK's tests expect it (test_table_client_location_mode).
    pub(crate) fn write_to_secondary() -> Self {
        Self::with_message(
            ErrorCode::InsufficientAccountPermissions,
            "Write operations are not allowed.",
        )
    }

    /// The HTTP status, 400 to 599.
    pub const fn status(&self) -> u16 {
        self.code.status()
    }

    /// The text, without request id and time.
    pub fn text(&self) -> &str {
        self.message.as_deref().unwrap_or(self.code.text())
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::new(code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.text())
    }
}

impl std::error::Error for Failure {}
