//! Errors of the Table service: its codes, and the two shapes of their bodies.

mod body;
mod code;
#[cfg(test)]
mod tests;

pub use body::{BodyForm, asks_for_json, error_form, write_error_json, write_error_xml};
pub use code::ERROR_CODES;
pub(crate) use code::method_not_allowed;
