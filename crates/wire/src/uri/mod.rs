//! Request targets: splits the raw text of the request line, with the `Host`, into an account, a path and a query.
//!
//! Each service parses its own resources, such as `table::Resource`, from the part of the path after the account.
//!
//! Rules:
//! - the raw text is kept for signatures; it is decoded once, after splitting, so that an encoded `%2F` never splits a
//!   path;
//! - text that needs no decoding is borrowed;
//! - the account need not exist.

mod hosts;
mod method;
mod percent;
mod query;
mod target;
#[cfg(test)]
mod tests;

pub use hosts::Hosts;
pub use method::Method;
pub(crate) use percent::decode_query;
pub use percent::{decode_path, push_query_parameter};
pub use query::{Query, TIMEOUT_SECONDS_MAX};
pub use target::{Style, Target};
