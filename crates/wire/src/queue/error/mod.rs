//! Errors of the Queue service: its codes, the failures with details, and their body.

mod body;
mod code;
mod detail;
#[cfg(test)]
mod tests;

pub use body::write_error_xml;
pub use code::ERROR_CODES;
pub use detail::{invalid_pop_receipt, invalid_xml, visibility_after_expiry};
pub(super) use detail::{malformed_xml, missing_parameter, out_of_range, with_reason};
