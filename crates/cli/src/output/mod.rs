//! Data on stdout: a table on a terminal, JSON lines in a pipe, or what `--output` says. The same for every command.
//!
//! | format | entities | other results |
//! | --- | --- | --- |
//! | `jsonl` | one object a line, as in the protocol: types that JSON cannot express are annotated | one object a line |
//! | `json` | the same objects in one array; a single entity alone | the same; of the admin API the whole document |
//! | `csv` | typed columns as Azure Storage Explorer writes them: `Name`, `Name@type` | a column for each field |
//! | `table` (alias `text`) | columns for people: long values are truncated | the same |
//!
//! JSON is written as rows come. Formats with columns derive them from the first [`columns::ROWS_SAMPLED`] rows, unless the command
//! names them. On a terminal a table is as wide as the terminal: its widest columns are truncated.

mod columns;
mod csv_rows;
mod display;
mod json;
mod layout;
mod table;
mod truncate;

pub(crate) use display::{Field, OutputRow};
pub(crate) use layout::{Align, align};
pub(crate) use truncate::{truncate, truncate_inside};

use crate::error::CommandError;
use crate::screen;
use clap::ValueEnum;
use partita_client::ValueRef;
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

/// Where rows go.
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
    /// Stdout, in the format of the flag. `columns` are the properties that the user named, if so.
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
            Format::Json if shape == Shape::Rows => Writer::Json(json::JsonWriter::array()),
            Format::Json | Format::Jsonl => Writer::Json(json::JsonWriter::lines()),
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
    pub(crate) fn record(&mut self, fields: &[(&str, ValueRef<'_>)]) -> Result<(), CommandError> {
        self.row(&OutputRow::Record(fields))
    }

    /// Writes one row of named fields, of which a table shows measures with their units.
    pub(crate) fn measured(&mut self, fields: &[(&str, Field<'_>)]) -> Result<(), CommandError> {
        self.row(&OutputRow::Measured(fields))
    }

    /// Writes the rows so far, for readers that follow.
    pub(crate) fn flush(&mut self) -> Result<(), CommandError> {
        match &mut self.writer {
            Writer::Json(_) => {}
            Writer::Csv(writer) => writer.flush(&mut self.to)?,
            Writer::Table(writer) => writer.flush(&mut self.to)?,
        }
        self.to.flush().map_err(CommandError::Output)
    }

    /// Writes the end.
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

/// Writes a document as indented JSON.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(document)
        .map_err(CommandError::because("cannot write the document as JSON"))?;
    print(&text)
}

/// Writes a number, which is the same in all formats.
pub(crate) fn print_number(number: u64) -> Result<(), CommandError> {
    print(&number.to_string())
}

/// A count as a field.
pub(crate) fn number(number: u64) -> ValueRef<'static> {
    ValueRef::Int64(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A value to a tenth, as a field.
pub(crate) fn tenths(value: f64) -> ValueRef<'static> {
    ValueRef::Double((value * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests;
