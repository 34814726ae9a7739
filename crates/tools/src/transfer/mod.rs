//! Exports tables to files, imports files, copies tables, and compares tables.
//!
//! - [`export`]: writes a table's rows to a file, or to a directory of parts with a [`Manifest`].
//! - [`import`]: writes the rows of such files to a table.
//! - [`copy`]: writes the rows of a table to another table.
//! - [`Diff`]: the differences of two tables, row by row.
//!
//! Promises:
//! - memory is bounded, independent of the size of tables and files. It holds some pages, a row group of a part, and
//!   the running batches;
//! - a transfer can be stopped at any point, even by `kill -9`. Run again with `resume`, it gives the same result as an
//!   uninterrupted transfer. Its saved position is replaced atomically: of an export in the [`Manifest`], of an import
//!   or a copy in a progress file;
//! - a transfer that cannot begin leaves nothing: a table or a file is created only after the first rows were read;
//! - a write with an unknown outcome is repeated if the repetition is idempotent. Otherwise the rows are read back
//!   first;
//! - the checksum of an export's part is verified before any of its rows is imported.
//!
//! Rows come from a [`crate::scan::PageSource`] whose rows are entities. Writes go through a
//! [`partita_client::TableClient`], which retries them; this module repeats only writes with an unknown outcome.

mod atomic_file;
pub(crate) mod blocking;
mod copy;
mod error;
mod export;
mod import;
pub(crate) mod input_file;
mod manifest;
mod observer;
mod options;
mod part_file;
mod rows;
pub(crate) mod separate_parts;
mod state;
mod target_state;
mod upload;

pub use copy::copy;
pub use error::TransferError;
pub use export::{Destination, ExportOptions, count_rows, export, export_stream};
pub use import::{ImportOptions, import, import_stream};
pub use manifest::{ExportPart, MANIFEST_FILE, Manifest, Progress, Source};
pub use observer::{Counts, Event, Observer};
pub use options::WriteOptions;
pub(crate) use options::create_if_missing;
pub use partita_bulk::{
    Diff, DiffCounts, DiffError, Difference, Keys, Mode, PropertyDifference, TableSide, WriteError,
};
pub use rows::TableReader;
pub use target_state::TargetState;
