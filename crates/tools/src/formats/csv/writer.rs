//! Writes CSV.

use super::super::{FormatError, Schema, Style};
use super::{Records, value};
use partita_client::Entity;
use partita_model::Value;
use std::collections::HashMap;
use std::io::Write;

/// Writes entities, one per record.
pub(in super::super) struct Writer<W: Write> {
    records: Records<W>,
    /// For each property, the index of its pair of columns, value and type, or of its value if types are left out.
    places: HashMap<String, usize>,
    style: Style,
}

impl<W: Write> Writer<W> {
    /// Begins a file with the properties of a schema.
    pub(in super::super) fn new(schema: Schema, style: Style, out: W) -> Result<Self, FormatError> {
        let mut records = Records::new(out, csv::Terminator::CRLF);
        let timestamp = (!style.no_timestamp).then_some("Timestamp");
        let known = ["PartitionKey", "RowKey"].into_iter().chain(timestamp);
        let properties = schema.properties().map(|name| (name, !style.plain));
        records.header(known.map(|name| (name, false)).chain(properties))?;
        let places = schema.properties().enumerate();
        let places = places.map(|(at, name)| (name.to_owned(), at)).collect();
        Ok(Self {
            records,
            places,
            style,
        })
    }

    pub(in super::super) fn write(&mut self, entity: &Entity) -> Result<(), FormatError> {
        let mut values: Vec<Option<&Value>> = vec![None; self.places.len()];
        for (name, value) in entity.iter() {
            let place = self.places.get(name).and_then(|&at| values.get_mut(at));
            let place = place.ok_or_else(|| FormatError::NoColumn {
                property: name.to_owned(),
                edm: value.edm_type().name(),
            })?;
            *place = Some(value);
        }
        let timestamp = entity.timestamp().map(|time| time.text().to_string());
        let timestamp = timestamp.as_deref().unwrap_or_default();
        self.records.cell(entity.partition_key())?;
        self.records.cell(entity.row_key())?;
        if !self.style.no_timestamp {
            self.records.cell(timestamp)?;
        }
        for value in values {
            let cell = value.map(|value| (value::to_text(value), value.edm_type().name()));
            let cell = cell.as_ref().map(|(text, edm)| (&**text, *edm));
            match cell {
                _ if !self.style.plain => self.records.typed_cell(cell)?,
                Some((text, _)) => self.records.cell(text)?,
                None => self.records.cell("")?,
            }
        }
        Ok(self.records.end()?)
    }

    pub(in super::super) fn finish(self) -> Result<W, FormatError> {
        Ok(self.records.finish()?)
    }
}
