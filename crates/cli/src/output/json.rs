//! JSON, as lines or as one array.

use super::OutputRow;
use crate::error::CommandError;
use partita_client::ValueRef;
use partita_wire::table::{EntityBody, push_value_text};
use std::io::Write;

/// Writes each object as JSON, without waiting for further objects.
pub(super) struct JsonWriter {
    /// Whether the objects are elements of one array.
    array: bool,
    is_first: bool,
    /// The bytes of an object; the buffer is used again for the next one.
    object: Vec<u8>,
}

impl JsonWriter {
    /// Writes one JSON array if `array`, else one object per line.
    pub(super) fn new(array: bool) -> Self {
        Self {
            array,
            is_first: true,
            object: Vec::new(),
        }
    }

    pub(super) fn row(
        &mut self,
        row: &OutputRow<'_>,
        to: &mut impl Write,
    ) -> Result<(), CommandError> {
        self.object.clear();
        if self.array {
            let before: &[u8] = if self.is_first { b"[\n" } else { b",\n" };
            self.object.extend_from_slice(before);
        }
        self.is_first = false;
        push_object(row, &mut self.object)?;
        if !self.array {
            self.object.push(b'\n');
        }
        to.write_all(&self.object).map_err(CommandError::Output)
    }

    pub(super) fn finish(&mut self, to: &mut impl Write) -> Result<(), CommandError> {
        let end: &[u8] = match (self.array, self.is_first) {
            (true, true) => b"[]\n",
            (true, false) => b"\n]\n",
            (false, _) => b"",
        };
        to.write_all(end).map_err(CommandError::Output)
    }
}

fn push_object(row: &OutputRow<'_>, out: &mut Vec<u8>) -> Result<(), CommandError> {
    if row.is_entity() {
        let mut body = EntityBody::begin(out);
        row.each(|name, value| body.property(name, value))?;
        body.end();
        return Ok(());
    }
    // Not a map of serde_json: it would sort the names.
    let mut before = b'{';
    row.each(|name, value| {
        let name = serde_json::Value::from(name);
        out.push(before);
        out.extend_from_slice(format!("{name}:{}", untyped(value)).as_bytes());
        before = b',';
    })?;
    out.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
    Ok(())
}

/// The value of a record's field. 64-bit integers are plain numbers, because records have no types.
fn untyped(value: ValueRef<'_>) -> serde_json::Value {
    match value {
        ValueRef::Boolean(value) => value.into(),
        ValueRef::Int32(value) => value.into(),
        ValueRef::Int64(value) => value.into(),
        ValueRef::Double(value) => value.into(),
        other => {
            let mut text = String::new();
            push_value_text(other, &mut text);
            text.into()
        }
    }
}
