//! The ranges that no living server serves, and since when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use partita_coordinator::{RangeRecord, RangeState, Routes, Stored, Table};
use partita_rt::{Clock, Tasks};

/// Since when this process has seen each range without a living server.
#[derive(Debug, Default)]
pub(crate) struct Unowned(Mutex<BTreeMap<u64, Instant>>);

impl Unowned {
    /// Follows the map until the shutdown of `tasks`.
    pub(crate) fn follow(routes: Routes, clock: Arc<dyn Clock>, tasks: &Tasks) -> Arc<Self> {
        let unowned = Arc::new(Self::default());
        let (following, shutdown) = (Arc::clone(&unowned), tasks.shutdown());
        tasks.spawn("watch ranges without a server", async move {
            loop {
                // Before the look at the map, so that no change is missed.
                let changed = routes.changed();
                following.note(&routes.current(), clock.monotonic());
                tokio::select! {
                    () = changed => {}
                    () = shutdown.requested() => return,
                }
            }
        });
        unowned
    }

    /// The ranges without a living server at this time, by id, each with the time since it has none.
    pub(crate) fn list(&self, table: &Table, now: Instant) -> Vec<(u64, Duration)> {
        self.note(table, now);
        let unowned = self.0.lock();
        let times = unowned
            .iter()
            .map(|(range, since)| (*range, now.saturating_duration_since(*since)));
        times.collect()
    }

    fn note(&self, table: &Table, now: Instant) {
        let ranges = table.ranges().iter();
        let ranges = ranges.filter(|(_, key)| !is_served(table, key));
        let mut unowned = self.0.lock();
        let before = std::mem::take(&mut *unowned);
        let since = |range: &u64| before.get(range).copied().unwrap_or(now);
        *unowned = ranges
            .map(|(range, _)| (range.0, since(&range.0)))
            .collect();
    }
}

fn is_served(table: &Table, key: &Stored<RangeRecord>) -> bool {
    match &key.record.state {
        RangeState::Serving { owner, .. } => table.is_alive(&owner.name, owner.life),
        RangeState::Opening { .. } | RangeState::Released => false,
    }
}
