//! CSV with the type of each property beside it, as Azure Storage Explorer writes and reads it.

use super::Shown;
use super::columns::{Cell, Named, chosen, columns, in_columns, named};
use super::table::ROWS_SEEN;
use crate::error::Failure;
use partita_tools::formats::Records;
use std::io::Write;

/// Columns whose type is always the same.
const UNTYPED: [&str; 4] = ["PartitionKey", "RowKey", "Timestamp", "odata.etag"];

/// Writes rows under columns that are settled with the first rows.
pub(crate) struct CsvForm {
    columns: Option<Vec<String>>,
    is_entity: bool,
    waiting: Vec<Named>,
    begun: bool,
}

impl CsvForm {
    pub(crate) fn new(names: Option<&[String]>) -> Self {
        Self {
            columns: names.map(chosen),
            is_entity: false,
            waiting: Vec::new(),
            begun: false,
        }
    }

    pub(crate) fn row(&mut self, shown: &Shown<'_>, to: &mut impl Write) -> Result<(), Failure> {
        self.is_entity = shown.is_entity();
        self.waiting.push(named(shown)?);
        if self.begun || self.waiting.len() >= ROWS_SEEN {
            self.flush(to)?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self, to: &mut impl Write) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.waiting);
        let columns = self.columns.get_or_insert_with(|| columns(&rows));
        let typed = |name: &String| self.is_entity && !UNTYPED.contains(&&**name);
        let mut records = Records::new(to, csv::Terminator::Any(b'\n'));
        if !self.begun {
            let names = columns.iter().map(|name| (&**name, typed(name)));
            records.header(names).map_err(Failure::Output)?;
            self.begun = true;
        }
        for row in rows {
            let (cells, stranger) = in_columns(row, columns);
            if let Some(name) = stranger {
                let message = format!(
                    "property {name} came after the columns were settled; name the columns with --select, or take --output jsonl"
                );
                return Err(Failure::Usage(message));
            }
            for (name, cell) in columns.iter().zip(&cells) {
                let cell = cell
                    .as_ref()
                    .map(|Cell { text, edm }| (&**text, edm.name()));
                let written = match cell {
                    _ if typed(name) => records.typed_cell(cell),
                    Some((text, _)) => records.cell(text),
                    None => records.cell(""),
                };
                written.map_err(Failure::Output)?;
            }
            records.end().map_err(Failure::Output)?;
        }
        records.flush().map_err(Failure::Output)
    }
}
