//! Failures as clients see them: a code, a status, a text, and the two shapes of body.
//!
//! Entity and table operations answer errors as OData JSON, the operations with XML bodies and refused credentials as
//! XML; [`Failure::form`] decides. The texts end in the request id and the time, because users paste nothing else into
//! an issue. Internal detail never gets in here: a [`Failure`] holds only what a stranger may read.

mod body;
mod code;
mod reader;
#[cfg(test)]
mod tests;

use crate::Operation;
use std::borrow::Cow;
use std::fmt;

pub use body::Occurrence;
pub use code::ErrorCode;
pub use reader::ErrorBody;

/// The shape of an error body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// `{"odata.error":…}`; its content type names a metadata level.
    Json,
    /// `<m:error>…`, as `application/xml`, with the code also in the header `x-ms-error-code`.
    Xml,
}

/// Why a request was refused, in the words of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The code; it fixes the status.
    pub code: ErrorCode,
    /// Text in place of the code's own.
    pub message: Option<Cow<'static, str>>,
    /// Names and texts that only the XML body shows, such as `AuthenticationErrorDetail`.
    pub details: Vec<(&'static str, String)>,
    /// The value of the header `Allow`, for a 405.
    pub allow: Option<&'static str>,
    /// The value of our own header `x-partita-reason`, for a 503.
    pub reason: Option<&'static str>,
    /// The value of the header `Retry-After`, in seconds, for a 503 or a timeout; at least 1.
    pub retry_after_s: u64,
}

impl Failure {
    /// A failure with the text of its code.
    #[must_use]
    pub const fn new(code: ErrorCode) -> Self {
        Self::of(code, None)
    }

    /// A failure with a text of its own.
    #[must_use]
    pub fn with_message(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self::of(code, Some(message.into()))
    }

    const fn of(code: ErrorCode, message: Option<Cow<'static, str>>) -> Self {
        Self {
            code,
            message,
            details: Vec::new(),
            allow: None,
            reason: None,
            retry_after_s: 1,
        }
    }

    /// 503 ServerBusy, with the reason in a word.
    #[must_use]
    pub const fn busy(reason: &'static str) -> Self {
        let mut failure = Self::new(ErrorCode::ServerBusy);
        failure.reason = Some(reason);
        failure
    }

    /// 405 MethodNotAllowed, with the methods that are allowed.
    #[must_use]
    pub const fn method_not_allowed(allow: &'static str) -> Self {
        let mut failure = Self::new(ErrorCode::MethodNotAllowed);
        failure.allow = Some(allow);
        failure
    }

    /// Adds a detail that the XML body shows.
    #[must_use]
    pub fn detail(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.details.push((name, text.into()));
        self
    }

    /// 403 AuthenticationFailed with the reason as its detail. The reason must not help a guesser: it names times and
    /// fields, never keys or expected signatures.
    #[must_use]
    pub fn authentication(reason: impl Into<String>) -> Self {
        Self::new(ErrorCode::AuthenticationFailed).detail("AuthenticationErrorDetail", reason)
    }

    /// 400 InvalidHeaderValue naming the header and its value.
    #[must_use]
    pub fn header_value(name: &str, value: &str) -> Self {
        Self::new(ErrorCode::InvalidHeaderValue)
            .detail("HeaderName", name)
            .detail("HeaderValue", value)
    }

    /// The HTTP status, 400 to 599.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.code.status()
    }

    /// The text, without request id and time.
    #[must_use]
    pub fn text(&self) -> &str {
        self.message.as_deref().unwrap_or(self.code.text())
    }

    /// The shape of the body for an operation, `None` where the request failed before its operation was known.
    ///
    /// Refused credentials are XML everywhere, but a refused permission of a valid SAS is in the form of the operation
    /// (recordings net--TableServiceClientLiveTests_ValidateAccountSasCredentialsWithResourceTypes,
    /// python--test_table_entity_test_sas_add_outside_range). Before the operation is known, what OData has to say of
    /// keys and verbs is JSON, the rest XML.
    #[must_use]
    pub fn form(&self, operation: Option<Operation>) -> BodyForm {
        use ErrorCode as E;
        let is_json = match operation {
            _ if self.code.refuses_credentials() => false,
            Some(operation) => !operation.answers_xml(),
            None => matches!(
                self.code,
                E::InvalidInput
                    | E::OutOfRangeInput
                    | E::MethodNotAllowed
                    | E::NotImplemented
                    | E::MissingRequiredHeader
                    | E::XMethodNotUsingPost
                    | E::XMethodIncorrectCount
                    | E::XMethodIncorrectValue
            ),
        };
        if is_json {
            BodyForm::Json
        } else {
            BodyForm::Xml
        }
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
