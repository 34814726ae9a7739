//! Writes CSV.

use super::super::{FormatError, Schema};
use super::{TYPE_SUFFIX, value};
use partita_client::Entity;
use partita_model::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes entities, a record each. Nothing but the record under way is kept.
pub(in super::super) struct Writer<W: Write> {
    records: csv::Writer<W>,
    /// Of each property, which pair of columns it has.
    places: HashMap<String, usize>,
}

impl<W: Write> Writer<W> {
    /// Begins a file with the properties of a schema.
    pub(in super::super) fn new(schema: Schema, out: W) -> Result<Self, FormatError> {
        let mut records = csv::WriterBuilder::new()
            .terminator(csv::Terminator::CRLF)
            .from_writer(out);
        for name in ["PartitionKey", "RowKey", "Timestamp"] {
            records.write_field(name).map_err(io_error)?;
        }
        let mut places = HashMap::new();
        for (at, name) in schema.properties().enumerate() {
            let edm_name = format!("{name}{TYPE_SUFFIX}");
            for field in [name, &edm_name] {
                records.write_field(field).map_err(io_error)?;
            }
            places.insert(name.to_owned(), at);
        }
        records.write_record(None::<&[u8]>).map_err(io_error)?;
        Ok(Self { records, places })
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
        let keys = [entity.partition_key(), entity.row_key()];
        let known = keys
            .into_iter()
            .chain([timestamp.as_deref().unwrap_or_default()]);
        for field in known {
            self.records.write_field(field).map_err(io_error)?;
        }
        for value in values {
            let text = value.map_or(Cow::Borrowed(""), value::to_text);
            let edm = value.map_or("", |value| value.edm_type().name());
            for field in [&*text, edm] {
                self.records.write_field(field).map_err(io_error)?;
            }
        }
        self.records.write_record(None::<&[u8]>).map_err(io_error)
    }

    pub(in super::super) fn finish(self) -> Result<W, FormatError> {
        let flushed = self.records.into_inner();
        flushed.map_err(|failed| FormatError::Io(io::Error::other(failed.to_string())))
    }
}

/// Of what a writer can fail with, only I/O is possible: records of different lengths are not written.
fn io_error(error: csv::Error) -> FormatError {
    FormatError::Io(error.into())
}
