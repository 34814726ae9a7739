//! Translates errors of the Queue service into failures of the protocol.

use super::super::busy::busy;
use super::super::refused::{Refused, corrupt, outcome_unknown};
use partita_queue::Error;
use partita_wire::ErrorCode;

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::QueueNotFound => ErrorCode::QueueNotFound,
            Error::QueueAlreadyExists => ErrorCode::QueueAlreadyExists,
            Error::MessageNotFound => ErrorCode::MessageNotFound,
            Error::VisibilityAfterExpiry => ErrorCode::InvalidQueryParameterValue,
            Error::TooLarge => ErrorCode::RequestBodyTooLarge,
            Error::Busy(reason) => return Self(busy(&reason)),
            Error::OutcomeUnknown => outcome_unknown(),
            Error::Corrupt(reason) => corrupt(&reason),
        };
        code.into()
    }
}
