//! `$filter`: OData text to the filter tree (service document "Querying tables and entities").
//!
//! ```text
//! expr       := or ;  or := and ('or' and)* ;  and := unary ('and' unary)* ;  unary := 'not' unary | primary
//! primary    := '(' expr ')' | comparison | property | 'true' | 'false'
//! comparison := operand op operand          (one a property, one a literal)
//! op         := 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le'
//! ```
//!
//! Promises:
//! - comparisons bind tightest, then `not`, `and`, `or`; words and operators are case-sensitive;
//! - chains of `and` and of `or` are flat in the tree, in the order of the text;
//! - a literal on the left is moved to the right, with its operator mirrored;
//! - what the grammar of OData has but the service does not implement (functions, arithmetic, comparing two properties or two
//!   literals, navigation) is 501 NotImplemented; everything else that is wrong is 400 InvalidInput, with the place in its text;
//! - bounded by [`FILTER_BYTES_MAX`] and [`FILTER_DEPTH_MAX`]; the parser keeps its own stack, so depth costs no recursion.
//!
//! Percent-decoding is the caller's.

mod lexer;
mod literal;
mod parser;
#[cfg(test)]
mod tests;

pub use parser::parse_filter;

/// Length of a filter's text, in bytes. Clients that look for many keys at once make long ones; URLs end before that.
pub const FILTER_BYTES_MAX: usize = 64 * 1024;
/// How deep parentheses and `not` may nest. .NET clients put a pair around every term of a chain, all on the left, so that
/// a hundred terms are a hundred deep; the service's own library stops at 800 too.
pub const FILTER_DEPTH_MAX: usize = 800;
