//! Events of a running transfer.

use serde::Serialize;
use std::path::Path;

/// An event of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Rows were read, from a table or a file.
    Read {
        /// Number of rows.
        rows: u64,
        /// The size of the rows by the service's formula, in bytes.
        bytes: u64,
    },
    /// Rows were written, to a table or a file.
    Written {
        /// Number of rows.
        rows: u64,
        /// The size of the rows by the service's formula, in bytes.
        bytes: u64,
    },
    /// Rows were skipped, because they already exist in the table.
    Skipped {
        /// Number of rows.
        rows: u64,
    },
    /// A file was completely written or read.
    File {
        /// The path of the file.
        path: &'a Path,
        /// Number of rows in the file.
        rows: u64,
    },
    /// All rows of an export are fetched, so the columns are known; the conversion of the rows begins.
    Converting {
        /// Number of rows to convert.
        rows: u64,
    },
    /// The transfer resumes after rows that an earlier run has transferred.
    Resumed {
        /// Number of these rows.
        rows: u64,
    },
    /// An import has determined its input.
    Input {
        /// The number of rows, if the files store it.
        rows: Option<u64>,
        /// Size of the files, in bytes.
        bytes: u64,
    },
    /// The position in the current file. Sent only if the number of its rows is unknown.
    Position {
        /// Bytes of the file that were read.
        bytes: u64,
    },
    /// The position was saved: a resumed run continues from here.
    Saved,
}

/// Receives the events of a transfer, on any thread. It must not block.
pub trait Observer: Send + Sync {
    /// Called for each event.
    fn event(&self, event: &Event<'_>);

    /// Whether the transfer should stop at the next point from which it can resume. Called between pages, batches and
    /// files.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Ignores all events.
impl Observer for () {
    fn event(&self, _: &Event<'_>) {}
}

/// The counts of a transfer. A resumed transfer does not include the counts of earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Rows read.
    pub rows_read: u64,
    /// Rows written; in a dry run, rows that would be written.
    pub rows_written: u64,
    /// Rows skipped, because they already exist in the table.
    pub rows_skipped: u64,
    /// In a dry run, the written rows that already exist in the table.
    pub rows_changed: u64,
    /// Size of the rows read, in bytes, by the service's formula.
    pub bytes: u64,
    /// Number of write requests, without retries; of an export, the number of files.
    pub writes: u64,
}
