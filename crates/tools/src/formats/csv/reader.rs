//! Reads CSV files of Partita and of other programs.
//!
//! - The delimiter is the caller's choice, or that of the first line, see [`super::delimiter`].
//! - Columns may have any order. PartitionKey and RowKey are required, Timestamp is optional.
//! - Values without a type are strings. If value and type are both empty, the row lacks the property.
//! - Keys may be empty. Spaces around a value are part of the value.

use super::super::expected::{invalid_value, unknown_type};
use super::super::read_entities::ReadEntities;
use super::super::{FormatError, Place};
use super::delimiter::{FirstLine, missing_column};
use super::source::Source;
use super::{TYPE_SUFFIX, value};
use csv::ErrorKind;
use partita_client::Entity;
use partita_model::{DateTime, EdmType};
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

/// Longest record, in bytes. The largest entity has less than 2 MiB; an unclosed quote makes the rest of the file one
/// record.
const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The message for a record of more than [`RECORD_BYTES_MAX`].
const TOO_LONG: &str = "the record is longer than 16 MiB; check for an unclosed quote";

/// The indexes of a property's columns.
struct Property {
    name: Arc<str>,
    value_at: usize,
    type_at: Option<usize>,
}

/// Reads entities, one per record.
pub(in super::super) struct Reader<R> {
    records: csv::Reader<Source<FirstLine<R>>>,
    record: csv::StringRecord,
    partition_key_at: usize,
    row_key_at: usize,
    timestamp_at: Option<usize>,
    properties: Vec<Property>,
    /// The number of columns of the first line.
    columns: usize,
}

impl<R: Read> Reader<R> {
    /// Reads the first line. Without a delimiter, the first line shows it.
    pub(in super::super) fn new(input: R, delimiter: Option<u8>) -> Result<Self, FormatError> {
        let input = FirstLine::read(input, RECORD_BYTES_MAX)?;
        let delimiter = delimiter.unwrap_or_else(|| input.delimiter());
        let input = Source::new(input, RECORD_BYTES_MAX);
        let mut builder = csv::ReaderBuilder::new();
        // The number of columns is checked here, where the error can have its line.
        let builder = builder.delimiter(delimiter).flexible(true);
        let mut records = builder.from_reader(input);
        let header = match records.headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(file_error(error)),
        };
        let mut places = HashMap::new();
        for (at, name) in header.iter().enumerate() {
            if places.insert(name, at).is_some() {
                let what = format!("duplicate column {name}");
                return Err(FormatError::File(what));
            }
        }
        let key = |name| {
            let missing = || FormatError::File(missing_column(name, &header, delimiter));
            places.get(name).copied().ok_or_else(missing)
        };
        let is_property = |name: &&str| {
            !matches!(*name, "PartitionKey" | "RowKey" | "Timestamp" | "")
                && !name.ends_with(TYPE_SUFFIX)
        };
        let properties = header.iter().filter(is_property).filter_map(|name| {
            Some(Property {
                name: Arc::from(name),
                value_at: *places.get(name)?,
                type_at: places.get(&*format!("{name}{TYPE_SUFFIX}")).copied(),
            })
        });
        Ok(Self {
            partition_key_at: key("PartitionKey")?,
            row_key_at: key("RowKey")?,
            timestamp_at: places.get("Timestamp").copied(),
            properties: properties.collect(),
            columns: header.len(),
            records,
            record: csv::StringRecord::new(),
        })
    }

    fn entity(&self) -> Result<Entity, String> {
        if self.record.len() != self.columns {
            let (found, columns) = (self.record.len(), self.columns);
            return Err(format!("{found} columns, but the first line has {columns}"));
        }
        let cell = |at: usize| self.record.get(at).unwrap_or_default();
        let column = |at: usize, name: &str, what: String| {
            let number = at + 1;
            format!("column {number} ({name}): {what}")
        };
        let timestamp = match self.timestamp_at.map(|at| (at, cell(at))) {
            None | Some((_, "")) => None,
            Some((at, text)) => {
                let what = || invalid_value(text, EdmType::DateTime);
                let time = DateTime::parse(text);
                Some(time.map_err(|_| column(at, "Timestamp", what()))?)
            }
        };
        let mut properties = Vec::with_capacity(self.properties.len());
        for property in &self.properties {
            let name = &property.name;
            let text = cell(property.value_at);
            let edm = match property.type_at.map(|at| (at, cell(at))) {
                None | Some((_, "")) if text.is_empty() => continue,
                None | Some((_, "")) => EdmType::String,
                Some((at, edm)) => {
                    let what = || column(at, &format!("{name}{TYPE_SUFFIX}"), unknown_type(edm));
                    EdmType::from_name(edm).ok_or_else(what)?
                }
            };
            let what = || column(property.value_at, name, invalid_value(text, edm));
            let value = value::from_text(text, edm).ok_or_else(what)?;
            properties.push((Arc::clone(name), value));
        }
        let keys = [self.partition_key_at, self.row_key_at].map(|at| cell(at).to_owned());
        Ok(Entity::from_parts(keys.into(), timestamp, properties))
    }
}

impl<R: Read + Send> ReadEntities for Reader<R> {
    fn read(&mut self) -> Result<Option<Entity>, FormatError> {
        let begin = self.records.position().byte();
        self.records.get_mut().begin_record(RECORD_BYTES_MAX);
        let read = self.records.read_record(&mut self.record);
        let end = self.records.position().byte();
        let source = self.records.get_mut();
        if source.is_exhausted() && read.is_err() {
            // The byte after the last record may be its line feed.
            let line = source.line_at(begin + 1);
            return Err(FormatError::row(Place::line(line), TOO_LONG));
        }
        // The last byte may be the line feed that ends the record.
        let line = source.line_at(end.saturating_sub(1));
        match read {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => return Err(record_error(error, line)),
        }
        let entity = self.entity().map_err(|what| {
            let within = self.record.as_slice().matches('\n');
            let line = line.saturating_sub(within.count() as u64);
            FormatError::row(Place::line(line), what)
        })?;
        Ok(Some(entity))
    }
}

/// The error of a record that ends in this line.
fn record_error(error: csv::Error, line: u64) -> FormatError {
    let what = match error.kind() {
        ErrorKind::Utf8 { err, .. } => format!("column {}: not valid UTF-8", err.field() + 1),
        ErrorKind::Io(_) => return FormatError::Io(error.into()),
        _ => error.to_string(),
    };
    FormatError::row(Place::line(line), what)
}

fn file_error(error: csv::Error) -> FormatError {
    if error.is_io_error() {
        FormatError::Io(error.into())
    } else {
        FormatError::File(error.to_string())
    }
}
