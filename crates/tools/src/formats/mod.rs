//! Rows as files. Byte for byte in `docs/format/export.md`.
//!
//! Promises:
//! - what a writer takes a reader gives back: keys, names, types and values. In JSON lines minus zero is zero, as in the service;
//! - writers and readers hold a bounded part of a file: a row, or for Parquet a group of rows;
//! - a reader of any bytes gives rows or an error, and says which row is at fault.
//!
//! CSV and Parquet have columns, which must be known before the first row is written: a [`Schema`] is made of the rows
//! themselves by whoever has them twice, or declared.

mod any;
mod csv;
mod error;
mod jsonl;
mod parquet;
mod read_entities;
mod schema;
#[cfg(test)]
pub(crate) mod tests;

pub use csv::Records;

pub use any::{EntityReader, EntityWriter, Format};
pub use error::FormatError;
pub use schema::{COLUMNS_MAX, Column, Schema};
