//! What can go wrong, and what it means for the data.

use partita_wire::ErrorCode;
use partita_wire::table::ERROR_CODES;
use std::fmt;
use std::time::Duration;

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether a write that failed changed anything. An unknown outcome is a type, not a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It did not: the request was not sent, or refused. That of every read.
    DidNotHappen,
    /// It may have: some attempt was sent and got no answer that settles it. Read back before writing again.
    MayHaveHappened,
}

/// The kinds of error, by what the caller can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The arguments cannot be sent: fix them. Nothing was.
    Input,
    /// There is no credential for it: the provider failed, or the kind of credential does not allow it.
    Credential,
    /// No connection was made.
    Connect,
    /// The certificate or the handshake was refused: trust the server's authority.
    Tls,
    /// The connection broke.
    Broken,
    /// It took too long.
    TimedOut,
    /// The server answered with an error: [`Error::status`] and [`Error::code`] say which.
    Service,
    /// The server answered with what the protocol does not have.
    Unreadable,
}

/// A request that failed.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    operation: Option<&'static str>,
    outcome: Outcome,
    message: String,
    status: Option<u16>,
    code: String,
    operation_index: Option<usize>,
    request_id: Option<String>,
    client_request_id: Option<String>,
    retry_after: Option<Duration>,
    attempts: u32,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            operation: None,
            outcome: Outcome::DidNotHappen,
            message: message.into(),
            status: None,
            code: String::new(),
            operation_index: None,
            request_id: None,
            client_request_id: None,
            retry_after: None,
            attempts: 0,
            source: None,
        }))
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    pub(crate) fn unreadable(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::new(ErrorKind::Unreadable, "the answer cannot be read").caused_by(source)
    }

    pub(crate) fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What the server said.
    pub(crate) fn answered(mut self, status: u16, code: &str, index: Option<usize>) -> Self {
        (self.0.status, self.0.operation_index) = (Some(status), index);
        code.clone_into(&mut self.0.code);
        self
    }

    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    pub(crate) fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    pub(crate) fn of_attempt(
        mut self,
        operation: &'static str,
        attempts: u32,
        client_request_id: &str,
        request_id: Option<&str>,
    ) -> Self {
        let inner = &mut self.0;
        (inner.operation, inner.attempts) = (Some(operation), attempts);
        inner.client_request_id = Some(client_request_id.to_owned());
        inner.request_id = request_id.map(str::to_owned);
        self
    }

    /// What kind it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the write did not, or may have happened.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The name of the operation that failed, such as `InsertEntity`; `None` where no request was made.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// The HTTP status, 300 to 599, of an answer. In a batch, that of the operation at fault.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The storage code as the server wrote it, such as `EntityAlreadyExists`; empty without one.
    #[must_use]
    pub fn code_text(&self) -> &str {
        &self.0.code
    }

    /// The storage code, if it is one that is known here.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        ErrorCode::find(ERROR_CODES, &self.0.code, self.0.status?)
    }

    /// What went wrong, in the server's words if it has said something.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// In a batch, the zero-based index of the operation at fault.
    #[must_use]
    pub fn operation_index(&self) -> Option<usize> {
        self.0.operation_index
    }

    /// The server's id of the last attempt: what its operator looks for.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The client's id of the last attempt.
    #[must_use]
    pub fn client_request_id(&self) -> Option<&str> {
        self.0.client_request_id.as_deref()
    }

    /// For how long the server asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// How many attempts were made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Whether the server says that what was asked for is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.status == Some(404)
    }

    /// Whether the server says that what was to be made is there already.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.0.status == Some(409)
    }

    /// Whether the server says that the entity is not in the version that the request named.
    #[must_use]
    pub fn is_precondition_failed(&self) -> bool {
        self.0.status == Some(412)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        if let Some(operation) = inner.operation {
            write!(f, "{operation}: ")?;
        }
        if let Some(index) = inner.operation_index {
            write!(f, "operation {index}: ")?;
        }
        if let Some(status) = inner.status {
            write!(f, "{status} {}: ", inner.code)?;
        }
        // Request id and time have fields of their own.
        f.write_str(inner.message.lines().next().unwrap_or_default())?;
        if inner.outcome == Outcome::MayHaveHappened {
            f.write_str(" (it may have happened)")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}
