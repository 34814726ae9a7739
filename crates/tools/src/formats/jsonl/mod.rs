//! JSON lines: one entity per line, with the annotations of the protocol, so that every value keeps its type.
//!
//! Text and types are the protocol's ("Payload format for Table service operations"), written and read by `wire`. A
//! line holds PartitionKey, RowKey, Timestamp if it is known, and the properties in their order. Readers ignore other
//! names that begin with `odata.`, so the service's answers are valid files once they are split into lines.

mod reader;
mod writer;

pub(super) use reader::Reader;
pub(super) use writer::Writer;
