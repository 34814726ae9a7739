//! Apache Parquet: one column for each property and type, in row groups, compressed with zstd.
//!
//! | type | column |
//! | --- | --- |
//! | String | `BYTE_ARRAY`, String |
//! | Binary | `BYTE_ARRAY` |
//! | Boolean, Int32, Int64, Double | `BOOLEAN`, `INT32`, `INT64`, `DOUBLE` |
//! | DateTime | `INT64`, Timestamp in microseconds of UTC; if a value is finer, a second column holds its last digit, as an `INT32` |
//! | Guid | `FIXED_LEN_BYTE_ARRAY(16)`, UUID |
//!
//! A DateTime has a resolution of 100 ns and a range from 1601 to 9999. Nanoseconds in 64 bits cover only 1677 to 2262,
//! and microseconds lack one digit. So the main column has microseconds, which every reader understands as a time, and
//! the last digit has a separate column, such as `When@100ns`.
//!
//! PartitionKey and RowKey are required. All other columns are optional: a row that lacks the property has a null. If a
//! property has several types, the first column has the property's name, and the others append `@` and their type:
//! `Age`, `Age@Edm.String`. Property names contain no `@`.
//!
//! The writer holds one row group in memory, the reader one page of each column.

mod columns;
mod layout;
mod reader;
mod types;
mod writer;

pub(super) use reader::Reader;
pub(super) use writer::Writer;

use super::FormatError;
use ::parquet::errors::ParquetError;

/// Suffix of the column with the last digit of a DateTime.
const DIGIT_SUFFIX: &str = "@100ns";

fn io_error(error: ParquetError) -> FormatError {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(io) => FormatError::Io(*io),
            Err(other) => FormatError::Io(std::io::Error::other(other)),
        },
        other => FormatError::Io(std::io::Error::other(other)),
    }
}
