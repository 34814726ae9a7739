//! Tables to files and back, tables to tables, and what two tables differ in.
//!
//! - [`export`]: rows to a file, or to a directory of parts with a [`Manifest`].
//! - [`import`]: such files to a table; [`copy`]: another table's rows.
//! - [`Diff`]: what two tables differ in, row by row.
//!
//! Promises:
//! - memory is bounded, whatever the size of table and file: some pages, a part's group of rows, the batches under way;
//! - a transfer that is stopped anywhere, also by `kill -9`, and run again with `resume`, ends as one that was not stopped. What it
//!   keeps for that is written whole or not at all ([`Manifest`], state file);
//! - a write whose outcome is unknown is repeated where that changes nothing, and told apart by reading back where it would;
//! - a file that is not what it was when it was written is refused by its checksum, before any of its rows is written.
//!
//! Rows come from a [`crate::scan::PageSource`] whose rows can become entities ([`IntoEntity`]). Writes go through a
//! [`partita_client::TableClient`], and its retries are all there are, but for the repetition of unknown outcomes.

mod atomic_file;
mod blocking;
mod copy;
mod diff;
mod error;
mod export;
mod import;
mod manifest;
mod observer;
mod options;
mod part_file;
mod rows;
pub(crate) mod size;
mod source;
mod state;
mod upload;

pub use copy::{CopyOptions, copy};
pub use diff::{Diff, DiffCounts, Difference, PropertyDifference, differences};
pub use error::TransferError;
pub use export::{Destination, ExportOptions, export, export_stream};
pub use import::{ImportOptions, import, import_stream};
pub use manifest::{ExportPart, Keys, MANIFEST_FILE, MANIFEST_VERSION, Manifest, Progress, Source};
pub use observer::{Attempts, Counts, Event, Observer, Silent};
pub use options::{Mode, WriteOptions};
pub use rows::{IntoEntity, TableReader};
pub use source::TableSource;
pub(crate) use upload::{BATCH_BYTES_MAX, Writer};
