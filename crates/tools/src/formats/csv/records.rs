//! Writes CSV records with typed columns, for files and for the output of commands.

use super::TYPE_SUFFIX;
use std::io::{self, Write};

/// Writes records cell by cell. A typed cell has its type in the next cell.
pub struct Records<W: Write>(csv::Writer<W>);

impl<W: Write> Records<W> {
    /// Creates a writer that ends records with this terminator.
    pub fn new(out: W, terminator: csv::Terminator) -> Self {
        let mut builder = csv::WriterBuilder::new();
        Self(builder.terminator(terminator).from_writer(out))
    }

    /// Writes the header: each name, and whether its column is typed.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn header<'a>(&mut self, columns: impl Iterator<Item = (&'a str, bool)>) -> io::Result<()> {
        for (name, is_typed) in columns {
            self.cell(name)?;
            if is_typed {
                self.cell(&format!("{name}{TYPE_SUFFIX}"))?;
            }
        }
        self.end()
    }

    /// Writes a cell without a type.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn cell(&mut self, text: &str) -> io::Result<()> {
        Ok(self.0.write_field(text)?)
    }

    /// Writes two cells, the value and its type; `None` writes two empty cells.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn typed_cell(&mut self, value: Option<(&str, &str)>) -> io::Result<()> {
        let (text, edm) = value.unwrap_or_default();
        self.cell(text)?;
        self.cell(edm)
    }

    /// Ends a record.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn end(&mut self) -> io::Result<()> {
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    /// Writes buffered records to `out`.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// Writes buffered records, and returns `out`.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn finish(self) -> io::Result<W> {
        let flushed = self.0.into_inner();
        flushed.map_err(|failed| io::Error::other(failed.to_string()))
    }
}
