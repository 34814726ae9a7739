//! Events of a running transfer.

use serde::Serialize;
use std::path::Path;

/// An event of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Rows were read, from a table or a file.
    Read {
        /// How many.
        rows: u64,
        /// The size of the rows by the service's formula, in bytes.
        bytes: u64,
    },
    /// Rows were written, to a table or a file.
    Written {
        /// How many.
        rows: u64,
        /// The size of the rows by the service's formula, in bytes.
        bytes: u64,
    },
    /// Rows were skipped, because they exist.
    Skipped {
        /// How many.
        rows: u64,
    },
    /// A file was completely written or read.
    File {
        /// Its path.
        path: &'a Path,
        /// Its rows.
        rows: u64,
    },
    /// All rows of an export are fetched, so the columns are known; the conversion of the rows begins.
    Converting {
        /// Rows to write.
        rows: u64,
    },
    /// An earlier run has transferred these rows.
    Resumed {
        /// How many.
        rows: u64,
    },
    /// An import has determined its input.
    Input {
        /// The number of rows, if the files store it.
        rows: Option<u64>,
        /// Bytes of the files on disk.
        bytes: u64,
    },
    /// The position in the current file, if its number of rows is unknown.
    Position {
        /// Bytes of the file on disk.
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

/// Ignores events.
impl Observer for () {
    fn event(&self, _: &Event<'_>) {}
}

/// The counts of a transfer, without those of earlier runs that it resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Rows read.
    pub rows_read: u64,
    /// Rows written; in a dry run, rows that would be written.
    pub rows_written: u64,
    /// Rows skipped, because they exist.
    pub rows_skipped: u64,
    /// Size of the rows read by the service's formula, in bytes.
    pub bytes: u64,
    /// Write requests without retries; for an export, files.
    pub writes: u64,
}
