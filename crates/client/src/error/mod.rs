//! Errors of requests: what failed, whether the data changed, and what the caller can do.

mod text;

use partita_wire::{ErrorCode, queue, table};
use std::sync::Arc;
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
#[non_exhaustive]
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
///
/// `Display` is one line with the operation, the table and keys or the queue, the failure with its causes, and the
/// outcome if it is unknown:
///
/// ```text
/// InsertEntity people(PartitionKey='O''Brien',RowKey='Miles'): 409 EntityAlreadyExists: The specified entity already exists.
/// QueryEntities people: cannot connect: client error (Connect): tcp connect error: Connection refused (os error 111)
/// ```
///
/// As the line contains the causes, `std::error::Error::source` returns none of them; [`Error::cause`] does.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    outcome: Outcome,
    message: String,
    answer: Option<ErrorAnswer>,
    about: Option<(&'static str, Arc<str>)>,
    attempts: Option<Attempts>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl std::error::Error for Error {}

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
    /// What the request addresses, such as a table and keys.
    pub(crate) subject: Arc<str>,
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
            about: None,
            attempts: None,
            cause: None,
        }))
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    pub(crate) fn unreadable(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::new(ErrorKind::Unreadable, "cannot read the answer").caused_by(source)
    }

    /// The entity that `operation` read does not match the requested Rust type.
    pub(crate) fn mismatch(
        operation: &'static str,
        subject: String,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let message = "the entity does not match the Rust type";
        let error = Self::new(ErrorKind::Unreadable, message).caused_by(error);
        error.about(operation, subject.into())
    }

    pub(crate) fn answered(message: String, answer: ErrorAnswer) -> Self {
        let mut error = Self::new(ErrorKind::Service, message);
        error.0.answer = Some(answer);
        error
    }

    pub(crate) fn caused_by(
        mut self,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    pub(crate) fn after(self, attempts: Attempts, outcome: Outcome) -> Self {
        let mut error = self.about(attempts.operation, Arc::clone(&attempts.subject));
        (error.0.attempts, error.0.outcome) = (Some(attempts), outcome);
        error
    }

    /// Sets the operation and what it addresses.
    pub(crate) fn about(mut self, operation: &'static str, subject: Arc<str>) -> Self {
        self.0.about = Some((operation, subject));
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
        Some(self.0.about.as_ref()?.0)
    }

    /// What the failed operation addresses, such as `people(PartitionKey='O''Brien',RowKey='Miles')`; `None` if no
    /// request was made.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        Some(&self.0.about.as_ref()?.1)
    }

    /// The error of another library or of this crate, such as a [`crate::ConvertError`] or an I/O error, that this error is
    /// due to. Its own causes are its `source`.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.0.cause.as_deref()
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

    /// Whether the entity does not exist, though its table does.
    pub(crate) fn is_missing_entity(&self) -> bool {
        self.is_not_found() && self.code() != Some(ErrorCode::TableNotFound)
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
