//! The toolbox for tables. It uses only the public protocol, so it works on any server that implements that protocol.
//!
//! - [`scan`]: reads every row of a table, or of a part of it, with parallel requests.
//! - [`source`]: tables read over HTTP, for scans.
//! - [`admin`]: Partita's admin port.
//! - [`split_points`]: the PartitionKeys at which a server's ranges begin.
//! - [`purge`]: deletes of many rows, in as few requests as possible.
//! - [`fleet`]: work on the rows of a table by many worker processes.
//! - [`heat`]: heat maps as text and as pages.
//! - [`formats`]: rows as files: CSV, JSON lines, Parquet.
//! - [`migrate`]: versioned changes of tables, run once each.
//! - [`stress`]: load on a table, its metrics, and a verdict on the table's keys.
//! - [`transfer`]: export, import, copy and comparison of tables.

pub mod admin;
mod batching;
pub mod fleet;
pub mod formats;
pub mod heat;
mod html;
pub mod migrate;
mod named_enum;
pub mod purge;
pub mod scan;
#[cfg(test)]
#[path = "../../client/tests/example/server.rs"]
mod server;
pub mod source;
mod split_points;
pub mod stress;
pub mod transfer;
mod type_names;

pub use batching::batches;
pub use split_points::split_points;
pub use type_names::type_of;
