//! The toolbox for tables. It uses only the public protocol, so it works on any server that implements that protocol.
//!
//! - [`scan`], [`source`], [`purge`]: scans of tables, and deletes of many rows, of the crate `partita-bulk`.
//! - [`admin`]: Partita's admin port.
//! - [`split_points`]: the PartitionKeys at which a server's ranges begin.
//! - [`fleet`]: work on the rows of a table by many worker processes.
//! - [`heat`]: heat maps as text and as pages.
//! - [`formats`]: rows as files: CSV, JSON lines, Parquet.
//! - [`stress`]: load on a table, its metrics, and a verdict on the table's keys.
//! - [`transfer`]: export, import, copy and comparison of tables.

pub mod admin;
pub mod fleet;
pub mod formats;
pub mod heat;
mod html;
mod split_points;
pub mod stress;
pub mod transfer;

pub use partita_bulk::{batches, error_chain, purge, scan, source, type_of};
pub use split_points::split_points;
