//! Judges an attempt: whether it succeeded, whether it is retried, and whether the server executed it.

use crate::error::{Attempts, ErrorAnswer};
use crate::observer::RetryReason;
use crate::request::Request;
use crate::retry::{is_retried_status, outcome_of_status, retry_after};
use crate::transport::{Answer, header_text};
use crate::{Error, ErrorKind, Outcome, clock};
use http::header::HeaderMap;
use partita_wire::ErrorBody;

/// A failed attempt.
#[derive(Debug)]
pub(super) struct FailedAttempt {
    pub(super) error: Error,
    /// The answer; `None` if the server did not answer.
    pub(super) answer: Option<Box<Answer>>,
}

impl FailedAttempt {
    /// Adds the attempts and the outcome to the error. A failed read changes nothing; an unknown outcome of an earlier
    /// attempt stays unknown.
    pub(super) fn settle(self, request: &Request, attempts: Attempts) -> Self {
        let outcome = match (self.error.kind(), self.error.status()) {
            _ if !request.is_write => Outcome::DidNotHappen,
            _ if attempts.ambiguous => Outcome::MayHaveHappened,
            (ErrorKind::Service, Some(status)) => outcome_of_status(status),
            (ErrorKind::Broken | ErrorKind::TimedOut | ErrorKind::Unreadable, _) => {
                Outcome::MayHaveHappened
            }
            _ => Outcome::DidNotHappen,
        };
        Self {
            error: self.error.after(attempts, outcome),
            ..self
        }
    }
}

impl From<Error> for FailedAttempt {
    fn from(error: Error) -> Self {
        Self {
            error,
            answer: None,
        }
    }
}

/// Distinguishes success from failure by the status, and by the failures that the request's `inspect` finds in the
/// answer.
pub(super) fn judge(request: &Request, answer: Answer) -> Result<Answer, FailedAttempt> {
    let judged = match request.inspect {
        _ if answer.status().as_u16() >= 300 => {
            let (status, body) = (answer.status().as_u16(), ErrorBody::read(answer.body()));
            Err(refused(status, answer.headers(), body, None))
        }
        Some(inspect) => inspect(&answer),
        None => Ok(()),
    };
    match judged {
        Ok(()) => Ok(answer),
        Err(error) => Err(FailedAttempt {
            error,
            answer: Some(Box::new(answer)),
        }),
    }
}

/// The error of an answer with a status of 300 or above; `index` is the position of the failed operation in a batch.
pub(crate) fn refused(
    status: u16,
    headers: &HeaderMap,
    body: Option<ErrorBody>,
    index: Option<usize>,
) -> Error {
    let ErrorBody { code, message } = body.unwrap_or_else(|| {
        let code = header_text(headers, "x-ms-error-code").unwrap_or_default();
        ErrorBody {
            code: code.to_owned(),
            message: format!("the server answered with status {status}"),
        }
    });
    let answer = ErrorAnswer {
        status,
        code,
        operation_index: index,
        retry_after: retry_after(headers, clock::now()),
    };
    Error::answered(message, answer)
}

/// Why a failed attempt can be retried; `None` if a retry would fail in the same way.
pub(super) fn retry_reason(error: &Error) -> Option<RetryReason> {
    match error.kind() {
        ErrorKind::Connect => Some(RetryReason::Connect),
        ErrorKind::Broken => Some(RetryReason::Broken),
        ErrorKind::TimedOut => Some(RetryReason::TimedOut),
        ErrorKind::Service => {
            let retried = error.status().filter(|status| is_retried_status(*status));
            retried.map(RetryReason::Status)
        }
        ErrorKind::Input | ErrorKind::Credential | ErrorKind::Tls | ErrorKind::Unreadable => None,
    }
}
