//! The result of an attempt: success or failure, worth a retry or not, executed or not.

use crate::observer::RetryReason;
use crate::request::Request;
use crate::retry::{is_retried_status, outcome_of_status, retry_after};
use crate::transport::{Answer, SendError};
use crate::{Error, ErrorKind, Outcome, clock};
use http::header::HeaderMap;
use partita_wire::ErrorBody;

/// An attempt that failed.
#[derive(Debug)]
pub(crate) struct AttemptError {
    pub(crate) error: Error,
    /// Why it may be tried again; `None` if never.
    pub(crate) reason: Option<RetryReason>,
}

/// A failed read has changed nothing. An outcome that an earlier attempt left unknown stays unknown.
pub(super) fn settled(error: Error, is_write: bool, ambiguous: bool) -> Error {
    if !is_write {
        error.with_outcome(Outcome::DidNotHappen)
    } else if ambiguous {
        error.with_outcome(Outcome::MayHaveHappened)
    } else {
        error
    }
}

pub(super) fn not_answered(SendError { kind, source }: SendError) -> AttemptError {
    let (message, reason, outcome) = match kind {
        ErrorKind::Connect => (
            "no connection",
            Some(RetryReason::Connect),
            Outcome::DidNotHappen,
        ),
        ErrorKind::Tls => ("no trust in the server", None, Outcome::DidNotHappen),
        ErrorKind::Broken => (
            "the connection broke",
            Some(RetryReason::Broken),
            Outcome::MayHaveHappened,
        ),
        _ => ("the answer cannot be read", None, Outcome::MayHaveHappened),
    };
    let error = Error::new(kind, message)
        .with_outcome(outcome)
        .caused_by(source);
    AttemptError { error, reason }
}

/// Tells a success from a failure: by status, and by what the request finds inside the answer.
pub(super) fn judged(request: &Request, answer: Answer) -> Result<Answer, AttemptError> {
    if answer.status >= 300 {
        let body = ErrorBody::read(&answer.body);
        return Err(refused(answer.status, &answer.headers, body, None));
    }
    if let Some(inspect) = request.inspect {
        inspect(&answer)?;
    }
    Ok(answer)
}

/// The error of a status of 300 or above, with its body; `index` is that of the operation in a batch.
pub(crate) fn refused(
    status: u16,
    headers: &HeaderMap,
    body: Option<ErrorBody>,
    index: Option<usize>,
) -> AttemptError {
    let (code, message) = match body {
        Some(ErrorBody { code, message }) => (code, message),
        None => {
            let code = header_text(headers, "x-ms-error-code").unwrap_or_default();
            let message = format!("the server answered with status {status}");
            (code.to_owned(), message)
        }
    };
    let reason = is_retried_status(status).then_some(RetryReason::Status(status));
    let error = Error::new(ErrorKind::Service, message)
        .answered(status, &code, index)
        .with_outcome(outcome_of_status(status))
        .with_retry_after(retry_after(headers, clock::now()));
    AttemptError { error, reason }
}

pub(crate) fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}
