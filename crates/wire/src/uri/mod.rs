//! Request targets: from the raw text of the request line, and the `Host`, to an account, a path and a query.
//!
//! Each service reads its resources and operations from the path below the account (`table::Resource`).
//!
//! Rules that hold throughout:
//! - the raw text is kept for signing and decoded once, after splitting: an encoded `%2F` never splits a path;
//! - text that needs no decoding is borrowed;
//! - nothing here knows whether an account exists.

mod hosts;
mod method;
mod percent;
mod query;
mod target;
#[cfg(test)]
mod tests;

pub use hosts::Hosts;
pub use method::Method;
pub use percent::push_query_parameter;
pub(crate) use percent::{decode_path, decode_query};
pub use query::{Query, TIMEOUT_SECONDS_MAX};
pub(crate) use target::first_segment;
pub use target::{Style, Target};
