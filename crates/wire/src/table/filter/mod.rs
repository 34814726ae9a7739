//! `$filter`: reads OData text into the filter tree (service document "Querying tables and entities").
//!
//! ```text
//! expr       := or ;  or := and ('or' and)* ;  and := unary ('and' unary)* ;  unary := 'not' unary | primary
//! primary    := '(' expr ')' | comparison | property | 'true' | 'false'
//! comparison := operand op operand          (one a property, one a literal)
//! op         := 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le'
//! ```
//!
//! Rules:
//! - comparisons bind tightest, then `not`, `and`, `or`; keywords and operators are case-sensitive;
//! - chains of `and` and of `or` are flat in the tree, in the order of the text;
//! - a literal on the left is moved to the right, with its operator mirrored;
//! - parts of OData that the service does not implement (functions, arithmetic, comparing two properties or two
//!   literals, navigation) are 501 NotImplemented; every other error is 400 InvalidInput, and syntax errors have their
//!   position in the text;
//! - a failure has a hint: which part is wrong, and what to write instead;
//! - [`FILTER_BYTES_MAX`] and [`FILTER_DEPTH_MAX`] limit the text; the parser has an explicit stack and does not recurse.
//!
//! Callers pass the text percent-decoded.

mod hint;
#[cfg(test)]
mod hint_tests;
mod invalid_filter;
mod lexer;
mod literal;
mod parser;
#[cfg(test)]
mod tests;
mod token;

pub use invalid_filter::{InvalidFilter, check_filter};
pub use parser::parse_filter;

/// Maximum length of a filter, in bytes. A filter for many keys can be this long; the limit of URLs is lower.
pub const FILTER_BYTES_MAX: usize = 64 * 1024;
/// Maximum nesting of parentheses and `not`. .NET clients add a pair of parentheses for every term of a chain, so a
/// chain of a hundred terms has a nesting of a hundred. The library that the service uses has the same limit of 800.
pub const FILTER_DEPTH_MAX: usize = 800;
