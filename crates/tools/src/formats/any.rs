//! [`EntityReader`] and [`EntityWriter`], which read and write files of any format.

use super::format::{Format, InputFormat, ReadOptions};
use super::read_entities::ReadEntities;
use super::{FormatError, Schema, Style, csv, json, jsonl, parquet};
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use partita_client::Entity;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The zstd compression level. Higher levels make files a little smaller, but take much more CPU time.
const ZSTD_LEVEL: i32 = 1;
/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 128 * 1024;

/// Writes entities in any of the formats.
pub struct EntityWriter<W: Write + Send>(Writer<W>);

enum Writer<W: Write + Send> {
    Csv(csv::Writer<W>),
    Jsonl(jsonl::Writer<W>),
    JsonlZstd(jsonl::Writer<zstd::Encoder<'static, W>>),
    Parquet(parquet::Writer<W>),
}

impl<W: Write + Send> EntityWriter<W> {
    /// Begins a file. Formats without columns ignore the schema.
    ///
    /// # Errors
    /// [`FormatError::Io`].
    pub fn new(format: Format, schema: &Schema, out: W) -> Result<Self, FormatError> {
        Self::styled((format, Style::default()), schema, out)
    }

    /// Begins a file, as [`Self::new`], with fewer columns.
    ///
    /// # Errors
    /// [`FormatError::Io`].
    pub fn styled(
        (format, style): (Format, Style),
        schema: &Schema,
        out: W,
    ) -> Result<Self, FormatError> {
        Ok(Self(match format {
            Format::Csv => Writer::Csv(csv::Writer::new(schema.clone(), style, out)?),
            Format::Jsonl => Writer::Jsonl(jsonl::Writer::new(style, out)),
            Format::JsonlZstd => {
                let compressed = zstd::Encoder::new(out, ZSTD_LEVEL)?;
                Writer::JsonlZstd(jsonl::Writer::new(style, compressed))
            }
            Format::Parquet => Writer::Parquet(parquet::Writer::new(schema.clone(), style, out)?),
        }))
    }

    /// Appends a row. After an error, the file is incomplete and must not be used.
    ///
    /// # Errors
    /// [`FormatError::Io`], [`FormatError::NoColumn`].
    pub fn write(&mut self, entity: &Entity) -> Result<(), FormatError> {
        match &mut self.0 {
            Writer::Csv(writer) => writer.write(entity),
            Writer::Jsonl(writer) => writer.write(entity),
            Writer::JsonlZstd(writer) => writer.write(entity),
            Writer::Parquet(writer) => writer.write(entity),
        }
    }

    /// Writes the end of the file, and returns the output.
    ///
    /// # Errors
    /// [`FormatError::Io`].
    pub fn finish(self) -> Result<W, FormatError> {
        match self.0 {
            Writer::Csv(writer) => writer.finish(),
            Writer::Jsonl(writer) => writer.finish(),
            Writer::JsonlZstd(writer) => Ok(writer.finish()?.finish()?),
            Writer::Parquet(writer) => writer.finish(),
        }
    }
}

/// Reads the entities of a file, one after the other. After an error it returns no more entities.
pub struct EntityReader {
    reader: Box<dyn ReadEntities>,
    taken_bytes: Arc<AtomicU64>,
    ended: bool,
}

/// Counts the bytes read from a stream.
struct Counted<R> {
    input: R,
    taken_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.taken_bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl EntityReader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`FormatError::Io`], [`FormatError::File`].
    pub fn open(path: &Path, options: impl Into<ReadOptions>) -> Result<Self, FormatError> {
        let (file, options) = (File::open(path)?, options.into());
        match options.format {
            InputFormat::Parquet => Ok(Self::of(parquet::Reader::new(file)?, Arc::default())),
            _ => Self::of_stream(file, options),
        }
    }

    /// Reads a stream. Fails for Parquet, whose readers begin at the end of the file.
    ///
    /// # Errors
    /// [`FormatError::Io`], [`FormatError::File`].
    pub fn of_stream(
        input: impl Read + Send + 'static,
        options: impl Into<ReadOptions>,
    ) -> Result<Self, FormatError> {
        let ReadOptions { format, delimiter } = options.into();
        let taken_bytes = Arc::<AtomicU64>::default();
        let input = Counted {
            input,
            taken_bytes: Arc::clone(&taken_bytes),
        };
        let input: Box<dyn Read + Send> = if format.is_gzip() {
            Box::new(MultiGzDecoder::new(input))
        } else if format == InputFormat::JsonlZstd {
            Box::new(zstd::Decoder::new(input)?)
        } else {
            Box::new(input)
        };
        let buffered = |input| BufReader::with_capacity(BUFFER_BYTES, input);
        Ok(match format {
            InputFormat::Csv | InputFormat::CsvGzip => {
                Self::of(csv::Reader::new(input, delimiter)?, taken_bytes)
            }
            InputFormat::Json | InputFormat::JsonGzip => {
                Self::of(json::Reader::new(buffered(input)), taken_bytes)
            }
            InputFormat::Jsonl | InputFormat::JsonlGzip | InputFormat::JsonlZstd => {
                Self::of(jsonl::Reader::new(buffered(input)), taken_bytes)
            }
            InputFormat::Parquet => {
                let what = "Parquet cannot be read from a stream; give the path of a file";
                return Err(FormatError::File(what.to_owned()));
            }
        })
    }

    /// Reads the content of a file that is already in memory.
    ///
    /// # Errors
    /// [`FormatError::Io`], [`FormatError::File`].
    pub fn of_bytes(bytes: Bytes, options: impl Into<ReadOptions>) -> Result<Self, FormatError> {
        let options = options.into();
        match options.format {
            InputFormat::Parquet => Ok(Self::of(parquet::Reader::new(bytes)?, Arc::default())),
            _ => Self::of_stream(io::Cursor::new(bytes), options),
        }
    }

    fn of(reader: impl ReadEntities + 'static, taken_bytes: Arc<AtomicU64>) -> Self {
        Self {
            reader: Box::new(reader),
            taken_bytes,
            ended: false,
        }
    }

    /// The number of rows, if the file stores it.
    pub fn rows(&self) -> Option<u64> {
        self.reader.rows()
    }

    /// Bytes of the file read so far; 0 for Parquet, which is not read sequentially.
    pub fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }
}

impl Iterator for EntityReader {
    type Item = Result<Entity, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.reader.read().transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        read
    }
}

impl std::fmt::Debug for EntityReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntityReader")
    }
}
