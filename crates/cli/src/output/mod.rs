//! Data on stdout, in the same formats for every command: as `--output` says; without that flag, a table on a terminal
//! and JSON lines elsewhere.
//!
//! | format | entities | other results |
//! | --- | --- | --- |
//! | `jsonl` | one object a line, as in the protocol: types that JSON cannot express are annotated | one object a line |
//! | `json` | the same objects in one array; a single entity alone | the same; for the admin API its document |
//! | `csv` | typed columns as Azure Storage Explorer writes them: `Name`, `Name@type` | a column for each field |
//! | `table` (alias `text`) | aligned columns: long values are truncated | the same |
//!
//! Fields that the protocol names keep those names (`PartitionKey`, `TableName`, `MessageId`); all others are
//! `snake_case`, as in the admin API. The head of a table is the name of the field.
//!
//! JSON is written as rows come. Formats with columns derive them from the first [`columns::ROWS_SAMPLED`] rows, unless
//! the command names them. On a terminal a table is as wide as the terminal: its widest columns are truncated.

mod columns;
mod csv_rows;
mod display;
mod json;
mod layout;
mod table;

pub(crate) use display::{Field, OutputRow};
pub(crate) use layout::{Align, align};

use crate::error::{Because as _, CommandError};
use crate::screen;
use clap::ValueEnum;
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal as _, Write};

/// The flag `--output`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OutputArgs {
    #[arg(
        long = "output",
        short = 'o',
        value_name = "FORM",
        help = "Output format [default: table on a terminal, else jsonl]"
    )]
    output: Option<Format>,
}

impl OutputArgs {
    /// The flag with this value.
    pub(crate) const fn of(format: Format) -> Self {
        Self {
            output: Some(format),
        }
    }

    /// The format: the flag's, else a table on a terminal, else JSON lines.
    pub(crate) fn format(self) -> Format {
        self.output.unwrap_or_else(|| {
            if io::stdout().is_terminal() {
                Format::Table
            } else {
                Format::Jsonl
            }
        })
    }

    /// Whether the format is one JSON document.
    pub(crate) fn is_json(self) -> bool {
        self.format() == Format::Json
    }

    /// Writes rows to stdout.
    pub(crate) fn write(
        self,
        shape: Shape,
        rows: impl FnOnce(&mut Output) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let mut output = Output::stdout(self, shape, None);
        rows(&mut output)?;
        output.finish()
    }

    /// Writes a document to stdout: for `--output json` the text `json`, for other formats what `rows` writes.
    pub(crate) fn write_document(
        self,
        json: &str,
        shape: Shape,
        rows: impl FnOnce(&mut Output) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        if self.is_json() {
            return print(json);
        }
        self.write(shape, rows)
    }
}

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    Jsonl,
    Csv,
    #[value(alias = "text")]
    Table,
}

/// How many rows a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One object, or none.
    Single,
    /// Any number of rows.
    Rows,
}

/// The output of a command.
pub(crate) struct Output {
    to: BufWriter<Box<dyn Write + Send>>,
    writer: Writer,
}

enum Writer {
    Json(json::JsonWriter),
    Csv(csv_rows::CsvWriter),
    Table(table::TableWriter),
}

impl Output {
    /// Stdout, in the format of the flag. `columns` are the properties that the user named, if any.
    pub(crate) fn stdout(args: OutputArgs, shape: Shape, columns: Option<&[String]>) -> Self {
        let width = screen::size().map(|(columns, _)| columns);
        Self::new(args.format(), shape, columns, width, Box::new(io::stdout()))
    }

    fn new(
        format: Format,
        shape: Shape,
        columns: Option<&[String]>,
        width: Option<usize>,
        to: Box<dyn Write + Send>,
    ) -> Self {
        let writer = match format {
            Format::Json if shape == Shape::Rows => Writer::Json(json::JsonWriter::new(true)),
            Format::Json | Format::Jsonl => Writer::Json(json::JsonWriter::new(false)),
            Format::Csv => Writer::Csv(csv_rows::CsvWriter::new(columns)),
            Format::Table => Writer::Table(table::TableWriter::new(shape, columns, width)),
        };
        Self {
            to: BufWriter::with_capacity(256 << 10, to),
            writer,
        }
    }

    /// Writes one row.
    pub(crate) fn row(&mut self, row: &OutputRow<'_>) -> Result<(), CommandError> {
        match &mut self.writer {
            Writer::Json(writer) => writer.row(row, &mut self.to),
            Writer::Csv(writer) => writer.row(row, &mut self.to),
            Writer::Table(writer) => writer.row(row, &mut self.to),
        }
    }

    /// Writes one row of named fields.
    pub(crate) fn record(&mut self, fields: &[(&str, Field<'_>)]) -> Result<(), CommandError> {
        self.row(&OutputRow::Record(fields))
    }

    /// Writes all rows so far, for a reader that follows them.
    pub(crate) fn flush(&mut self) -> Result<(), CommandError> {
        match &mut self.writer {
            Writer::Json(_) => {}
            Writer::Csv(writer) => writer.flush(&mut self.to)?,
            Writer::Table(writer) => writer.flush(&mut self.to)?,
        }
        self.to.flush().map_err(CommandError::Output)
    }

    /// Like [`Self::finish`], after an error. Does nothing if the error is that the output cannot be written.
    pub(crate) fn finish_after(self, error: &CommandError) -> Result<(), CommandError> {
        match error {
            CommandError::Output(_) => Ok(()),
            _ => self.finish(),
        }
    }

    /// Writes the end of the output.
    pub(crate) fn finish(mut self) -> Result<(), CommandError> {
        if let Writer::Json(writer) = &mut self.writer {
            writer.finish(&mut self.to)?;
        }
        self.flush()?;
        if let Writer::Table(writer) = &self.writer {
            writer.report_hidden();
        }
        Ok(())
    }
}

/// Writes finished text, and a line end if it has none.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(stdout, "{text}{end}").map_err(CommandError::Output)?;
    stdout.flush().map_err(CommandError::Output)
}

/// A JSON document on one line: without the blanks between its parts.
pub(crate) fn one_line(json: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_kept = |letter: &char| {
        let is_end = *letter == '"' && !is_escaped;
        is_escaped = is_quoted && *letter == '\\' && !is_escaped;
        is_quoted ^= is_end;
        is_quoted || !letter.is_ascii_whitespace()
    };
    json.chars().filter(is_kept).collect()
}

/// A document as indented JSON.
pub(crate) fn to_json(document: &impl Serialize) -> Result<String, CommandError> {
    serde_json::to_string_pretty(document).because("cannot write the document as JSON")
}

#[cfg(test)]
pub(crate) mod tests;
