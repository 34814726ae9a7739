//! What the table service's errors are in the words of the protocol: one total function.

use partita_model::{InvalidName, ParseETagError};
use partita_table::Error;
use partita_wire::{ErrorCode, Failure, code_of_limit};
use std::borrow::Cow;

/// The failure of an error. Internal detail goes to the log, not to the client.
pub(super) fn failure(error: Error) -> Failure {
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
        Error::Busy { reason, detail } => {
            let reason = reason.as_str();
            tracing::warn!(reason, %detail, "a request was not executed");
            Failure::busy(reason)
        }
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

/// The failure of a table name.
pub(super) fn table_name(error: InvalidName) -> Failure {
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
pub(super) fn if_match(value: &str, error: ParseETagError) -> Option<Failure> {
    match error {
        ParseETagError::Malformed => Some(Failure::with_message(
            ErrorCode::InvalidInput,
            format!(
                "{MALFORMED_ETAG}{value}' specified in one of the request headers is not valid. Please make sure only \
                 one etag value is specified and is valid."
            ),
        )),
        ParseETagError::DoubledQuotes => Some(ErrorCode::ConditionNotMet.into()),
        ParseETagError::Foreign => None,
    }
}

const MALFORMED_ETAG: &str = "The etag value '";

/// Whether this is the failure of an `If-Match` that is no ETag at all.
pub(super) fn is_malformed_etag(failure: &Failure) -> bool {
    failure.code == ErrorCode::InvalidInput && failure.text().starts_with(MALFORMED_ETAG)
}
