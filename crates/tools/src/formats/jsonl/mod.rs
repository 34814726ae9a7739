//! JSON lines: an entity a line, with the annotations of the protocol, so that every value keeps its type.
//!
//! Text and types are the protocol's ("Payload format for Table service operations"), written and read by `wire`. A line holds
//! PartitionKey, RowKey, Timestamp where it is known, and the properties in their order. Whatever else a line has that begins
//! with `odata.` is passed over: what the service answered, cut into lines, is such a file.

mod reader;
mod writer;

pub(super) use reader::Reader;
pub(super) use writer::Writer;
