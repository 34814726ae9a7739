//! JSON, by lines or as one array.

use super::Shown;
use crate::error::Failure;
use partita_client::ValueRef;
use partita_wire::table::{EntityBody, push_value_text};
use std::io::Write;

/// Writes objects as they come.
pub(crate) struct JsonWriter {
    /// Whether they are the elements of an array.
    array: bool,
    first: bool,
    /// Used again for each object.
    object: Vec<u8>,
}

impl JsonWriter {
    pub(crate) fn lines() -> Self {
        Self {
            array: false,
            first: true,
            object: Vec::new(),
        }
    }

    pub(crate) fn array() -> Self {
        Self {
            array: true,
            ..Self::lines()
        }
    }

    pub(crate) fn row(&mut self, shown: &Shown<'_>, to: &mut impl Write) -> Result<(), Failure> {
        self.object.clear();
        if self.array {
            let before: &[u8] = if self.first { b"[\n" } else { b",\n" };
            self.object.extend_from_slice(before);
        }
        self.first = false;
        push_object(shown, &mut self.object)?;
        if !self.array {
            self.object.push(b'\n');
        }
        to.write_all(&self.object).map_err(Failure::Output)
    }

    pub(crate) fn end(&mut self, to: &mut impl Write) -> Result<(), Failure> {
        let end: &[u8] = match (self.array, self.first) {
            (true, true) => b"[]\n",
            (true, false) => b"\n]\n",
            (false, _) => b"",
        };
        to.write_all(end).map_err(Failure::Output)
    }
}

fn push_object(shown: &Shown<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
    if shown.is_entity() {
        let mut body = EntityBody::begin(out);
        shown.each(|name, value| body.property(name, value))?;
        body.end();
        return Ok(());
    }
    // Not a map of serde_json: its names are in the order of the alphabet.
    let mut before = b'{';
    shown.each(|name, value| {
        let name = serde_json::Value::from(name);
        out.push(before);
        out.extend_from_slice(format!("{name}:{}", plain(value)).as_bytes());
        before = b',';
    })?;
    out.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
    Ok(())
}

/// A field of a record: numbers are numbers, as nobody reads a type from them.
fn plain(value: ValueRef<'_>) -> serde_json::Value {
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
