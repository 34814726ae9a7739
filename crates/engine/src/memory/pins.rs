//! The pins of an engine set in memory, and the ranges that are held before a pin.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use super::{MemoryEngine, Rows};
use crate::{ChangeError, HeldRanges, PinId, Pinned, RangeId};

/// The pins of a set.
#[derive(Default)]
pub(super) struct Pins {
    pub(super) rows: Mutex<BTreeMap<(RangeId, PinId), Rows>>,
    made: AtomicU64,
    /// Read-locked while a batch is applied, write-locked while ranges are pinned.
    pub(super) lock: Arc<RwLock<()>>,
}

impl Pins {
    /// Pins these ranges at one point between two batches.
    pub(super) fn pin(&self, engines: &[(RangeId, MemoryEngine)]) -> Pinned {
        let began = Instant::now();
        let pinned: Vec<(RangeId, Rows)> = {
            let _pinning = self.lock.write();
            let rows = engines
                .iter()
                .map(|(range, engine)| (*range, engine.core.rows.read().clone()));
            rows.collect()
        };
        let pause = began.elapsed();
        let mut kept = self.rows.lock();
        let pins = pinned.into_iter().map(|(range, rows)| {
            let made = self.made.fetch_add(1, Ordering::Relaxed);
            let pin = PinId::new(&made.to_string());
            kept.insert((range, pin.clone()), rows);
            pin
        });
        let pins = pins.collect();
        Pinned { pins, pause }
    }

    /// Makes the batches of these ranges wait. Those of other ranges do not: one set stands for the shared store of
    /// several processes in tests.
    pub(super) fn hold(
        self: &Arc<Self>,
        engines: Vec<(RangeId, MemoryEngine)>,
        limit: Duration,
    ) -> Held {
        let began = Instant::now();
        let until = began + limit;
        for (_, engine) in &engines {
            engine.core.queue.lock().held = Some(until);
        }
        let pins = Arc::clone(self);
        Held {
            pins,
            engines,
            began,
            until,
        }
    }
}

/// Ranges whose batches wait.
pub(super) struct Held {
    pins: Arc<Pins>,
    engines: Vec<(RangeId, MemoryEngine)>,
    began: Instant,
    until: Instant,
}

#[async_trait]
impl HeldRanges for Held {
    async fn pin(self: Box<Self>) -> Result<Pinned, ChangeError> {
        for (range, engine) in &self.engines {
            if !engine.is_open() {
                return Err(ChangeError::State(*range));
            }
        }
        let pinned = self.pins.pin(&self.engines);
        let pause = self.began.elapsed();
        if Instant::now() < self.until {
            return Ok(Pinned { pause, ..pinned });
        }
        let mut rows = self.pins.rows.lock();
        for ((range, _), pin) in self.engines.iter().zip(pinned.pins) {
            rows.remove(&(*range, pin));
        }
        Err(ChangeError::HoldEnded)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for (_, engine) in &self.engines {
            let mut queue = engine.core.queue.lock();
            // A later hold is not ended.
            if queue.held == Some(self.until) {
                queue.held = None;
            }
            drop(queue);
            engine.core.drain();
        }
    }
}
