//! From errors of the Table service to failures of the protocol: one total function.

use super::super::busy::busy;
use partita_model::{InvalidName, ParseETagError};
use partita_table::Error;
use partita_wire::table::code_of_limit;
use partita_wire::{ErrorCode, Failure};
use std::borrow::Cow;

/// The failure of an error. Internal detail is logged, not sent.
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
        Error::TransactionTooLarge => ErrorCode::RequestBodyTooLarge.into(),
        Error::Busy(reason) => busy(&reason),
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

/// The failure of an `If-Match` that is not an ETag of Partita; `None` where it is just never met. The texts are the recorded ones
/// (go--TestInvalidEntity, gostorage--StorageEntitySuite_TestMerge).
pub(super) fn if_match(value: &str, error: ParseETagError) -> Option<Failure> {
    match error {
        ParseETagError::Malformed => Some(malformed_etag(value)),
        ParseETagError::DoubledQuotes => Some(ErrorCode::ConditionNotMet.into()),
        ParseETagError::Foreign => None,
    }
}

/// The failure of an `If-Match` that is malformed, or several that differ.
pub(super) fn malformed_etag(value: &str) -> Failure {
    Failure::with_message(
        ErrorCode::InvalidInput,
        format!(
            "{MALFORMED_ETAG}{value}' specified in one of the request headers is not valid. Please make sure only \
             one etag value is specified and is valid."
        ),
    )
}

const MALFORMED_ETAG: &str = "The etag value '";

/// Whether this is the failure of a malformed `If-Match`.
pub(super) fn is_malformed_etag(failure: &Failure) -> bool {
    failure.code == ErrorCode::InvalidInput && failure.text().starts_with(MALFORMED_ETAG)
}
