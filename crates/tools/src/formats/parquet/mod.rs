//! Apache Parquet: a column for each property and type, in groups of rows, compressed with zstd.
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
//! and microseconds lack a digit. So the digit has a separate column, and every reader can use the main column as a
//! time. PartitionKey and RowKey are required, everything else is optional: a row that lacks the property has a null.
//! If a property has several types, the first keeps its name, and the others append an `@` and their type, which no
//! property name contains: `Age`, `Age@Edm.String`. The digit's column is `When@100ns`.
//!
//! The writer holds a group of rows in memory, the reader a page of each column.

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
