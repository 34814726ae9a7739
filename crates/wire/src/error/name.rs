//! The failure for the name of a table or a queue.

use crate::{ErrorCode, Failure};
use partita_model::InvalidName;

/// The failure for an invalid name of a table or a queue, in a path or in a body.
pub fn invalid_name(error: InvalidName) -> Failure {
    const LENGTH: &str = "The specified resource name length is not within the permissible limits.";
    match error {
        InvalidName::Characters => ErrorCode::InvalidResourceName.into(),
        InvalidName::Length => Failure::with_message(ErrorCode::OutOfRangeInput, LENGTH),
        InvalidName::Reserved => ErrorCode::InvalidInput.into(),
    }
}
