//! Watches.

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch::Receiver;

use super::super::{Change, Revision, Watch, WatchEvent};
use super::MemoryRegistry;

/// A watch of a registry in memory.
pub(super) struct MemoryWatch {
    registry: MemoryRegistry,
    newest: Receiver<u64>,
    prefix: String,
    from: Revision,
    losses: u64,
}

impl MemoryWatch {
    pub(super) fn new(
        registry: MemoryRegistry,
        prefix: String,
        from: Revision,
        losses: u64,
    ) -> Self {
        Self {
            newest: registry.shared.newest.subscribe(),
            registry,
            prefix,
            from,
            losses,
        }
    }

    /// The changes since `from`, or how long the next lease has to live.
    fn look(&mut self) -> Result<WatchEvent, Option<Duration>> {
        self.registry.end_leases();
        self.newest.mark_unchanged();
        let now = self.registry.shared.clock.boot();
        let store = self.registry.shared.store.lock();
        if store.losses != self.losses {
            return Ok(WatchEvent::Lost);
        }
        if store.compacted >= self.from.0 {
            return Ok(WatchEvent::Compacted);
        }
        let new = store.history.iter().filter(|(made, _)| *made >= self.from);
        let changes: Vec<Change> = new
            .flat_map(|(_, changes)| changes)
            .filter(|change| match change {
                Change::Put(entry) => entry.key.starts_with(&self.prefix),
                Change::Deleted(key) => key.starts_with(&self.prefix),
            })
            .cloned()
            .collect();
        let revision = Revision(store.revision);
        self.from = self.from.max(Revision(revision.0 + 1));
        if changes.is_empty() {
            let next = store.leases.values().map(|lease| lease.ends_at).min();
            return Err(next.map(|ends_at| ends_at.saturating_sub(now)));
        }
        Ok(WatchEvent::Changed(revision, changes))
    }
}

#[async_trait]
impl Watch for MemoryWatch {
    async fn next(&mut self) -> WatchEvent {
        loop {
            // A change between `look` and the wait is not missed: the receiver was marked before it looked.
            match self.look() {
                Ok(event) => return event,
                Err(next_end) => {
                    let ends = tokio::time::sleep(next_end.unwrap_or(Duration::from_secs(3600)));
                    tokio::select! {
                        _ = self.newest.changed() => {}
                        () = ends => {}
                    }
                }
            }
        }
    }
}
