//! Reads Parquet.

use super::super::read_entities::ReadEntities;
use super::super::{FormatError, Place};
use super::columns::{Kind, Meaning, Role, meanings};
use super::io_error;
use super::types::{from_units, with_digit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use partita_client::Entity;
use partita_model::{DateTime, Guid, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Number of rows that are decoded at a time.
const ROWS_AT_A_TIME: usize = 1024;

/// Reads entities. Decodes all columns of [`ROWS_AT_A_TIME`] rows at a time.
pub(in super::super) struct Reader<F: ChunkReader + 'static> {
    file: SerializedFileReader<F>,
    meanings: Vec<Meaning>,
    /// The index of the row group to open next.
    next_group: usize,
    columns: Vec<ColumnReader>,
    rows_left_in_group: usize,
    ready: std::vec::IntoIter<Entity>,
    row: u64,
}

/// An entity with only some columns read so far.
#[derive(Default)]
struct Draft {
    partition_key: Option<String>,
    row_key: Option<String>,
    timestamp: Option<DateTime>,
    properties: Vec<(Arc<str>, Value)>,
}

impl<F: ChunkReader + 'static> Reader<F> {
    pub(in super::super) fn new(file: F) -> Result<Self, FormatError> {
        let bytes = file.len();
        let opened = guarded(|| SerializedFileReader::new(file).map_err(file_error));
        let file = opened?;
        check(file.metadata(), bytes)?;
        let meanings = meanings(file.metadata().file_metadata().schema_descr())?;
        Ok(Self {
            file,
            meanings,
            next_group: 0,
            columns: Vec::new(),
            rows_left_in_group: 0,
            ready: Vec::new().into_iter(),
            row: 0,
        })
    }

    /// Opens the next row group if the current one is read; returns false after the last one.
    fn open_group(&mut self) -> Result<bool, FormatError> {
        while self.rows_left_in_group == 0 {
            if self.next_group >= self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self
                .file
                .get_row_group(self.next_group)
                .map_err(file_error)?;
            self.next_group += 1;
            let rows = group.metadata().num_rows();
            self.rows_left_in_group = usize::try_from(rows).map_err(|_| {
                FormatError::File("a row group has a negative number of rows".to_owned())
            })?;
            let columns = (0..self.meanings.len()).map(|at| group.get_column_reader(at));
            self.columns = columns.collect::<Result<_, _>>().map_err(file_error)?;
        }
        Ok(true)
    }

    fn read_rows(&mut self) -> Result<(), FormatError> {
        let rows = self.rows_left_in_group.min(ROWS_AT_A_TIME);
        let mut drafts: Vec<Draft> = std::iter::repeat_with(Draft::default).take(rows).collect();
        for (meaning, column) in self.meanings.iter().zip(&mut self.columns) {
            let cells = Cells::read(column, meaning, rows).map_err(file_error)?;
            for (at, value) in cells.into_iter() {
                let draft = drafts.get_mut(at);
                let put = draft.and_then(|draft| draft.put(&meaning.role, value));
                put.ok_or_else(|| {
                    let what = format!("column {}: a table cannot store this value", meaning.name);
                    FormatError::row(Place::Row(self.row + at as u64 + 1), what)
                })?;
            }
        }
        let mut entities = Vec::with_capacity(rows);
        for draft in drafts {
            self.row += 1;
            let entity = draft.finish();
            let missing = "PartitionKey or RowKey is missing";
            let place = Place::Row(self.row);
            entities.push(entity.ok_or_else(|| FormatError::row(place, missing))?);
        }
        self.rows_left_in_group -= rows;
        self.ready = entities.into_iter();
        Ok(())
    }
}

impl<F: ChunkReader + 'static> ReadEntities for Reader<F> {
    fn read(&mut self) -> Result<Option<Entity>, FormatError> {
        if let Some(entity) = self.ready.next() {
            return Ok(Some(entity));
        }
        guarded(|| {
            if self.open_group()? {
                self.read_rows()?;
            }
            Ok(self.ready.next())
        })
    }

    fn rows(&self) -> Option<u64> {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).ok()
    }
}

/// Runs code that calls the parquet library. The library panics on some damaged pages; this function converts the panic
/// to an error. The reader is not used after an error.
fn guarded<T>(read: impl FnOnce() -> Result<T, FormatError>) -> Result<T, FormatError> {
    let done = catch_unwind(AssertUnwindSafe(read));
    done.unwrap_or_else(|_| Err(FormatError::File("the file is damaged".to_owned())))
}

/// Returns an error if the metadata of a file contain a column outside the file. The library would panic on such a
/// file.
fn check(metadata: &ParquetMetaData, file_bytes: u64) -> Result<(), FormatError> {
    for group in metadata.row_groups() {
        for column in group.columns() {
            let begin = column
                .dictionary_page_offset()
                .unwrap_or(column.data_page_offset());
            let size = column.compressed_size();
            let end = u64::try_from(begin)
                .ok()
                .zip(u64::try_from(size).ok())
                .and_then(|(begin, size)| begin.checked_add(size));
            let is_within = end.is_some_and(|end| end <= file_bytes);
            if !is_within || column.num_values() < 0 || column.uncompressed_size() < 0 {
                let what = "a column lies outside the file".to_owned();
                return Err(FormatError::File(what));
            }
        }
    }
    Ok(())
}

impl Draft {
    /// Sets the value of a column; returns `None` if an entity cannot have the value there.
    fn put(&mut self, role: &Role, value: Option<Value>) -> Option<()> {
        match (role, value?) {
            (Role::PartitionKey, Value::String(key)) => self.partition_key = Some(key),
            (Role::RowKey, Value::String(key)) => self.row_key = Some(key),
            (Role::Timestamp, Value::DateTime(time)) => self.timestamp = Some(time),
            (Role::TimestampDigit, Value::Int32(digit)) => {
                self.timestamp = Some(with_digit(self.timestamp?, digit)?);
            }
            (Role::Property(name), value) => self.properties.push((Arc::clone(name), value)),
            // The column of the digit follows the column of its DateTime, so the DateTime is already set.
            (Role::Digit(name), Value::Int32(digit)) => {
                let mut properties = self.properties.iter_mut().rev();
                match properties.find(|(other, _)| other == name) {
                    Some((_, Value::DateTime(time))) => *time = with_digit(*time, digit)?,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(self) -> Option<Entity> {
        let keys = (self.partition_key?, self.row_key?);
        Some(Entity::from_parts(keys, self.timestamp, self.properties))
    }
}

/// The values of one column in a block of rows.
struct Cells {
    /// The definition level of each row; empty in a required column.
    levels: Vec<i16>,
    /// The definition level of a present value.
    level: i16,
    rows: usize,
    values: std::vec::IntoIter<Option<Value>>,
}

impl Cells {
    fn read(
        column: &mut ColumnReader,
        meaning: &Meaning,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let mut levels = Vec::new();
        let kind = meaning.kind;
        let values = match column {
            ColumnReader::BoolColumnReader(column) => {
                values(column, rows, &mut levels, |value| Some(value.into()))
            }
            ColumnReader::Int32ColumnReader(column) => {
                values(column, rows, &mut levels, |value| Some(value.into()))
            }
            ColumnReader::Int64ColumnReader(column) => {
                values(column, rows, &mut levels, |value| of_int64(kind, value))
            }
            ColumnReader::FloatColumnReader(column) => values(column, rows, &mut levels, |value| {
                Some(Value::Double(value.into()))
            }),
            ColumnReader::DoubleColumnReader(column) => {
                values(column, rows, &mut levels, |value| Some(value.into()))
            }
            ColumnReader::ByteArrayColumnReader(column) => {
                values(column, rows, &mut levels, |value| {
                    of_bytes(kind, value.data())
                })
            }
            ColumnReader::FixedLenByteArrayColumnReader(column) => {
                values(column, rows, &mut levels, |value| {
                    of_bytes(kind, value.data())
                })
            }
            ColumnReader::Int96ColumnReader(_) => {
                Err(ParquetError::NYI("INT96 timestamps".to_owned()))
            }
        }?;
        Ok(Self {
            levels,
            level: meaning.level,
            rows,
            values: values.into_iter(),
        })
    }

    /// The index and the value of each row that has a value; the value is `None` if a table cannot store it.
    fn into_iter(mut self) -> impl Iterator<Item = (usize, Option<Value>)> {
        (0..self.rows).filter_map(move |row| {
            let is_there = self.level == 0 || self.levels.get(row) == Some(&self.level);
            is_there.then(|| (row, self.values.next().flatten()))
        })
    }
}

/// Reads and converts the values of rows; `None` for a value that a table cannot store.
fn values<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    convert: impl Fn(T::T) -> Option<Value>,
) -> Result<Vec<Option<Value>>, ParquetError> {
    let (mut values, mut read) = (Vec::new(), 0);
    while read < rows {
        let into = Some(&mut *levels);
        let (records, ..) = column.read_records(rows - read, into, None, &mut values)?;
        if records == 0 {
            let what = "a column has fewer values than its row group has rows";
            return Err(ParquetError::General(what.to_owned()));
        }
        read += records;
    }
    Ok(values.into_iter().map(convert).collect())
}

fn of_int64(kind: Kind, value: i64) -> Option<Value> {
    match kind {
        Kind::Time(per_second) => from_units(value, per_second).map(Value::DateTime),
        _ => Some(Value::Int64(value)),
    }
}

fn of_bytes(kind: Kind, bytes: &[u8]) -> Option<Value> {
    match kind {
        Kind::String => Some(Value::String(str::from_utf8(bytes).ok()?.to_owned())),
        Kind::Guid => Some(Value::Guid(Guid(bytes.try_into().ok()?))),
        _ => Some(Value::Binary(bytes.to_vec())),
    }
}

fn file_error(error: ParquetError) -> FormatError {
    match error {
        ParquetError::External(_) => io_error(error),
        other => FormatError::File(other.to_string()),
    }
}
