//! A refused request, and the failures of storage that all protocols answer alike. Internal detail is logged, not sent.

use partita_rt::LogLimit;
use partita_wire::{ErrorCode, Failure};
use std::time::Instant;

/// Limits the log lines about damaged data: every request that needs a damaged row fails in the same way.
static CORRUPT: LogLimit = LogLimit::new();

/// A refused request, with the failure that its answer shows. For each protocol, one function turns every error of its
/// service into a failure.
#[derive(Debug)]
pub(super) struct Refused(pub(super) Failure);

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<ErrorCode> for Refused {
    fn from(code: ErrorCode) -> Self {
        Self(code.into())
    }
}

/// The code for a write that may have happened.
pub(super) fn outcome_unknown() -> ErrorCode {
    tracing::error!("the outcome of a write is unknown");
    ErrorCode::OperationTimedOut
}

/// The code for damaged stored data.
pub(super) fn corrupt(reason: &str) -> ErrorCode {
    if CORRUPT.permits(reason, Instant::now()) {
        tracing::error!(%reason, "stored data cannot be read");
    }
    ErrorCode::InternalError
}
