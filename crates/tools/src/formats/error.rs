//! Errors when files of rows are read or written.

use std::fmt;
use std::io;
use thiserror::Error;

/// Where a row is in its file. The text follows the name of the file: `:3:27`, or `, row 3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a text file.
    Line {
        /// The line, from 1.
        line: u64,
        /// The character in the line, from 1; `None` for the whole line.
        column: Option<u64>,
    },
    /// In a file without lines: the number of the row, from 1.
    Row(u64),
}

impl Place {
    /// A line as a whole.
    pub(super) const fn line(line: u64) -> Self {
        Self::Line { line, column: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, column: None } => write!(f, ":{line}"),
            Self::Line {
                line,
                column: Some(column),
            } => write!(f, ":{line}:{column}"),
            Self::Row(row) => write!(f, ", row {row}"),
        }
    }
}

/// Why rows cannot be written or read.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The file cannot be read or written.
    #[error("cannot read or write the file")]
    Io(#[from] io::Error),
    /// A row of the file is invalid. Fix the file or export it again. The text does not contain the place.
    #[error("{what}")]
    Row {
        /// Where the row is.
        place: Place,
        /// Which property is invalid, why, and what is allowed.
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
    pub(super) fn row(place: Place, what: impl ToString) -> Self {
        let what = what.to_string();
        Self::Row { place, what }
    }

    /// The place of an invalid row, as text to append to the name of the file; empty for other errors.
    pub fn place(&self) -> String {
        match self {
            Self::Row { place, .. } => place.to_string(),
            _ => String::new(),
        }
    }
}
