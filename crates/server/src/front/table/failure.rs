//! Translates errors of the Table service into failures of the protocol; the failures of malformed `If-Match` headers.

use std::time::Instant;

use super::super::busy::busy;
use partita_model::{InvalidName, ParseETagError, StoredError};
use partita_rt::LogLimit;
use partita_table::Error;
use partita_wire::table::code_of_limit;
use partita_wire::{ErrorCode, Failure};

/// Every request that needs a damaged row meets the same fault.
static CORRUPT: LogLimit = LogLimit::new();

/// A refused request, with the failure that its answer shows. Errors of the service become failures by one total function.
/// Internal detail is logged, not sent.
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
            Error::OutcomeUnknown => {
                tracing::error!("the outcome of a write is unknown");
                ErrorCode::OperationTimedOut
            }
            Error::Corrupt(reason) => {
                if CORRUPT.permits(&reason, Instant::now()) {
                    tracing::error!(%reason, "stored data cannot be read");
                }
                ErrorCode::InternalError
            }
        };
        code.into()
    }
}

/// An invalid name of a table that a request creates.
impl From<InvalidName> for Refused {
    fn from(error: InvalidName) -> Self {
        const LENGTH: &str =
            "The specified resource name length is not within the permissible limits.";
        match error {
            InvalidName::Characters => ErrorCode::InvalidResourceName.into(),
            InvalidName::Length => Failure::with_message(ErrorCode::OutOfRangeInput, LENGTH).into(),
            InvalidName::Reserved => ErrorCode::InvalidInput.into(),
        }
    }
}

/// The failure of an `If-Match` that is not an ETag of Partita; `None` if no entity can have this ETag. The texts are
/// recorded (go--TestInvalidEntity, gostorage--StorageEntitySuite_TestMerge).
pub(super) fn if_match(value: &str, error: ParseETagError) -> Option<Failure> {
    match error {
        ParseETagError::Malformed => Some(malformed_etag(value)),
        ParseETagError::DoubledQuotes => Some(ErrorCode::ConditionNotMet.into()),
        ParseETagError::Foreign => None,
    }
}

/// The failure of a malformed `If-Match`, and of several that differ.
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
