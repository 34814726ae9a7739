//! Reading and changing rows of another server, as bytes: what a server needs of the catalog and for background work.
//!
//! ```text
//!  request  version 2, kind, range, keys and limits;  body: the changes of a write
//!  answer   version 2, kind, values;                  body: the row, or the rows of a page
//! ```
//!
//! Numbers are little-endian. The types are this crate's own; `server` maps its own to them.

mod answer;
mod pairs;
mod request;
#[cfg(test)]
mod tests;

pub use answer::RowsAnswer;
pub use pairs::{ExpectedRow, RowChange, decode_changes, decode_rows, encode_changes, encode_rows};
pub use request::{RowsAction, RowsRequest};

/// The version of the heads.
pub const VERSION: u8 = 2;
