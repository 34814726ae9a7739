//! Records with typed columns, wherever they go: files, and the output of the command line.

use super::TYPE_SUFFIX;
use std::io::{self, Write};

/// Writes records, a cell after the other. Cells and columns may be typed: they have their type beside them then.
pub struct Records<W: Write>(csv::Writer<W>);

impl<W: Write> Records<W> {
    /// Records as RFC 4180 ends them, or as text on this machine ends its lines.
    pub fn new(out: W, terminator: csv::Terminator) -> Self {
        let mut builder = csv::WriterBuilder::new();
        Self(builder.terminator(terminator).from_writer(out))
    }

    /// The record of names.
    ///
    /// # Errors
    /// What the writer below failed with.
    pub fn header<'a>(&mut self, columns: impl Iterator<Item = (&'a str, bool)>) -> io::Result<()> {
        for (name, is_typed) in columns {
            self.cell(name)?;
            if is_typed {
                self.cell(&format!("{name}{TYPE_SUFFIX}"))?;
            }
        }
        self.end()
    }

    /// A cell without a type.
    ///
    /// # Errors
    /// What the writer below failed with.
    pub fn cell(&mut self, text: &str) -> io::Result<()> {
        self.0.write_field(text).map_err(io_error)
    }

    /// A cell and its type; both are empty where there is no value.
    ///
    /// # Errors
    /// What the writer below failed with.
    pub fn typed_cell(&mut self, value: Option<(&str, &str)>) -> io::Result<()> {
        let (text, edm) = value.unwrap_or_default();
        self.cell(text)?;
        self.cell(edm)
    }

    /// Ends a record.
    ///
    /// # Errors
    /// What the writer below failed with.
    pub fn end(&mut self) -> io::Result<()> {
        self.0.write_record(None::<&[u8]>).map_err(io_error)
    }

    /// Hands on what is gathered.
    ///
    /// # Errors
    /// What the writer below failed with.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// Hands on what is gathered, and ends.
    ///
    /// # Errors
    /// What the writer below failed with.
    pub fn finish(self) -> io::Result<W> {
        let flushed = self.0.into_inner();
        flushed.map_err(|failed| io::Error::other(failed.to_string()))
    }
}

/// Of what a writer can fail with, only I/O is possible: records of different lengths are not written.
fn io_error(error: csv::Error) -> io::Error {
    error.into()
}
