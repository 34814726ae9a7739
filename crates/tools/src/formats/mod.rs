//! File formats of rows. `docs/format/export.md` describes them byte for byte.
//!
//! Promises:
//! - a reader returns what a writer wrote: keys, names, types and values. Only in JSON lines, -0.0 becomes 0.0, as in
//!   the service;
//! - writers and readers hold only a bounded part of a file in memory: some rows, or for Parquet a row group;
//! - for any input bytes, a reader returns rows or an error. The error of an invalid row has its place, the property,
//!   and what is allowed.
//!
//! CSV and Parquet have columns, which must be known before the first row is written. The caller declares a [`Schema`],
//! or collects it in a first pass over the rows.

mod any;
mod csv;
mod error;
mod expected;
mod format;
mod json;
mod jsonl;
mod parquet;
mod read_entities;
mod schema;
mod style;
#[cfg(test)]
pub(crate) mod tests;

pub use csv::Records;

pub use any::{EntityReader, EntityWriter};
pub use error::{FormatError, Place};
pub use format::{Format, InputFormat, ReadOptions};
pub use json::explain_entity;
pub use schema::{COLUMNS_MAX, Column, Schema};
pub use style::Style;
