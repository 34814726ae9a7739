//! [`Format`], in which files are written, and [`InputFormat`] and [`ReadOptions`], with which they are read. More
//! formats can be read than are written.

use partita_bulk::named_enum;
use serde::{Deserialize, Serialize};
use std::path::Path;

named_enum! {
    /// The format in which a file of rows is written. Its name is the extension of such files.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Format {
        /// Columns with their types, as Azure Storage Explorer writes and reads them.
        Csv = "csv",
        /// JSON lines: one entity per line, in the JSON of the protocol.
        Jsonl = "jsonl",
        /// JSON lines, compressed with zstd.
        #[serde(rename = "jsonl.zst")]
        JsonlZstd = "jsonl.zst",
        /// Apache Parquet, compressed with zstd.
        Parquet = "parquet",
    }
}

impl Format {
    /// The format by the extension of a file's name; `None` for an unknown extension.
    pub fn of_path(path: &Path) -> Option<Self> {
        let found = InputFormat::of_path(path)?;
        let is = |format: &Self| InputFormat::from(*format) == found;
        Self::ALL.into_iter().find(is)
    }

    /// Whether a file of this format has columns, which must be known before the first row is written.
    pub const fn has_columns(self) -> bool {
        match self {
            Self::Csv | Self::Parquet => true,
            Self::Jsonl | Self::JsonlZstd => false,
        }
    }
}

named_enum! {
    /// The format of a file to read. Its name is the extension of such files.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum InputFormat {
        /// As [`Format::Csv`].
        Csv = "csv",
        /// CSV, compressed with gzip.
        #[serde(rename = "csv.gz")]
        CsvGzip = "csv.gz",
        /// An array of entities, or entities one after the other, in the JSON of the protocol.
        Json = "json",
        /// The same, compressed with gzip.
        #[serde(rename = "json.gz")]
        JsonGzip = "json.gz",
        /// As [`Format::Jsonl`].
        Jsonl = "jsonl",
        /// JSON lines, compressed with gzip.
        #[serde(rename = "jsonl.gz")]
        JsonlGzip = "jsonl.gz",
        /// As [`Format::JsonlZstd`].
        #[serde(rename = "jsonl.zst")]
        JsonlZstd = "jsonl.zst",
        /// As [`Format::Parquet`].
        Parquet = "parquet",
    }
}

impl InputFormat {
    /// The format by the extension of a file's name; `None` for an unknown extension.
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let is = |format: &Self| name.ends_with(&format!(".{}", format.name()));
        Self::ALL.into_iter().find(is)
    }

    /// Whether the columns of the file are separated by a delimiter.
    pub const fn has_delimiter(self) -> bool {
        matches!(self, Self::Csv | Self::CsvGzip)
    }

    /// Whether the file is compressed with gzip.
    pub(super) const fn is_gzip(self) -> bool {
        matches!(self, Self::CsvGzip | Self::JsonGzip | Self::JsonlGzip)
    }
}

impl From<Format> for InputFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Csv => Self::Csv,
            Format::Jsonl => Self::Jsonl,
            Format::JsonlZstd => Self::JsonlZstd,
            Format::Parquet => Self::Parquet,
        }
    }
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of the file.
    pub format: InputFormat,
    /// The byte between the columns of a CSV file; `None` to take it from the first line: a comma, a semicolon, a tab
    /// or a vertical bar. Ignored for other formats.
    pub delimiter: Option<u8>,
}

impl<F: Into<InputFormat>> From<F> for ReadOptions {
    fn from(format: F) -> Self {
        Self {
            format: format.into(),
            delimiter: None,
        }
    }
}
