//! An engine in memory, for tests and throw-away servers.
//!
//! Rows are in a persistent map: a snapshot is a clone that shares all nodes, so a scan copies nothing and holds no
//! lock. The submitting thread applies its batches in order; nothing runs in the background.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use crate::health::HealthCell;
use crate::pipeline::{BATCH_BYTES_MAX, Intake, Queued, Room};
use crate::stats::CommitCounts;
use crate::{
    ChangeError, Collected, Engine, FileLayout, Health, KeyRange, Permit, ReadError, Refusal, Scan,
    ScanHint, WriteError,
};

mod engine_set;
mod faults;
mod pins;

pub use engine_set::MemoryEngineSet;
pub use faults::{Fault, Faults};

type Rows = OrdMap<Bytes, Bytes>;

/// The limit on bytes in flight. In memory a batch completes at once, so several are in flight only while completions
/// submit batches.
const IN_FLIGHT_BYTES_MAX: u32 = 64 << 20;

/// The maximum number of entries in a layout's `files_by_key`.
const LAYOUT_FILES_MAX: usize = 256;

/// An engine that keeps its rows in memory. Clones share the rows.
#[derive(Clone)]
pub struct MemoryEngine {
    core: Arc<Core>,
    room: Arc<Room>,
}

struct Core {
    rows: RwLock<Rows>,
    queue: Mutex<Queue>,
    health: HealthCell,
    counts: Arc<CommitCounts>,
    /// Read-locked while a batch is applied, write-locked while ranges are pinned.
    pin_lock: Arc<RwLock<()>>,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Queued>,
    /// Whether a thread is applying batches. That thread continues until the queue is empty, so that batches stay in
    /// order and completions do not nest.
    draining: bool,
    /// Until when batches wait, because the range is held for a pin.
    held: Option<Instant>,
}

impl Queue {
    fn is_held(&self) -> bool {
        self.held.is_some_and(|until| Instant::now() < until)
    }
}

impl Default for MemoryEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryEngine {
    /// An empty engine.
    pub fn new() -> Self {
        Self::of(Rows::new(), Arc::default(), Arc::default(), Arc::default())
    }

    /// An engine with these initial rows.
    fn of(
        rows: Rows,
        counts: Arc<CommitCounts>,
        pin_lock: Arc<RwLock<()>>,
        faults: Arc<Faults>,
    ) -> Self {
        Self {
            core: Arc::new(Core {
                rows: RwLock::new(rows),
                queue: Mutex::default(),
                health: HealthCell::default(),
                counts,
                pin_lock,
                faults,
            }),
            room: Arc::new(Room::new(IN_FLIGHT_BYTES_MAX, BATCH_BYTES_MAX)),
        }
    }

    /// The injected faults of this engine.
    #[cfg(any(test, feature = "conformance"))]
    pub fn faults(&self) -> &Faults {
        &self.core.faults
    }

    fn is_open(&self) -> bool {
        self.core.health.get() != Health::Closed
    }

    fn open_rows(&self) -> Result<Rows, ReadError> {
        if !self.is_open() {
            return Err(ReadError::Closed);
        }
        Ok(self.core.rows.read().clone())
    }
}

impl Intake for Core {
    fn take(&self, queued: Queued) {
        self.queue.lock().waiting.push_back(queued);
        self.drain();
    }
}

impl Core {
    /// Applies the waiting batches, unless another thread does or the range is held.
    fn drain(&self) {
        {
            let mut queue = self.queue.lock();
            if queue.is_held() || std::mem::replace(&mut queue.draining, true) {
                return;
            }
        }
        loop {
            let next = {
                let mut queue = self.queue.lock();
                let next = match queue.is_held() {
                    true => None,
                    false => queue.waiting.pop_front(),
                };
                queue.draining = next.is_some();
                next
            };
            let Some(queued) = next else { return };
            self.apply(queued);
        }
    }

    fn apply(&self, mut queued: Queued) {
        if let Some(refusal) = self.health.get().refusal() {
            self.counts.refused(1);
            return queued.answer(Err(refusal.into()));
        }
        let batch = std::mem::take(&mut queued.batch);
        let fault = self.faults.write(&batch);
        if let Some(fault) = fault.filter(|fault| !fault.is_done()) {
            return queued.answer(Err(fault.error()));
        }
        self.counts.group(1, batch.len(), batch.bytes());
        {
            let _not_pinning = self.pin_lock.read();
            let mut rows = self.rows.write();
            for write in batch.into_writes() {
                match write.value {
                    Some(value) => rows.insert(write.key, value),
                    None => rows.remove(&write.key),
                };
            }
        }
        queued.answer(fault.map_or(Ok(()), |fault| Err(fault.error())));
    }
}

#[async_trait]
impl Engine for MemoryEngine {
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError> {
        if let Some(refusal) = self.core.health.get().refusal() {
            return Err(refusal.into());
        }
        self.room.reserve(bytes, &self.core).await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        if !self.is_open() {
            return Err(ReadError::Closed);
        }
        Ok(self.core.rows.read().get(key).cloned())
    }

    async fn scan(&self, range: KeyRange, _hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        let rows = self.open_rows()?;
        let faults = Arc::clone(&self.core.faults);
        Ok(Box::new(MemoryScan::new(rows, range, faults)))
    }

    fn file_layout(&self) -> FileLayout {
        let rows = self.core.rows.read().clone();
        let every = rows.len() / LAYOUT_FILES_MAX + 1;
        let mut layout = FileLayout {
            files: 1,
            ..FileLayout::default()
        };
        for (at, (key, value)) in rows.iter().enumerate() {
            let bytes = (key.len() + value.len()) as u64;
            layout.bytes += bytes;
            if at % every == 0 {
                layout.files_by_key.push((key.clone(), 0));
            }
            if let Some((_, sum)) = layout.files_by_key.last_mut() {
                *sum += bytes;
            }
        }
        layout
    }

    fn health(&self) -> Health {
        self.core.health.get()
    }

    async fn flush(&self) -> Result<(), WriteError> {
        if !self.is_open() {
            return Err(Refusal::Closed.into());
        }
        Ok(())
    }

    /// Has no files.
    async fn await_flush_room(&self) -> Result<(), WriteError> {
        self.flush().await
    }

    /// No-op: engines share only memory, which is reference counted.
    async fn detach(&self) -> Result<(), ChangeError> {
        Ok(())
    }

    /// No-op: deleted rows take no memory.
    async fn reclaim(&self) -> Result<(), ChangeError> {
        Ok(())
    }

    async fn collect(&self) -> Result<Collected, ChangeError> {
        Ok(Collected::All)
    }

    /// No-op: there are no files to protect.
    async fn checkpoint(&self, _lifetime: Duration) -> Result<String, ChangeError> {
        if !self.is_open() {
            return Err(ChangeError::Unavailable);
        }
        Ok("memory".to_owned())
    }

    async fn close(&self) {
        self.core.health.set(Health::Closed);
        self.room.close();
    }
}

struct MemoryScan {
    rows: Rows,
    /// The range still to be read; `None` at the end.
    rest: Option<KeyRange>,
    faults: Arc<Faults>,
}

impl MemoryScan {
    fn new(rows: Rows, range: KeyRange, faults: Arc<Faults>) -> Self {
        let rest = (!range.is_empty()).then_some(range);
        Self { rows, rest, faults }
    }
}

#[async_trait]
impl Scan for MemoryScan {
    async fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<crate::Rows, ReadError> {
        let mut page = crate::Rows::default();
        let Some(range) = self.rest.take() else {
            return Ok(page);
        };
        if let Some(error) = self.faults.scan(&range) {
            return Err(error);
        }
        for (key, value) in self.rows.range((range.start.clone(), range.end.clone())) {
            page.push(key, value.clone());
            if page.len() >= rows_max || page.bytes() >= bytes_max {
                let rest = KeyRange {
                    start: Bound::Excluded(key.clone()),
                    end: range.end.clone(),
                };
                self.rest = (!rest.is_empty()).then_some(rest);
                break;
            }
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests;
