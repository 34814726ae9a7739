//! Errors of requests: what failed, whether the data changed, and what the caller can do.

use partita_wire::{ErrorCode, queue, table};
use std::fmt;
use std::time::Duration;

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether a failed write changed the stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The write was not sent, or the server refused it. Failed reads always have this outcome.
    DidNotHappen,
    /// At least one attempt was sent, and no answer shows whether it happened. Read the data back before writing again.
    MayHaveHappened,
}

/// The kind of an error, from which the caller decides how to react.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Invalid arguments. Nothing was sent; fix the arguments.
    Input,
    /// The token provider failed, or the operation does not accept this kind of credential.
    Credential,
    /// Cannot connect to the server.
    Connect,
    /// The TLS handshake failed. Usually the server's certificate authority is not trusted.
    Tls,
    /// The connection broke before the answer was complete.
    Broken,
    /// The attempt or the operation timed out.
    TimedOut,
    /// The server answered with an error: see [`Error::status`] and [`Error::code`].
    Service,
    /// The answer is not valid in the protocol, exceeds 64 MiB, or does not match the requested Rust type.
    Unreadable,
}

/// A failed request.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Inner>);

#[derive(Debug, thiserror::Error)]
struct Inner {
    kind: ErrorKind,
    outcome: Outcome,
    message: String,
    answer: Option<ErrorAnswer>,
    attempts: Option<Attempts>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The server's error answer.
#[derive(Debug)]
pub(crate) struct ErrorAnswer {
    pub(crate) status: u16,
    /// Empty if the answer has no code.
    pub(crate) code: String,
    /// The zero-based index of the failed operation in a batch.
    pub(crate) operation_index: Option<usize>,
    pub(crate) retry_after: Option<Duration>,
}

/// The attempts of a request so far.
#[derive(Debug, Clone)]
pub(crate) struct Attempts {
    pub(crate) operation: &'static str,
    /// Number of attempts, at least 1.
    pub(crate) count: u32,
    /// `x-ms-client-request-id` of the last attempt.
    pub(crate) client_request_id: String,
    /// `x-ms-request-id` of the last answer.
    pub(crate) request_id: Option<String>,
    /// Whether an attempt before the last one may have changed data. The last attempt may then have met the effect of
    /// an earlier one.
    pub(crate) ambiguous: bool,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            outcome: Outcome::DidNotHappen,
            message: message.into(),
            answer: None,
            attempts: None,
            source: None,
        }))
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    pub(crate) fn unreadable(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::new(ErrorKind::Unreadable, "cannot read the answer").caused_by(source)
    }

    pub(crate) fn answered(message: String, answer: ErrorAnswer) -> Self {
        let mut error = Self::new(ErrorKind::Service, message);
        error.0.answer = Some(answer);
        error
    }

    pub(crate) fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn after(mut self, attempts: Attempts, outcome: Outcome) -> Self {
        (self.0.attempts, self.0.outcome) = (Some(attempts), outcome);
        self
    }

    /// Whether an attempt before the last one may have changed data.
    pub(crate) fn is_ambiguous(&self) -> bool {
        let attempts = self.0.attempts.as_ref();
        attempts.is_some_and(|attempts| attempts.ambiguous)
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the failed write changed the stored data.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The name of the failed operation, such as `InsertEntity`; `None` if no request was made.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        Some(self.0.attempts.as_ref()?.operation)
    }

    /// The HTTP status of the answer, 300 to 599; in a batch, the status of the failed operation. `None` if the server
    /// did not answer with an error.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        Some(self.0.answer.as_ref()?.status)
    }

    /// The storage error code as the server wrote it, such as `EntityAlreadyExists`; empty if the answer has no code.
    #[must_use]
    pub fn code_text(&self) -> &str {
        let answer = self.0.answer.as_ref();
        answer.map_or("", |answer| &answer.code)
    }

    /// The storage error code; `None` if the answer has no code, or if this crate has no constant for it.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        let (name, status) = (self.code_text(), self.status()?);
        let find = |codes| ErrorCode::find(codes, name, status);
        find(table::ERROR_CODES).or_else(|| find(queue::ERROR_CODES))
    }

    /// The server's message, or a description of the failure. It may have several lines.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The zero-based index of the failed operation in a batch.
    #[must_use]
    pub fn operation_index(&self) -> Option<usize> {
        self.0.answer.as_ref()?.operation_index
    }

    /// The server's id of the last attempt, `x-ms-request-id`. Server logs contain it.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.attempts.as_ref()?.request_id.as_deref()
    }

    /// The client's id of the last attempt, `x-ms-client-request-id`.
    #[must_use]
    pub fn client_request_id(&self) -> Option<&str> {
        Some(&self.0.attempts.as_ref()?.client_request_id)
    }

    /// The wait that the server requested, from `Retry-After` or a similar header.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.answer.as_ref()?.retry_after
    }

    /// The number of attempts; 0 if no request was made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        let attempts = self.0.attempts.as_ref();
        attempts.map_or(0, |attempts| attempts.count)
    }

    /// Whether the status is 404: the table, entity, queue or message does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Whether the status is 409: the table, entity or queue exists already, or is being deleted.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(409)
    }

    /// Whether the status is 412: the entity's ETag differs from the one in the request.
    #[must_use]
    pub fn is_precondition_failed(&self) -> bool {
        self.status() == Some(412)
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(attempts) = &self.attempts {
            write!(f, "{}: ", attempts.operation)?;
        }
        if let Some(answer) = &self.answer {
            if let Some(index) = answer.operation_index {
                write!(f, "operation {index}: ")?;
            }
            write!(f, "{} {}: ", answer.status, answer.code)?;
        }
        // The service appends lines with request id and time, for which `Error` has fields.
        f.write_str(self.message.lines().next().unwrap_or_default())?;
        if self.outcome == Outcome::MayHaveHappened {
            f.write_str(" (it may have happened)")?;
        }
        Ok(())
    }
}
