//! The toolbox: what people who live on tables do with them, everything through the public protocol, so that it works on any
//! server that speaks it.
//!
//! - [`scan`]: every row of a table, or of a part of it, read by many requests at once.
//! - [`formats`]: rows as files: CSV, JSON lines, Parquet.
//! - [`transfer`]: tables to files and back, tables to tables, and what two tables differ in.

pub mod formats;
pub mod scan;
pub mod transfer;
