//! What the table service's errors are in the words of the protocol: one total function.

use partita_model::{InvalidName, ParseETagError};
use partita_table::{AccountLimit, BusyReason, Error};
use partita_wire::table::code_of_limit;
use partita_wire::{ErrorCode, Failure};
use std::borrow::Cow;
use std::time::Duration;

/// The failure of an error. Internal detail goes to the log, not to the client.
pub(in super::super) fn failure(error: Error) -> Failure {
    match error {
        Error::TableNotFound => ErrorCode::TableNotFound.into(),
        Error::NoSuchTable | Error::EntityNotFound => ErrorCode::ResourceNotFound.into(),
        Error::TableAlreadyExists => ErrorCode::TableAlreadyExists.into(),
        Error::EntityAlreadyExists => ErrorCode::EntityAlreadyExists.into(),
        Error::ConditionNotMet => ErrorCode::UpdateConditionNotSatisfied.into(),
        Error::Limit(limit) => code_of_limit(limit).into(),
        Error::KeyCharacters { key, value } => Failure::with_message(
            ErrorCode::OutOfRangeInput,
            format!(
                "The '{}' parameter of value '{value}' is out of range.",
                key.as_str()
            ),
        ),
        Error::KeyTooLong(_) => ErrorCode::PropertyValueTooLarge.into(),
        Error::DuplicateEntity => ErrorCode::InvalidDuplicateRow.into(),
        Error::DifferentPartitions => ErrorCode::CommandsInBatchActOnDifferentPartitions.into(),
        Error::TransactionTooLarge => ErrorCode::RequestBodyTooLarge.into(),
        Error::Busy {
            reason,
            retry_after,
            detail,
        } => busy(reason, retry_after, &detail),
        Error::OutcomeUnknown => {
            tracing::error!("the outcome of a write is unknown");
            ErrorCode::OperationTimedOut.into()
        }
        Error::Corrupt(reason) => {
            tracing::error!(%reason, "stored data cannot be read");
            ErrorCode::InternalError.into()
        }
    }
}

/// The failure of a request that was not executed. Who is over a target is told by `/admin/v1/status` and metrics, not by a line
/// for each request: there may be tens of thousands a second.
fn busy(reason: BusyReason, retry_after: Duration, detail: &str) -> Failure {
    let word = reason.as_str();
    if reason.is_target() {
        tracing::debug!(reason = word, %detail, "a request was not executed");
    } else {
        tracing::warn!(reason = word, %detail, "a request was not executed");
    }
    let mut failure = Failure::busy(word);
    // Rounded up: who comes earlier is refused again. Retry-After knows whole seconds only.
    failure.retry_after_s = retry_after.as_millis().div_ceil(1_000).max(1) as u64;
    failure.message = account_text(reason).map(Cow::Borrowed);
    failure
}

/// The texts of the service for an account's targets (as its documents of error codes list them for ServerBusy).
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
        | BusyReason::TableTarget => None,
    }
}

/// The failure of a table name.
pub(in super::super) fn table_name(error: InvalidName) -> Failure {
    match error {
        InvalidName::Characters => ErrorCode::InvalidResourceName.into(),
        InvalidName::Length => Failure::with_message(
            ErrorCode::OutOfRangeInput,
            Cow::Borrowed(
                "The specified resource name length is not within the permissible limits.",
            ),
        ),
        InvalidName::Reserved => ErrorCode::InvalidInput.into(),
    }
}

/// The failure of an `If-Match` that is no ETag of ours; `None` where it is just never met. The texts are the recorded ones
/// (go--TestInvalidEntity, gostorage--StorageEntitySuite_TestMerge).
pub(in super::super) fn if_match(value: &str, error: ParseETagError) -> Option<Failure> {
    match error {
        ParseETagError::Malformed => Some(malformed_etag(value)),
        ParseETagError::DoubledQuotes => Some(ErrorCode::ConditionNotMet.into()),
        ParseETagError::Foreign => None,
    }
}

/// The failure of an `If-Match` that is no ETag at all, or several.
pub(in super::super) fn malformed_etag(value: &str) -> Failure {
    Failure::with_message(
        ErrorCode::InvalidInput,
        format!(
            "{MALFORMED_ETAG}{value}' specified in one of the request headers is not valid. Please make sure only \
             one etag value is specified and is valid."
        ),
    )
}

const MALFORMED_ETAG: &str = "The etag value '";

/// Whether this is the failure of an `If-Match` that is no ETag at all.
pub(in super::super) fn is_malformed_etag(failure: &Failure) -> bool {
    failure.code == ErrorCode::InvalidInput && failure.text().starts_with(MALFORMED_ETAG)
}
