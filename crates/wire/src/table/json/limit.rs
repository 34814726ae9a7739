//! Error codes for the limits of the data model.

use crate::ErrorCode;
use partita_model::LimitError;

/// The code that the service returns if an entity exceeds a limit.
pub const fn code_of_limit(error: LimitError) -> ErrorCode {
    match error {
        LimitError::TooManyProperties => ErrorCode::TooManyProperties,
        LimitError::PropertyNameTooLong => ErrorCode::PropertyNameTooLong,
        LimitError::PropertyNameInvalid => ErrorCode::PropertyNameInvalid,
        LimitError::PropertyValueTooLarge => ErrorCode::PropertyValueTooLarge,
        LimitError::EntityTooLarge => ErrorCode::EntityTooLarge,
        LimitError::DuplicateProperty => ErrorCode::DuplicatePropertiesSpecified,
    }
}
