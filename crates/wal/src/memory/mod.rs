//! A WAL in an object that outlives it, for tests that crash and restart the crates above.
//!
//! [`MemoryStorage`] simulates the disk. Dropping a [`Wal`], or the engine above it, simulates a crash: appended groups
//! stay in the storage, an unfinished group is lost. Reopening the WAL fences the previous one, so a writer that
//! survived the crash cannot append. (With a local WAL, the directory lock and poisoning ensure this.)
//! Tests can make an append fail, or fill the storage. Records are encoded as in segments, so this WAL refuses the same
//! rows as a local one.

mod memory_wal;

use std::collections::VecDeque;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use memory_wal::MemoryWal;

use crate::retention::{Contents, Limits, Retained};
use crate::{AppendFault, OpenWalError, Record, Resume, Wal, WalStorage};

/// How long the WAL may become.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The size after which records go to the next segment. Retention works on whole segments.
    pub segment_bytes: u64,
    /// A range is due for a flush when it pins this many full segments.
    pub flush_after_segments: u64,
    /// Groups are refused while this many segments hold unflushed records.
    pub live_segments_max: u64,
}

impl Default for Options {
    /// The limits of a local WAL.
    fn default() -> Self {
        let local = crate::local::Options::default();
        Self {
            segment_bytes: local.segment_bytes,
            flush_after_segments: local.flush_after_segments,
            live_segments_max: local.live_segments_max,
        }
    }
}

impl Options {
    fn limits(&self) -> Limits {
        Limits::new(
            self.segment_bytes,
            self.flush_after_segments,
            self.live_segments_max,
        )
    }
}

/// The storage that survives a simulated crash. Clones share it.
#[derive(Clone)]
pub struct MemoryStorage {
    options: Options,
    kept: Arc<Mutex<Kept>>,
}

/// The content of the storage, and its faults.
#[derive(Default)]
struct Kept {
    /// How often the WAL was opened. Only the most recently opened WAL may append.
    life: u64,
    /// The segments, oldest first. The last one is open for writing.
    segments: VecDeque<Segment>,
    next_fault: Option<AppendFault>,
    full: bool,
    /// Bytes of all records that were appended.
    written_bytes: u64,
}

/// A sequence of groups that are kept or released together.
struct Segment {
    records: Vec<Record>,
    contents: Contents,
    /// Bytes of the records.
    used_bytes: u64,
    /// The size that counts towards the limits: larger than [`Options::segment_bytes`] only for a longer group.
    bytes: u64,
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl MemoryStorage {
    /// An empty storage.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            kept: Arc::default(),
        }
    }

    /// Makes the next append of a group fail.
    pub fn fail_next_append(&self, fault: AppendFault) {
        self.kept.lock().next_fault = Some(fault);
    }

    /// With `true`, reserving space for groups fails until the next call with `false`.
    pub fn set_full(&self, full: bool) {
        self.kept.lock().full = full;
    }
}

impl WalStorage for MemoryStorage {
    fn open(&self, _resume: Resume) -> BoxFuture<'_, Result<Arc<dyn Wal>, OpenWalError>> {
        let opened = MemoryWal::open(self.options, Arc::clone(&self.kept));
        std::future::ready(Ok(Arc::new(opened) as Arc<dyn Wal>)).boxed()
    }

    fn written_bytes(&self) -> u64 {
        self.kept.lock().written_bytes
    }
}

impl Segment {
    fn new(bytes: u64) -> Self {
        Self {
            records: Vec::new(),
            contents: Contents::default(),
            used_bytes: 0,
            bytes,
        }
    }

    fn free_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.used_bytes)
    }

    fn add(&mut self, record: Record) {
        self.contents.add(record.header.range, record.header.wal_id);
        self.used_bytes += record.bytes() as u64;
        self.records.push(record);
    }
}

impl Retained for Segment {
    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
