//! JSON lines: one entity per line, with the protocol's type annotations (`@odata.type`), so that every value keeps its
//! type.
//!
//! `partita-wire` reads and writes the lines in the protocol's JSON ("Payload format for Table service operations"). A
//! line contains PartitionKey, RowKey, the Timestamp if it is known, and the properties in their order. Readers ignore
//! other names that begin with `odata.`, so a file may also contain the entities of the service's answers, one per
//! line.

mod reader;
mod writer;

pub(super) use reader::Reader;
pub(super) use writer::Writer;
