//! What can be wrong with a file of rows.

use std::io;
use thiserror::Error;

/// Why rows cannot be written or read.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The file itself fails.
    #[error("cannot read or write the file")]
    Io(#[from] io::Error),
    /// What is in the file is no row. Writing the file again is the cure.
    #[error("cannot read row {row}: {what}")]
    Row {
        /// Which one, from 1; a header is not counted.
        row: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The file as a whole is not what its name says.
    #[error("not a valid file of this format: {0}")]
    File(String),
    /// A row has a property, or a type of one, that the declared columns lack. Declaring it, or not asking for it, is the cure.
    #[error("no column for property {property} of type {edm}")]
    NoColumn {
        /// Its name.
        property: String,
        /// Its type.
        edm: &'static str,
    },
    /// More columns than [`super::COLUMNS_MAX`]. A format without columns is the cure.
    #[error("more than {} columns", super::COLUMNS_MAX)]
    TooManyColumns,
}

impl FormatError {
    pub(super) fn row(row: u64, what: impl ToString) -> Self {
        let what = what.to_string();
        Self::Row { row, what }
    }
}
