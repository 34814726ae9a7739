//! Translates errors of the Table service into failures of the protocol; the failures of malformed `If-Match` headers.

use super::super::busy::busy;
use super::super::refused::{Refused, corrupt, outcome_unknown};
use partita_model::{InvalidName, ParseETagError, StoredError};
use partita_table::Error;
use partita_wire::table::code_of_limit;
use partita_wire::{ErrorCode, Failure, invalid_name};

impl From<StoredError> for Refused {
    fn from(error: StoredError) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::TableNotFound => ErrorCode::TableNotFound,
            Error::NoSuchTable | Error::EntityNotFound => ErrorCode::ResourceNotFound,
            Error::TableAlreadyExists => ErrorCode::TableAlreadyExists,
            Error::EntityAlreadyExists => ErrorCode::EntityAlreadyExists,
            Error::ConditionNotMet => ErrorCode::UpdateConditionNotSatisfied,
            Error::Limit(limit) => code_of_limit(limit),
            Error::KeyCharacters { key, value } => {
                let key = key.as_str();
                let text = format!("The '{key}' parameter of value '{value}' is out of range.");
                return Self(Failure::with_message(ErrorCode::OutOfRangeInput, text));
            }
            Error::KeyTooLong(_) => ErrorCode::PropertyValueTooLarge,
            Error::DuplicateEntity => ErrorCode::InvalidDuplicateRow,
            Error::DifferentPartitions => ErrorCode::CommandsInBatchActOnDifferentPartitions,
            Error::TransactionTooLarge => ErrorCode::RequestBodyTooLarge,
            Error::Busy(reason) => return Self(busy(&reason)),
            Error::OutcomeUnknown => outcome_unknown(),
            Error::Corrupt(reason) => corrupt(&reason),
        };
        code.into()
    }
}

/// The new name in Create Table or Rename Table is invalid.
impl From<InvalidName> for Refused {
    fn from(error: InvalidName) -> Self {
        Self(invalid_name(error))
    }
}

/// The failure of an `If-Match` that Partita cannot parse as an ETag. `None` for a well-formed ETag that Partita does
/// not write: the operation then finds that no entity has it. The texts are recorded (go--TestInvalidEntity,
/// gostorage--StorageEntitySuite_TestMerge).
pub(super) fn if_match(value: &str, error: ParseETagError) -> Option<Failure> {
    match error {
        ParseETagError::Malformed => Some(malformed_etag(value)),
        ParseETagError::DoubledQuotes => Some(ErrorCode::ConditionNotMet.into()),
        ParseETagError::Foreign => None,
    }
}

/// The failure of a malformed `If-Match`, and of several `If-Match` values that differ.
pub(super) fn malformed_etag(value: &str) -> Failure {
    Failure::with_message(
        ErrorCode::InvalidInput,
        format!(
            "{MALFORMED_ETAG}{value}' specified in one of the request headers is not valid. Please make sure only \
             one etag value is specified and is valid."
        ),
    )
}

/// The failure of a path with one key where an entity of the table needs two.
pub(super) fn one_key(account: &str, table: &str) -> Failure {
    Failure::with_message(
        ErrorCode::InvalidInput,
        format!("{ONE_KEY} for the resource '{account}.{table}'."),
    )
}

const MALFORMED_ETAG: &str = "The etag value '";
const ONE_KEY: &str =
    "The number of keys specified in the URI does not match number of key properties";

/// Whether the answer has no `Cache-Control`: the service decides these errors before it sets the header (recordings of
/// a malformed ETag and of ConditionNotMet; azure-sdk-for-python, recording of test_table_client
/// test_client_with_url_ends_with_table_name).
pub(super) fn lacks_cache_control(failure: &Failure) -> bool {
    match failure.code {
        ErrorCode::ConditionNotMet | ErrorCode::TableNotFound => true,
        ErrorCode::InvalidInput => {
            let text = failure.text();
            text.starts_with(MALFORMED_ETAG) || text.starts_with(ONE_KEY)
        }
        _ => false,
    }
}
