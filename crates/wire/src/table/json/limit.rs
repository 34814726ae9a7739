//! The codes of the data model's limits.

use crate::ErrorCode;
use partita_model::LimitError;

/// The code that the service answers when an entity exceeds a limit; the text of the code is the observed one.
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
