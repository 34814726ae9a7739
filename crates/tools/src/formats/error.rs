//! Errors when files of rows are read or written.

use std::io;
use thiserror::Error;

/// Why rows cannot be written or read.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The file cannot be read or written.
    #[error("cannot read or write the file")]
    Io(#[from] io::Error),
    /// A row of the file is invalid. Fix the file or export it again.
    #[error("cannot read row {row}: {what}")]
    Row {
        /// The row number, from 1; a header is not counted.
        row: u64,
        /// Why the row is invalid.
        what: String,
    },
    /// The file does not have the expected format.
    #[error("not a valid file of this format: {0}")]
    File(String),
    /// A row has a property without a declared column. Declare a column for it, or leave the property out.
    #[error("no column is declared for property {property} of type {edm}")]
    NoColumn {
        /// The name of the property.
        property: String,
        /// The type of the property in this row.
        edm: &'static str,
    },
    /// The rows need more columns than [`super::COLUMNS_MAX`]. Use a format without columns.
    #[error(
        "the rows need more than {} columns; use the format jsonl",
        super::COLUMNS_MAX
    )]
    TooManyColumns,
}

impl FormatError {
    pub(super) fn row(row: u64, what: impl ToString) -> Self {
        let what = what.to_string();
        Self::Row { row, what }
    }
}
