//! The engine set in memory: a clone is a part of the same persistent map.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::pins::Pins;
use super::{Faults, MemoryEngine, MemoryScan, Rows};
use crate::stats::CommitCounts;
use crate::{
    ChangeError, Engine, EngineSet, FileUse, Health, HeldRanges, KeyPart, KeyRange, LogNumber,
    OpenError, PinId, Pinned, PinnedRows, RangeId, ReadError, Removal, Scan, ScanHint, Stats,
    StoredDatabase, StoredFiles, StoredRanges,
};

/// Engines that keep their rows in memory.
#[derive(Default)]
pub struct MemoryEngineSet {
    /// All ranges that were opened or cloned and not removed; a closed range keeps its rows.
    ranges: Mutex<BTreeMap<RangeId, MemoryEngine>>,
    counts: Arc<CommitCounts>,
    closed: AtomicBool,
    pins: Arc<Pins>,
    faults: Arc<Faults>,
}

impl MemoryEngineSet {
    /// A set without ranges.
    pub fn new() -> Self {
        Self::default()
    }

    /// The injected faults of all engines of the set.
    #[cfg(any(test, feature = "conformance"))]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Closes all ranges, like a restart of the process. Keeps their acknowledged rows.
    #[cfg(any(test, feature = "conformance"))]
    pub async fn restart(&self) {
        let open: Vec<MemoryEngine> = self.ranges.lock().values().cloned().collect();
        for engine in open {
            engine.close().await;
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn engine(&self, rows: Rows) -> MemoryEngine {
        let (counts, pin_lock) = (Arc::clone(&self.counts), Arc::clone(&self.pins.lock));
        MemoryEngine::of(rows, counts, pin_lock, Arc::clone(&self.faults))
    }

    /// The engines of open ranges.
    fn opened(&self, ranges: &[RangeId]) -> Result<Vec<(RangeId, MemoryEngine)>, ChangeError> {
        if self.is_closed() {
            return Err(ChangeError::Unavailable);
        }
        let known = self.ranges.lock();
        let opened = ranges.iter().map(|range| {
            let open = known.get(range).filter(|engine| engine.is_open());
            let open = open.ok_or(ChangeError::State(*range))?;
            Ok((*range, open.clone()))
        });
        opened.collect()
    }

    /// An engine that holds `rows` and is closed.
    fn closed_engine(&self, rows: Rows) -> MemoryEngine {
        let engine = self.engine(rows);
        engine.core.health.set(Health::Closed);
        engine
    }
}

#[async_trait]
impl EngineSet for MemoryEngineSet {
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        if self.is_closed() {
            return Err(OpenError::Unavailable);
        }
        let mut ranges = self.ranges.lock();
        let rows = match ranges.get(&range) {
            Some(open) if open.is_open() => return Err(OpenError::AlreadyOpen(range)),
            Some(closed) => closed.core.rows.read().clone(),
            None => Rows::new(),
        };
        let engine = self.engine(rows);
        ranges.insert(range, engine.clone());
        Ok(Arc::new(engine))
    }

    /// The range has no other owner: opens it.
    async fn take_over(
        &self,
        range: RangeId,
        _logs: &[LogNumber],
        is_assigned: BoxFuture<'_, bool>,
    ) -> Result<Arc<dyn Engine>, OpenError> {
        match is_assigned.await {
            true => self.open(range).await,
            false => Err(OpenError::NotAssigned(range)),
        }
    }

    async fn hand_over(&self, range: RangeId) -> Result<(), ChangeError> {
        let open = self.ranges.lock().get(&range).cloned();
        open.ok_or(ChangeError::State(range))?.close().await;
        Ok(())
    }

    async fn drop_unknown(&self) {}

    async fn clone_parts(&self, target: RangeId, parts: &[KeyPart]) -> Result<(), ChangeError> {
        if self.is_closed() {
            return Err(ChangeError::Unavailable);
        }
        let mut ranges = self.ranges.lock();
        if parts.is_empty() || ranges.get(&target).is_some_and(MemoryEngine::is_open) {
            return Err(ChangeError::State(target));
        }
        let mut rows = Rows::new();
        for part in parts {
            let source = ranges.get(&part.source).filter(|source| source.is_open());
            let source = source.ok_or(ChangeError::State(part.source))?;
            if !part.range.is_empty() {
                let bounds = (part.range.start.clone(), part.range.end.clone());
                let found = source.core.rows.read().clone();
                rows.extend(
                    found
                        .range(bounds)
                        .map(|(key, row)| (key.clone(), row.clone())),
                );
            }
        }
        let target_engine = self.closed_engine(rows);
        ranges.insert(target, target_engine);
        Ok(())
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        let mut ranges = self.ranges.lock();
        if ranges.get(&range).is_some_and(MemoryEngine::is_open) {
            return Err(ChangeError::State(range));
        }
        if self
            .pins
            .rows
            .lock()
            .keys()
            .any(|(pinned, _)| *pinned == range)
        {
            return Ok(Removal::Needed);
        }
        ranges.remove(&range);
        Ok(Removal::Gone)
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        let (there, pins) = (self.ranges.lock(), self.pins.rows.lock());
        let is_open = |id: &RangeId| there.get(id).is_some_and(MemoryEngine::is_open);
        let is_pinned = |id: &RangeId| pins.keys().any(|(pinned, _)| pinned == id);
        let free = ranges.iter().copied();
        Ok(free.filter(|id| !is_open(id) && !is_pinned(id)).collect())
    }

    /// Does nothing: the rows of a removed range are deleted at once.
    async fn sweep_trash(&self) -> Result<(), ChangeError> {
        Ok(())
    }

    async fn stored(&self) -> Result<StoredRanges, ChangeError> {
        let ranges = self.ranges.lock();
        let databases = ranges.iter().map(|(range, engine)| {
            let rows = engine.core.rows.read().clone();
            let keys = rows.get_min().zip(rows.get_max());
            let keys = keys.map(|((first, _), (last, _))| KeyRange {
                start: Bound::Included(first.clone()),
                end: Bound::Included(last.clone()),
            });
            StoredDatabase {
                range: *range,
                files: StoredFiles::Keys(keys.into_iter().collect()),
            }
        });
        Ok(StoredRanges {
            databases: databases.collect(),
            ..StoredRanges::default()
        })
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        Ok(self.ranges.lock().keys().copied().collect())
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        Ok(self.pins.pin(&self.opened(ranges)?))
    }

    async fn hold(
        &self,
        ranges: &[RangeId],
        limit: Duration,
    ) -> Result<Box<dyn HeldRanges>, ChangeError> {
        Ok(Box::new(self.pins.hold(self.opened(ranges)?, limit)))
    }

    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
        let pins = self.pins.rows.lock();
        let of_range = pins.keys().filter(|(pinned, _)| *pinned == range);
        Ok(of_range.map(|(_, pin)| pin.clone()).collect())
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.pins.rows.lock().remove(&(range, pin.clone()));
        Ok(())
    }

    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError> {
        let pins = self.pins.rows.lock();
        let rows = pins.get(&(range, pin.clone()));
        let rows = rows.ok_or(ChangeError::NotPinned(range))?.clone();
        let faults = Arc::clone(&self.faults);
        Ok(Arc::new(MemoryPin { rows, faults }))
    }

    async fn files(
        &self,
        range: RangeId,
        pin: Option<&PinId>,
    ) -> Result<Vec<FileUse>, ChangeError> {
        match pin {
            Some(pin) if !self.pins.rows.lock().contains_key(&(range, pin.clone())) => {
                Err(ChangeError::NotPinned(range))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns 1970: the rows end with the process, and the callers' own times never go back within a process.
    fn newest_row_time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn wall_clock_lag(&self) -> Duration {
        Duration::ZERO
    }

    fn stats(&self) -> Stats {
        self.counts.read(self.health())
    }

    fn health(&self) -> Health {
        if self.is_closed() {
            Health::Closed
        } else {
            Health::Healthy
        }
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let open: Vec<MemoryEngine> = self.ranges.lock().values().cloned().collect();
        for engine in open {
            engine.close().await;
        }
    }
}

/// The rows of a pin.
struct MemoryPin {
    rows: Rows,
    faults: Arc<Faults>,
}

#[async_trait]
impl PinnedRows for MemoryPin {
    async fn scan(&self, range: KeyRange, _hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        let faults = Arc::clone(&self.faults);
        Ok(Box::new(MemoryScan::new(self.rows.clone(), range, faults)))
    }
}
