//! A refused request, and the failures of storage that all protocols answer alike. Internal detail is logged, not sent.

use partita_rt::LogLimit;
use partita_service::BusyReason;
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

/// The failure of a request whose range this server does not serve now, and no other that it reaches. Not executed.
pub(super) fn not_served() -> Failure {
    let mut failure = Failure::busy(BusyReason::RangeInTransit.as_str());
    // Not 0: clients obey it instead of their own pauses, and would use up all retries at once.
    failure.retry_after_s = 1;
    failure
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
