//! The ordered key codec: one key space for all data, in which byte order equals the service's order.
//!
//! A key is a kind byte followed by fields. A text field is UTF-8 with the lead bytes EE and EF moved above F0..F4, so
//! that bytes sort as UTF-16 code units do (see `utf16`). In a text field, 00 is written as 01 01 and 01 as 01 02; a 00
//! ends the field. The last field of a key has no terminator. `docs/format/keys.md` describes the bytes.
//!
//! Each [`KeyKind`] declares which prefix of its keys a split must not divide. A new kind needs a constant and an entry
//! in the list of kinds; other kinds do not change.
//!
//! Invariants:
//! - the byte order of encoded keys is the order of their fields, compared one after the other, texts by UTF-16 code
//!   unit;
//! - a text field contains 00 only as its terminator, so no text can extend into the next field;
//! - a split key is the start of an *indivisible prefix*; for an entity, that prefix ends after the PartitionKey, for a
//!   message, after the queue.

mod kind;
mod queue_space;
mod reader;
mod table_space;
mod text;
mod writer;

pub use kind::{KeyKind, account_of, container_prefix, indivisible_prefix, partition_of_bound};
pub use queue_space::{MessagePosition, QueueId, QueueSpace};
pub use reader::KeyReader;
pub use table_space::TableSpace;
pub use writer::KeyWriter;

use thiserror::Error;

/// The id of a table: new at each creation, so that a table shares no rows with an earlier table of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);

/// A stored key that this version cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the stored key is malformed")]
pub struct KeyError;
