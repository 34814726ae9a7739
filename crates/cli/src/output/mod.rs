//! Data on stdout: a table on a terminal, JSON lines in a pipe, or what `--output` says.
//!
//! | form | entities | other results |
//! | --- | --- | --- |
//! | `jsonl` | one object a line, as the protocol has it: types that JSON does not show are annotated | one object a line |
//! | `json` | the same objects, in one array; a single entity alone | the same |
//! | `csv` | typed columns as Azure Storage Explorer writes them: `Name`, `Name@type` | a column for each field |
//! | `table` | columns to look at: values are cut | the same |
//!
//! JSON is written as rows come. Forms with columns look at the first [`table::ROWS_SEEN`] rows to find them, unless `--select`
//! names them.

mod columns;
mod csv_rows;
mod display;
mod json;
pub(crate) mod plain;
mod table;

pub(crate) use display::Shown;
pub(crate) use table::{cut, cut_inside};

use crate::error::Failure;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use std::io::{self, BufWriter, IsTerminal as _, Write};

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    JsonLines,
    Json,
    Csv,
}

impl Form {
    /// The form that the flag or the terminal asks for.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        match matches.get_one::<String>("output").map(String::as_str) {
            Some("json") => Self::Json,
            Some("jsonl") => Self::JsonLines,
            Some("csv") => Self::Csv,
            Some("table") => Self::Table,
            _ if io::stdout().is_terminal() => Self::Table,
            _ => Self::JsonLines,
        }
    }
}

/// What a verb writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One object, or none.
    Single,
    /// Any number of rows.
    Rows,
}

/// Where data goes.
pub(crate) struct Output {
    to: BufWriter<Box<dyn Write + Send>>,
    writer: Writer,
}

enum Writer {
    Json(json::JsonWriter),
    Csv(csv_rows::CsvForm),
    Table(table::Grid),
}

/// The flag.
pub(crate) fn argument() -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FORM")
        .value_parser(PossibleValuesParser::new(["json", "jsonl", "csv", "table"]))
        .help("How to print data [default: table on a terminal, else jsonl]")
}

impl Output {
    /// Stdout, in the form that the flag or the terminal asks for. `columns` are those that the user named, if so.
    pub(crate) fn of(matches: &ArgMatches, shape: Shape, columns: Option<&[String]>) -> Self {
        let form = Form::of(matches);
        Self::new(form, shape, columns, Box::new(io::stdout()))
    }

    fn new(
        form: Form,
        shape: Shape,
        columns: Option<&[String]>,
        to: Box<dyn Write + Send>,
    ) -> Self {
        let writer = match form {
            Form::Json if shape == Shape::Rows => Writer::Json(json::JsonWriter::array()),
            Form::Json | Form::JsonLines => Writer::Json(json::JsonWriter::lines()),
            Form::Csv => Writer::Csv(csv_rows::CsvForm::new(columns)),
            Form::Table => Writer::Table(table::Grid::new(shape, columns)),
        };
        Self {
            to: BufWriter::with_capacity(256 << 10, to),
            writer,
        }
    }

    /// Writes one row.
    pub(crate) fn row(&mut self, shown: &Shown<'_>) -> Result<(), Failure> {
        match &mut self.writer {
            Writer::Json(writer) => writer.row(shown, &mut self.to),
            Writer::Csv(writer) => writer.row(shown, &mut self.to),
            Writer::Table(writer) => writer.row(shown, &mut self.to),
        }
    }

    /// Writes what was kept back, so that whoever reads along sees all rows so far.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.writer {
            Writer::Json(_) => {}
            Writer::Csv(writer) => writer.flush(&mut self.to)?,
            Writer::Table(writer) => writer.flush(&mut self.to)?,
        }
        self.to.flush().map_err(Failure::Output)
    }

    /// Ends the data.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        if let Writer::Json(writer) = &mut self.writer {
            writer.end(&mut self.to)?;
        }
        self.flush()?;
        if let Writer::Table(writer) = &self.writer {
            writer.tell_hidden();
        }
        Ok(())
    }
}

/// Writes text that is formed already, and a line's end if it has none.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(stdout, "{text}{end}").map_err(Failure::Output)?;
    stdout.flush().map_err(Failure::Output)
}

/// Writes a number, which is the same in all forms.
pub(crate) fn number(number: u64) -> Result<(), Failure> {
    writeln!(io::stdout(), "{number}").map_err(Failure::Output)
}

#[cfg(test)]
mod tests;
