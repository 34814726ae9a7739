//! What can be seen of a transfer while it runs.

use partita_client::{AttemptEvent, Decision, RetryObserver};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Something has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Rows were read, from a table or a file.
    Read {
        /// How many.
        rows: u64,
        /// Their size by the service's formula, in bytes.
        bytes: u64,
    },
    /// Rows were written, to a table or a file.
    Written {
        /// How many.
        rows: u64,
        /// Their size by the service's formula, in bytes.
        bytes: u64,
    },
    /// Rows were passed over, because they are there.
    Skipped {
        /// How many.
        rows: u64,
    },
    /// A file is done: written whole, or all of it read.
    File {
        /// Which one.
        path: &'a Path,
        /// Its rows.
        rows: u64,
    },
    /// All rows of an export are fetched; now they are written with all columns, which are known at last.
    Converting {
        /// Rows to be written.
        rows: u64,
    },
    /// A run before has done so many rows, which are not done again.
    Resumed {
        /// How many.
        rows: u64,
    },
    /// An import has looked at what it is going to read.
    Input {
        /// Rows, where the files say so.
        rows: Option<u64>,
        /// Bytes of the files, as they are on the disk.
        bytes: u64,
    },
    /// So far has the file under way been read: only of a file that does not say how many rows it has.
    Position {
        /// Bytes of the file, as it is on the disk.
        bytes: u64,
    },
    /// From here on a resumed run would not do again what has been done.
    Saved,
    /// The client made an attempt, see [`Attempts`].
    Attempt {
        /// Bytes of the bodies, sent and received.
        bytes: (u64, u64),
        /// Whether it failed and is made again.
        retried: bool,
    },
}

/// Sees what happens, from any thread. It has to be quick; it must not block.
pub trait Observer: Send + Sync {
    /// Something has happened.
    fn event(&self, event: &Event<'_>);

    /// Whether the transfer shall stop where it can go on later. Asked for again and again: between pages, batches and files.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}

/// Hands a client's attempts to an observer: for [`partita_client::ClientOptions::observer`].
#[derive(Clone)]
pub struct Attempts(pub Arc<dyn Observer>);

impl RetryObserver for Attempts {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        let (sent, received) = event.bytes;
        self.0.event(&Event::Attempt {
            bytes: (sent as u64, received as u64),
            retried: matches!(event.decision, Decision::Retry { .. }),
        });
    }
}

impl fmt::Debug for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attempts")
    }
}

/// What a transfer came to. What was done before it was resumed is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Rows read.
    pub rows_read: u64,
    /// Rows written, or that a dry run would write.
    pub rows_written: u64,
    /// Rows passed over, because they are there.
    pub rows_skipped: u64,
    /// Size of the rows read by the service's formula, in bytes.
    pub bytes: u64,
    /// Writes: batches and single ones, without what the client repeats. Of an export, the files.
    pub writes: u64,
}
