//! CSV with typed columns, as Azure Storage Explorer writes and reads them:
//!
//! ```text
//! PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type
//! people,1,2024-01-02T03:04:05.1234567Z,42,Edm.Int32,"O""Brien, Miles",Edm.String
//! people,2,2024-01-02T03:04:05.1234567Z,,,,Edm.String
//! ```
//!
//! Each property has a column for its values and one for their types, so a property can have several types. If a row
//! lacks the property, both cells are empty. An empty string has an empty value cell, but a type. Quotes and line ends
//! follow RFC 4180.

mod delimiter;
mod reader;
mod records;
mod source;
mod value;
mod writer;

pub(super) use reader::Reader;
pub use records::Records;
pub(super) use writer::Writer;

/// Suffix of a property's type column.
const TYPE_SUFFIX: &str = "@type";
