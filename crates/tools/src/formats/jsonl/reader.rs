//! Reads JSON lines.

use super::super::FormatError;
use super::super::read_entities::ReadEntities;
use partita_client::Entity;
use partita_wire::Failure;
use partita_wire::table::{RowReader, read_row};
use std::io::{BufRead, Read as _};
use std::sync::Arc;

/// Longest line, in bytes. The largest entity takes a little more than 3 MiB if each character is escaped, such as
/// `\u0001`.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Reads entities, one per line. Empty lines are skipped.
pub(in super::super) struct Reader<R> {
    lines: R,
    line: Vec<u8>,
    row: u64,
}

impl<R: BufRead> Reader<R> {
    pub(in super::super) fn new(lines: R) -> Self {
        Self {
            lines,
            line: Vec::new(),
            row: 0,
        }
    }
}

impl<R: BufRead + Send> ReadEntities for Reader<R> {
    fn read(&mut self) -> Result<Option<Entity>, FormatError> {
        loop {
            self.line.clear();
            let mut bounded = self.lines.by_ref().take(LINE_BYTES_MAX);
            if bounded.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            self.row += 1;
            if self.line.len() as u64 == LINE_BYTES_MAX && self.line.last() != Some(&b'\n') {
                return Err(FormatError::row(self.row, "the line is longer than 8 MiB"));
            }
            let body = self.line.trim_ascii();
            let read = read_row(body, entity);
            return match read {
                Ok(entity) => Ok(Some(entity)),
                Err(failure) => Err(FormatError::row(self.row, failure.text())),
            };
        }
    }
}

/// Converts a row to an entity. Fails if the row lacks a key.
fn entity(row: RowReader<'_, '_>) -> Result<Entity, Failure> {
    let missing = || Failure::new(partita_wire::ErrorCode::PropertiesNeedValue);
    let partition_key = row.partition_key()?.ok_or_else(missing)?.into_owned();
    let row_key = row.row_key()?.ok_or_else(missing)?.into_owned();
    let timestamp = row.timestamp()?;
    let mut properties = Vec::with_capacity(row.members());
    row.properties(|_, name, value| properties.push((Arc::from(name), value.to_value())))?;
    let keys = (partition_key, row_key);
    Ok(Entity::from_parts(keys, timestamp, properties))
}
