//! Writes Parquet.

use super::super::{FormatError, Schema, Style};
use super::io_error;
use super::layout::{Layout, PropertyColumns};
use super::types::to_micros;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use partita_client::Entity;
use partita_model::{DateTime, Value};
use std::io::Write;
use std::sync::Arc;

/// Maximum number of rows in a row group.
const GROUP_ROWS_MAX: usize = 128 * 1024;
/// A row group is written when its values take at least this much memory, in bytes.
const GROUP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Approximate memory of a value in bytes, without its text or binary content.
const CELL_BYTES: usize = 40;

/// Writes entities. Holds the rows of a row group in memory until the group is full.
pub(in super::super) struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    schema: Schema,
    style: Style,
    layout: Layout,
    cells: Vec<Cells>,
    rows: usize,
    bytes: usize,
}

/// The values of a column in the group being written.
#[derive(Default)]
struct Cells {
    /// The row numbers of the values in the group.
    rows: Vec<u32>,
    values: Vec<Value>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file with the columns of a schema.
    pub(in super::super) fn new(schema: Schema, style: Style, out: W) -> Result<Self, FormatError> {
        let layout = Layout::new(&schema, style).map_err(io_error)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("partita".to_owned())
            .build();
        let root = Arc::clone(&layout.root);
        let file = SerializedFileWriter::new(out, root, Arc::new(properties)).map_err(io_error)?;
        let mut writer = Self {
            file,
            schema,
            style,
            layout,
            cells: Vec::new(),
            rows: 0,
            bytes: 0,
        };
        writer.begin_group();
        Ok(writer)
    }

    pub(in super::super) fn write(&mut self, entity: &Entity) -> Result<(), FormatError> {
        self.push(0, Value::String(entity.partition_key().to_owned()));
        self.push(1, Value::String(entity.row_key().to_owned()));
        if let (Some(time), Some(columns)) = (entity.timestamp(), self.layout.timestamp) {
            self.push_time(columns, time);
        }
        for (name, value) in entity.iter() {
            let edm = value.edm_type();
            let index = self.schema.index(name, edm);
            let columns = index.and_then(|at| self.layout.property_columns.get(at).copied());
            let no_column = || FormatError::NoColumn {
                property: name.to_owned(),
                edm: edm.name(),
            };
            let columns = columns.ok_or_else(no_column)?;
            if let Value::DateTime(time) = value {
                if !self.push_time(columns, *time) {
                    return Err(no_column());
                }
            } else {
                self.push(columns.value, value.clone());
            }
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX {
            self.end_group().map_err(io_error)?;
        }
        Ok(())
    }

    pub(in super::super) fn finish(mut self) -> Result<W, FormatError> {
        self.end_group().map_err(io_error)?;
        self.file.into_inner().map_err(io_error)
    }

    /// Adds a time. Returns false if its last digit is not 0 and has no column, unless the file leaves out such columns.
    fn push_time(&mut self, columns: PropertyColumns, time: DateTime) -> bool {
        let (micros, last) = to_micros(time);
        self.push(columns.value, Value::Int64(micros));
        match columns.digit {
            Some(digit) if last != 0 => self.push(digit, Value::Int32(last)),
            _ => return last == 0 || self.style.plain,
        }
        true
    }

    fn push(&mut self, column: usize, value: Value) {
        self.bytes += CELL_BYTES;
        self.bytes += match &value {
            Value::String(text) => text.len(),
            Value::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        let row = u32::try_from(self.rows).expect("a row group has at most GROUP_ROWS_MAX rows");
        if let Some(cells) = self.cells.get_mut(column) {
            cells.rows.push(row);
            cells.values.push(value);
        }
    }

    fn begin_group(&mut self) {
        // New vectors release the memory of the last group.
        self.cells = std::iter::repeat_with(Cells::default)
            .take(self.layout.columns)
            .collect();
        (self.rows, self.bytes) = (0, 0);
    }

    fn end_group(&mut self) -> ParquetResult<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        let mut levels = vec![0; self.rows];
        for cells in std::mem::take(&mut self.cells) {
            levels.fill(0);
            for &row in &cells.rows {
                if let Some(level) = levels.get_mut(row as usize) {
                    *level = 1;
                }
            }
            let column = group.next_column()?;
            let column = column.ok_or_else(|| ParquetError::General("no column".to_owned()))?;
            write_column(column, cells.values, &levels)?;
        }
        group.close()?;
        self.begin_group();
        Ok(())
    }
}

/// Writes a column. `values` are the values of the rows with level 1; rows with level 0 have none. In a required
/// column, each row has a value, and the levels are ignored.
fn write_column(
    mut column: SerializedColumnWriter<'_>,
    values: Vec<Value>,
    levels: &[i16],
) -> ParquetResult<()> {
    /// Writes values that Parquet stores without a conversion.
    macro_rules! write_as {
        ($column:ident, $variant:ident) => {
            write_values($column, values, levels, |value| match value {
                Value::$variant(value) => Some(value),
                _ => None,
            })
        };
    }
    match column.untyped() {
        ColumnWriter::ByteArrayColumnWriter(column) => {
            write_values(column, values, levels, |value| match value {
                Value::String(text) => Some(ByteArray::from(text.into_bytes())),
                Value::Binary(bytes) => Some(ByteArray::from(bytes)),
                _ => None,
            })
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(column) => {
            write_values(column, values, levels, |value| match value {
                Value::Guid(guid) => Some(FixedLenByteArray::from(guid.0.to_vec())),
                _ => None,
            })
        }
        ColumnWriter::BoolColumnWriter(column) => write_as!(column, Boolean),
        ColumnWriter::Int32ColumnWriter(column) => write_as!(column, Int32),
        ColumnWriter::Int64ColumnWriter(column) => write_as!(column, Int64),
        ColumnWriter::DoubleColumnWriter(column) => write_as!(column, Double),
        _ => Err(ParquetError::General("unsupported type".to_owned())),
    }?;
    column.close()
}

fn write_values<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    values: Vec<Value>,
    levels: &[i16],
    of: fn(Value) -> Option<T::T>,
) -> ParquetResult<()> {
    let typed: Option<Vec<T::T>> = values.into_iter().map(of).collect();
    let typed = typed.ok_or_else(|| {
        ParquetError::General("a value does not have the type of its column".to_owned())
    })?;
    column.write_batch(&typed, Some(levels), None).map(drop)
}
