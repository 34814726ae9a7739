//! CSV with a type column after each property, as Azure Storage Explorer writes and reads it.

use super::OutputRow;
use super::columns::{Cell, Columns, named_cells};
use crate::error::CommandError;
use partita_tools::formats::Records;
use std::io::Write;

/// Columns without a type column, because their type is always the same.
const UNTYPED: [&str; 4] = ["PartitionKey", "RowKey", "Timestamp", "odata.etag"];

/// Writes rows under a header that is fixed once it is written.
pub(super) struct CsvWriter {
    columns: Columns,
    is_entity: bool,
}

impl CsvWriter {
    pub(super) fn new(names: Option<&[String]>) -> Self {
        Self {
            columns: Columns::new(names),
            is_entity: false,
        }
    }

    pub(super) fn row(
        &mut self,
        row: &OutputRow<'_>,
        to: &mut impl Write,
    ) -> Result<(), CommandError> {
        self.is_entity = row.is_entity();
        if self.columns.push(named_cells(row)?) {
            self.flush(to)?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, to: &mut impl Write) -> Result<(), CommandError> {
        let Some(waiting) = self.columns.take() else {
            return Ok(());
        };
        let columns = waiting.columns;
        let typed = |name: &String| self.is_entity && !UNTYPED.contains(&&**name);
        let mut records = Records::new(to, csv::Terminator::Any(b'\n'));
        if waiting.are_first {
            let names = columns.iter().map(|name| (&**name, typed(name)));
            records.header(names).map_err(CommandError::Output)?;
        }
        for (cells, unknown) in waiting.rows {
            if let Some(name) = unknown {
                return Err(CommandError::usage(format!(
                    "property {name} first occurs after the CSV header was written: name the columns with --select, or use --output jsonl"
                )));
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
                written.map_err(CommandError::Output)?;
            }
            records.end().map_err(CommandError::Output)?;
        }
        records.flush().map_err(CommandError::Output)
    }
}
