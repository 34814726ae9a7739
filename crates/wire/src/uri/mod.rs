//! Request targets: from the raw text of the request line, and the `Host`, to account, resource, query and operation.
//!
//! The work is in steps, so that a server can authenticate between them and answer errors in the order of the service
//! (authentication first, then URL and headers):
//! 1. [`Target::parse`] finds the account and the raw path that is signed;
//! 2. [`Target::resource`] says what the path names;
//! 3. [`Target::operation`] adds the method.
//!
//! Rules that hold throughout:
//! - the raw text is kept for signing and decoded once, after it was split: an encoded `%2F` never splits a path;
//! - what needs no decoding is borrowed;
//! - nothing here knows whether an account or a table exists.

mod hosts;
mod method;
pub(crate) mod percent;
mod query;
mod target;
#[cfg(test)]
mod tests;

pub use hosts::Hosts;
pub use method::Method;
pub use percent::push_query_parameter;
pub use query::{Query, TIMEOUT_SECONDS_MAX};
pub use target::{Style, Target};
