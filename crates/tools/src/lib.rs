//! The toolbox: what people who live on tables do with them, everything through the public protocol, so that it works on any
//! server that speaks it.
//!
//! - [`scan`]: every row of a table, or of a part of it, read by many requests at once.
//! - [`source`]: tables behind HTTP, for scans.
//! - [`admin`]: Partita's admin port.
//! - [`split_points`]: where a server says that a table is cut.
//! - [`purge`]: deletes of many rows, in as few requests as can be.
//! - [`formats`]: rows as files: CSV, JSON lines, Parquet.
//! - [`migrate`]: versioned changes of tables, run once each.
//! - [`stress`]: load on a table, what it comes to, and what that says about the table's keys.
//! - [`transfer`]: tables to files and back, tables to tables, and what two tables differ in.

pub mod admin;
mod batching;
pub mod formats;
pub mod migrate;
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
