//! The failures of requests that storage did not execute or complete: mostly 503, with the reason and a time for the retry.

use super::refused::{Refused, corrupt, outcome_unknown};
use partita_service::{AccountLimit, Busy, BusyReason, Error};
use partita_wire::{ErrorCode, Failure};
use std::borrow::Cow;

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Busy(reason) => return Self(busy(&reason)),
            Error::TooLarge => ErrorCode::RequestBodyTooLarge,
            Error::OutcomeUnknown => outcome_unknown(),
            Error::Corrupt(reason) => corrupt(&reason),
        };
        code.into()
    }
}

/// 503 ServerBusy. What clients cause is logged at level debug only, because there may be tens of thousands a second;
/// `/admin/v1/status` and metrics count it.
pub(super) fn busy(busy: &Busy) -> Failure {
    let Busy {
        reason,
        retry_after,
        detail,
    } = busy;
    let word = reason.as_str();
    if reason.is_caused_by_clients() {
        tracing::debug!(reason = word, %detail, "a request was not executed");
    } else {
        tracing::warn!(reason = word, %detail, "a request was not executed");
    }
    let mut failure = Failure::busy(word);
    // Rounded up to whole seconds, the unit of Retry-After: an earlier attempt would be refused again.
    failure.retry_after_s = retry_after.as_millis().div_ceil(1_000).max(1) as u64;
    failure.message = account_text(*reason).map(Cow::Borrowed);
    failure
}

/// The texts of the service for an account's targets (its documents of error codes list them for ServerBusy).
const fn account_text(reason: BusyReason) -> Option<&'static str> {
    match reason {
        BusyReason::AccountTarget(AccountLimit::Operations) => {
            Some("Operations per second is over the account limit.")
        }
        BusyReason::AccountTarget(AccountLimit::Ingress) => {
            Some("Ingress is over the account limit.")
        }
        BusyReason::AccountTarget(AccountLimit::Egress) => {
            Some("Egress is over the account limit.")
        }
        BusyReason::RangeInTransit
        | BusyReason::Overloaded
        | BusyReason::PartitionTarget
        | BusyReason::TableTarget
        | BusyReason::Memory => None,
    }
}
