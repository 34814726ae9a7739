//! Databases in memory: a derived one is a piece of the same persistent map.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::{MemoryEngine, Rows};
use crate::stats::CommitCounts;
use crate::{ChangeError, Databases, Engine, Health, OpenError, Piece, RangeId, Removal, Stats};

/// Databases that keep their rows in memory.
#[derive(Default)]
pub struct MemoryDatabases {
    /// All that were ever opened or derived; a closed one keeps its rows.
    ranges: Mutex<BTreeMap<RangeId, MemoryEngine>>,
    counts: Arc<CommitCounts>,
    closed: AtomicBool,
}

impl MemoryDatabases {
    /// No databases yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As after a kill and a restart of the process: nothing is open, and all acknowledged rows are there.
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

    /// An engine that holds `rows` and is not open.
    fn at_rest(&self, rows: Rows) -> MemoryEngine {
        let engine = MemoryEngine::of(rows, Arc::clone(&self.counts));
        engine.core.health.set(Health::Closed);
        engine
    }
}

#[async_trait]
impl Databases for MemoryDatabases {
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        if self.is_closed() {
            return Err(OpenError::Unavailable);
        }
        let mut ranges = self.ranges.lock();
        let rows = match ranges.get(&range) {
            Some(open) if open.health() != Health::Closed => {
                return Err(OpenError::AlreadyOpen(range));
            }
            Some(rested) => rested.core.rows.read().clone(),
            None => Rows::new(),
        };
        let engine = MemoryEngine::of(rows, Arc::clone(&self.counts));
        ranges.insert(range, engine.clone());
        Ok(Arc::new(engine))
    }

    async fn forget_others(&self) {}

    async fn derive(&self, target: RangeId, pieces: &[Piece]) -> Result<(), ChangeError> {
        if self.is_closed() {
            return Err(ChangeError::Unavailable);
        }
        let mut ranges = self.ranges.lock();
        let is_open = |engine: &MemoryEngine| engine.health() != Health::Closed;
        if pieces.is_empty() || ranges.get(&target).is_some_and(is_open) {
            return Err(ChangeError::State(target));
        }
        let mut rows = Rows::new();
        for piece in pieces {
            let source = ranges.get(&piece.source).filter(|engine| is_open(engine));
            let source = source.ok_or(ChangeError::State(piece.source))?;
            if !piece.range.is_empty() {
                let bounds = (piece.range.start.clone(), piece.range.end.clone());
                let found = source.core.rows.read().clone();
                rows.extend(
                    found
                        .range(bounds)
                        .map(|(key, row)| (key.clone(), row.clone())),
                );
            }
        }
        let target_engine = self.at_rest(rows);
        ranges.insert(target, target_engine);
        Ok(())
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        let mut ranges = self.ranges.lock();
        let open = ranges
            .get(&range)
            .map(|engine| engine.health() != Health::Closed);
        if open == Some(true) {
            return Err(ChangeError::State(range));
        }
        ranges.remove(&range);
        Ok(Removal::Gone)
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        Ok(self.ranges.lock().keys().copied().collect())
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
