//! Writes JSON lines.

use super::super::{FormatError, Style};
use partita_client::Entity;
use partita_model::ValueRef;
use partita_wire::table::write_entity;
use std::io::Write;

/// Buffered lines are written when they have at least this size, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Writes entities, one per line.
pub(in super::super) struct Writer<W> {
    out: W,
    lines: Vec<u8>,
    style: Style,
}

impl<W: Write> Writer<W> {
    pub(in super::super) fn new(style: Style, out: W) -> Self {
        Self {
            out,
            style,
            lines: Vec::with_capacity(BUFFER_BYTES * 2),
        }
    }

    pub(in super::super) fn write(&mut self, entity: &Entity) -> Result<(), FormatError> {
        let timestamp = entity.timestamp().filter(|_| !self.style.no_timestamp);
        let timestamp = timestamp.map(ValueRef::DateTime);
        let timestamp = timestamp.map(|value| ("Timestamp", value));
        let properties = entity.iter().map(|(name, value)| (name, value.as_ref()));
        let members = timestamp.into_iter().chain(properties);
        write_entity(
            entity.partition_key(),
            entity.row_key(),
            members,
            &mut self.lines,
        );
        self.lines.push(b'\n');
        if self.lines.len() >= BUFFER_BYTES {
            self.out.write_all(&self.lines)?;
            self.lines.clear();
        }
        Ok(())
    }

    pub(in super::super) fn finish(mut self) -> Result<W, FormatError> {
        self.out.write_all(&self.lines)?;
        Ok(self.out)
    }
}
