//! Writes Parquet.

use super::super::{FormatError, Schema};
use super::io_error;
use super::layout::{KNOWN_COLUMNS, Layout};
use super::types::to_micros;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use partita_client::Entity;
use partita_model::{DateTime, Value};
use std::io::Write;
use std::sync::Arc;

/// Rows of a group: what readers take as a unit of work.
const GROUP_ROWS_MAX: usize = 128 * 1024;
/// Bytes of a group's values in memory.
const GROUP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a value in memory takes besides its own bytes, about.
const CELL_BYTES: usize = 40;

/// Writes entities. The rows of a group are kept until it is full.
pub(in super::super) struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    schema: Schema,
    layout: Layout,
    cells: Vec<Cells>,
    rows: usize,
    bytes: usize,
}

/// The values of a column in the group under way.
#[derive(Default)]
struct Cells {
    /// In which rows of the group they stand.
    rows: Vec<u32>,
    values: Values,
}

/// Values of one type.
#[derive(Default)]
enum Values {
    #[default]
    None,
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
}

/// A value as the file has it.
enum Cell {
    Bytes(ByteArray),
    Fixed(FixedLenByteArray),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file with the columns of a schema.
    pub(in super::super) fn new(schema: Schema, out: W) -> std::result::Result<Self, FormatError> {
        let layout = Layout::new(&schema).map_err(io_error)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("partita".to_owned())
            .build();
        let root = Arc::clone(&layout.root);
        let file = SerializedFileWriter::new(out, root, Arc::new(properties)).map_err(io_error)?;
        let mut writer = Self {
            file,
            schema,
            layout,
            cells: Vec::new(),
            rows: 0,
            bytes: 0,
        };
        writer.begin_group();
        Ok(writer)
    }

    pub(in super::super) fn write(
        &mut self,
        entity: &Entity,
    ) -> std::result::Result<(), FormatError> {
        let text = |text: &str| Cell::Bytes(ByteArray::from(text));
        self.push(0, text(entity.partition_key()));
        self.push(1, text(entity.row_key()));
        if let Some(time) = entity.timestamp() {
            self.push_time(2, Some(3), time);
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
            let cell = match value {
                Value::DateTime(time) => {
                    if !self.push_time(columns.value, columns.digit, *time) {
                        return Err(no_column());
                    }
                    continue;
                }
                Value::String(value) => text(value),
                Value::Binary(bytes) => Cell::Bytes(ByteArray::from(bytes.clone())),
                Value::Guid(guid) => Cell::Fixed(FixedLenByteArray::from(guid.0.to_vec())),
                Value::Boolean(value) => Cell::Boolean(*value),
                Value::Int32(value) => Cell::Int32(*value),
                Value::Int64(value) => Cell::Int64(*value),
                Value::Double(value) => Cell::Double(*value),
            };
            self.push(columns.value, cell);
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX {
            self.end_group().map_err(io_error)?;
        }
        Ok(())
    }

    pub(in super::super) fn finish(mut self) -> std::result::Result<W, FormatError> {
        self.end_group().map_err(io_error)?;
        self.file.into_inner().map_err(io_error)
    }

    /// Whether there was a column for all of it.
    fn push_time(&mut self, value: usize, digit: Option<usize>, time: DateTime) -> bool {
        let (micros, last) = to_micros(time);
        self.push(value, Cell::Int64(micros));
        match digit {
            Some(digit) if last != 0 => self.push(digit, Cell::Int32(last)),
            _ => return last == 0,
        }
        true
    }

    fn push(&mut self, column: usize, cell: Cell) {
        self.bytes += CELL_BYTES;
        if let Cell::Bytes(bytes) = &cell {
            self.bytes += bytes.len();
        }
        let row = u32::try_from(self.rows).expect("a group has few rows");
        if let Some(cells) = self.cells.get_mut(column) {
            cells.rows.push(row);
            cells.values.push(cell);
        }
    }

    fn begin_group(&mut self) {
        let digits = self
            .layout
            .property_columns
            .iter()
            .filter(|columns| columns.digit.is_some());
        let columns = KNOWN_COLUMNS + self.layout.property_columns.len() + digits.count();
        // Made anew, so that a group with many columns does not keep the room of all of them.
        self.cells = std::iter::repeat_with(Cells::default)
            .take(columns)
            .collect();
        (self.rows, self.bytes) = (0, 0);
    }

    fn end_group(&mut self) -> Result<()> {
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
            cells.values.write(&levels, column)?;
        }
        group.close()?;
        self.begin_group();
        Ok(())
    }
}

impl Values {
    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Self::Bytes(values), Cell::Bytes(value)) => values.push(value),
            (Self::Fixed(values), Cell::Fixed(value)) => values.push(value),
            (Self::Boolean(values), Cell::Boolean(value)) => values.push(value),
            (Self::Int32(values), Cell::Int32(value)) => values.push(value),
            (Self::Int64(values), Cell::Int64(value)) => values.push(value),
            (Self::Double(values), Cell::Double(value)) => values.push(value),
            // The first one says what the column is; the schema has one type for each.
            (values, cell) => {
                *values = match cell {
                    Cell::Bytes(value) => Self::Bytes(vec![value]),
                    Cell::Fixed(value) => Self::Fixed(vec![value]),
                    Cell::Boolean(value) => Self::Boolean(vec![value]),
                    Cell::Int32(value) => Self::Int32(vec![value]),
                    Cell::Int64(value) => Self::Int64(vec![value]),
                    Cell::Double(value) => Self::Double(vec![value]),
                }
            }
        }
    }

    /// Writes the values of those rows whose level is 1. A required column has one in each row, and its levels are not looked at.
    fn write(&self, levels: &[i16], mut column: SerializedColumnWriter<'_>) -> Result<()> {
        let levels = Some(levels);
        match (column.untyped(), self) {
            (ColumnWriter::ByteArrayColumnWriter(column), Self::Bytes(values)) => {
                column.write_batch(values, levels, None)
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(column), Self::Fixed(values)) => {
                column.write_batch(values, levels, None)
            }
            (ColumnWriter::BoolColumnWriter(column), Self::Boolean(values)) => {
                column.write_batch(values, levels, None)
            }
            (ColumnWriter::Int32ColumnWriter(column), Self::Int32(values)) => {
                column.write_batch(values, levels, None)
            }
            (ColumnWriter::Int64ColumnWriter(column), Self::Int64(values)) => {
                column.write_batch(values, levels, None)
            }
            (ColumnWriter::DoubleColumnWriter(column), Self::Double(values)) => {
                column.write_batch(values, levels, None)
            }
            (column, Self::None) => write_nulls(column, levels),
            _ => Err(ParquetError::General("a value of another type".to_owned())),
        }?;
        column.close()
    }
}

fn write_nulls(column: &mut ColumnWriter<'_>, levels: Option<&[i16]>) -> Result<usize> {
    match column {
        ColumnWriter::ByteArrayColumnWriter(column) => column.write_batch(&[], levels, None),
        ColumnWriter::FixedLenByteArrayColumnWriter(column) => {
            column.write_batch(&[], levels, None)
        }
        ColumnWriter::BoolColumnWriter(column) => column.write_batch(&[], levels, None),
        ColumnWriter::Int32ColumnWriter(column) => column.write_batch(&[], levels, None),
        ColumnWriter::Int64ColumnWriter(column) => column.write_batch(&[], levels, None),
        ColumnWriter::DoubleColumnWriter(column) => column.write_batch(&[], levels, None),
        _ => Err(ParquetError::General(
            "a type that is not written".to_owned(),
        )),
    }
}
