//! Reads, writes, compares and deletes many rows of tables, for migrations and for the toolbox. It uses only the public
//! protocol, so it works on any server that implements that protocol. It reads and writes no files.
//!
//! - [`scan`]: reads every row of a table, or of a part of it, with parallel requests.
//! - [`source`]: tables read over HTTP, for scans.
//! - [`batches`]: groups rows into transactions; [`Writer`] writes them.
//! - [`Template`]: texts made of the properties of a row.
//! - [`Diff`]: the differences of two tables, row by row.
//! - [`purge`]: deletes of many rows, in as few requests as possible.

mod batching;
mod diff;
mod error_chain;
mod hex;
mod keys;
mod named_enum;
pub mod purge;
pub mod scan;
#[cfg(test)]
#[path = "../../client/tests/example/server.rs"]
mod server;
mod size;
pub mod source;
mod template;
mod type_names;
mod writer;

pub use batching::{BATCH_BYTES_MAX, batches};
pub use diff::{
    Diff, DiffCounts, DiffError, Difference, PropertyDifference, TableSide, differences,
};
pub use error_chain::error_chain;
pub use hex::hex;
pub use keys::Keys;
pub use size::{entity_bytes, operation_bytes_max};
pub use template::{InvalidTemplate, Template, TemplateError};
pub use type_names::type_of;
pub use writer::{Mode, WriteError, Writer, rows_between};
