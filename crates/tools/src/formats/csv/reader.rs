//! Reads CSV files of Partita and of other programs.
//!
//! - Columns may have any order. PartitionKey and RowKey are required, Timestamp is optional.
//! - Values without a type are strings. If value and type are both empty, the row lacks the property.
//! - Keys may be empty. Spaces around a value are part of the value.

use super::super::FormatError;
use super::super::read_entities::ReadEntities;
use super::{TYPE_SUFFIX, value};
use partita_client::Entity;
use partita_model::{DateTime, EdmType};
use std::collections::HashMap;
use std::io::{self, Read};
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
    records: csv::Reader<Bounded<R>>,
    record: csv::StringRecord,
    partition_key_at: usize,
    row_key_at: usize,
    timestamp_at: Option<usize>,
    properties: Vec<Property>,
    row: u64,
}

impl<R: Read> Reader<R> {
    pub(in super::super) fn new(input: R) -> Result<Self, FormatError> {
        let input = Bounded {
            input,
            left: RECORD_BYTES_MAX,
        };
        let mut records = csv::ReaderBuilder::new().from_reader(input);
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
            let missing = || FormatError::File(format!("missing column {name}"));
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
            records,
            record: csv::StringRecord::new(),
            row: 0,
        })
    }

    fn entity(&self) -> Result<Entity, String> {
        let cell = |at: usize| self.record.get(at).unwrap_or_default();
        let timestamp = match self.timestamp_at.map_or("", cell) {
            "" => None,
            text => Some(DateTime::parse(text).map_err(|error| format!("Timestamp: {error}"))?),
        };
        let mut properties = Vec::with_capacity(self.properties.len());
        for property in &self.properties {
            let name = &property.name;
            let text = cell(property.value_at);
            let edm = match property.type_at.map_or("", cell) {
                "" if text.is_empty() => continue,
                "" => EdmType::String,
                edm => {
                    EdmType::from_name(edm).ok_or_else(|| format!("{name}: unknown type {edm}"))?
                }
            };
            let value = value::from_text(text, edm);
            let value = value.ok_or_else(|| format!("{name} is not a valid {}", edm.name()))?;
            properties.push((Arc::clone(name), value));
        }
        let keys = [self.partition_key_at, self.row_key_at].map(|at| cell(at).to_owned());
        Ok(Entity::from_parts(keys.into(), timestamp, properties))
    }
}

impl<R: Read + Send> ReadEntities for Reader<R> {
    fn read(&mut self) -> Result<Option<Entity>, FormatError> {
        self.records.get_mut().left = RECORD_BYTES_MAX;
        let row = self.row + 1;
        match self.records.read_record(&mut self.record) {
            Ok(false) => return Ok(None),
            Ok(true) => self.row = row,
            Err(_) if self.records.get_ref().left == 0 => {
                return Err(FormatError::row(row, TOO_LONG));
            }
            Err(error) if error.is_io_error() => return Err(FormatError::Io(error.into())),
            Err(error) => return Err(FormatError::row(row, error)),
        }
        let entity = self.entity().map_err(|what| FormatError::row(row, what))?;
        Ok(Some(entity))
    }
}

fn file_error(error: csv::Error) -> FormatError {
    if error.is_io_error() {
        FormatError::Io(error.into())
    } else {
        FormatError::File(error.to_string())
    }
}

/// An input that fails after [`RECORD_BYTES_MAX`] bytes of one record.
struct Bounded<R> {
    input: R,
    /// The number of bytes that may still be read for the current record.
    left: usize,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, TOO_LONG));
        }
        let read = self.input.read(buffer)?;
        self.left = self.left.saturating_sub(read);
        Ok(read)
    }
}
