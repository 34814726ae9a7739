//! Apache Parquet: a column for each property and type, in groups of rows, compressed with zstd.
//!
//! | type | column |
//! | --- | --- |
//! | String | `BYTE_ARRAY`, String |
//! | Binary | `BYTE_ARRAY` |
//! | Boolean, Int32, Int64, Double | `BOOLEAN`, `INT32`, `INT64`, `DOUBLE` |
//! | DateTime | `INT64`, Timestamp in microseconds of UTC; where a value is finer, its last digit besides, as an `INT32` |
//! | Guid | `FIXED_LEN_BYTE_ARRAY(16)`, UUID |
//!
//! A DateTime has 100 ns from 1601 to 9999. Nanoseconds in 64 bits reach from 1677 to 2262 only, microseconds lack a digit: so it is
//! a column of its own, and what everybody reads is a time. PartitionKey and RowKey are required, everything else is optional: a row
//! that lacks the property has a null. Of a property with several types the first keeps its name, the others have theirs behind
//! an `@`, which no property's name has: `Age`, `Age@Edm.String`; the digit's column is `When@100ns`.
//!
//! The writer keeps a group of rows, the reader a page of each column.

mod columns;
mod layout;
mod reader;
mod types;
mod writer;

pub(super) use reader::Reader;
pub(super) use writer::Writer;

use super::FormatError;
use ::parquet::errors::ParquetError;

/// What stands behind a DateTime's column in the name of the one with its last digit.
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
