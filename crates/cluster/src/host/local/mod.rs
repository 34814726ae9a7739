//! The host of this process.

mod catch_up;
mod change;
mod ownership;
mod permission;
mod report;
mod split_key;
mod take_over_times;
mod upkeep;

#[cfg(any(test, feature = "test-world"))]
pub(crate) use change::CREATE_MAX;
pub use ownership::HandOverError;
pub use permission::Permission;
pub use take_over_times::{TakeOverStep, TakeOverTimes};

use super::{ChangeFailed, Host, RangeAction, RangeChange, ReplacedReport, ServedFiles};
use crate::coordinator::Assignment;
use crate::error::{ChangeRefused, HostError};
use crate::map::{MapRecord, MapStore, PartitionMap, RangeSpec, Served};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use partita_engine::{ChangeError, Engine, EngineSet, OpenError, PinId, Pinned};
use partita_range::{Range, RangeId, RowMemory};
use partita_rt::Tasks;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// Serves its assigned ranges, in this process.
pub struct LocalHost {
    parts: LocalHostParts,
    map: Arc<PartitionMap>,
    /// For each range, the receiver of a signal that the range was dropped.
    released: Mutex<HashMap<RangeId, Released>>,
    /// Ranges whose garbage was collected, with the newest compacted file at that time, and whether there were no files.
    /// New garbage appears only with the next compaction or the release of a pin.
    collected: Mutex<HashMap<RangeId, (Option<String>, bool)>>,
    /// Last windows of ranges that were replaced since the last report.
    replaced: Mutex<Vec<ReplacedReport>>,
    /// Notified when the database of a replaced range was closed.
    closed: Arc<Notify>,
    /// Ranges that are being changed, frozen, taken over or handed over.
    busy: Mutex<BTreeSet<RangeId>>,
    take_over_times: TakeOverTimes,
}

/// The parts of a local host.
pub struct LocalHostParts {
    /// The databases of this process.
    pub engines: Arc<dyn EngineSet>,
    /// The cache that the ranges share.
    pub memory: Arc<RowMemory>,
    /// The store of the partition map, which decides changes.
    pub store: Arc<dyn MapStore>,
    /// Decides which ranges may be served here.
    pub permission: Permission,
    /// Called when a range was taken over, before its first request: rows of another process may have later times than
    /// those of this one.
    pub before_serving: Arc<dyn Fn(&RangeSpec) + Send + Sync>,
    /// Background tasks.
    pub tasks: Tasks,
}

/// Closed, without a value, when a range is dropped.
type Released = oneshot::Receiver<Infallible>;

/// An open range that is not in the map yet.
struct OpenRange {
    served: Served,
    released: Released,
}

/// Ranges that are being changed, frozen, taken over or handed over.
struct Busy<'h> {
    host: &'h LocalHost,
    ranges: Vec<RangeId>,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut busy = self.host.busy.lock();
        busy.retain(|range| !self.ranges.contains(range));
    }
}

impl LocalHost {
    /// A host without ranges.
    #[must_use]
    pub fn new(parts: LocalHostParts) -> Self {
        Self {
            parts,
            map: Arc::new(PartitionMap::default()),
            released: Mutex::default(),
            collected: Mutex::default(),
            replaced: Mutex::default(),
            closed: Arc::default(),
            busy: Mutex::default(),
            take_over_times: TakeOverTimes::default(),
        }
    }

    /// How long take-overs took.
    #[must_use]
    pub fn take_over_times(&self) -> &TakeOverTimes {
        &self.take_over_times
    }

    /// The served ranges.
    #[must_use]
    pub fn map(&self) -> &Arc<PartitionMap> {
        &self.map
    }

    /// The cache that the ranges share.
    #[must_use]
    pub fn memory(&self) -> &Arc<RowMemory> {
        &self.parts.memory
    }

    /// Waits until the database of a replaced range was closed. Returns once for all databases closed since the last
    /// wait. Cancel safe.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Marks ranges as being changed, frozen, taken over or handed over, until the guard is dropped. `None` if one of them is
    /// already.
    fn begin(&self, ranges: &[RangeId]) -> Option<Busy<'_>> {
        let mut busy = self.busy.lock();
        if ranges.iter().any(|range| busy.contains(range)) {
            return None;
        }
        busy.extend(ranges);
        let ranges = ranges.to_vec();
        Some(Busy { host: self, ranges })
    }

    /// The ranges that this host serves, or is about to serve.
    #[must_use]
    pub fn holds(&self) -> Vec<RangeId> {
        let ranges = self.map.ranges();
        let served = ranges.iter().map(|served| served.range.id());
        let mut holds: BTreeSet<RangeId> = served.collect();
        holds.extend(self.busy.lock().iter());
        holds.into_iter().collect()
    }

    /// Whether this process may decide for the cluster now: its lease is valid.
    pub(crate) fn may_decide(&self) -> bool {
        self.parts.permission.is_valid()
    }

    /// Finds a range that this host serves.
    fn range(&self, id: RangeId) -> Option<Arc<Range>> {
        Some(self.map.find(id)?.range)
    }

    fn served(&self, id: RangeId) -> Result<Arc<Range>, ChangeRefused> {
        self.range(id).ok_or(ChangeRefused::NoSuchRange(id))
    }

    /// Opens the database of a range, which replaces `old`, if these are ranges of this host.
    async fn open_range(
        &self,
        spec: &RangeSpec,
        old: &[Arc<Range>],
    ) -> Result<OpenRange, OpenError> {
        let engine = self.parts.engines.open(spec.id).await?;
        let replaced = old.iter().filter_map(|old| self.map.find(old.id()));
        let tenure = replaced.map(|old| old.tenure).max().unwrap_or_default();
        Ok(self.range_of(spec, engine, tenure, old))
    }

    /// A range over an open database.
    fn range_of(
        &self,
        spec: &RangeSpec,
        engine: Arc<dyn Engine>,
        tenure: u64,
        old: &[Arc<Range>],
    ) -> OpenRange {
        let (alive, released) = oneshot::channel();
        let memory = Arc::clone(&self.parts.memory);
        let range = Range::new(spec.id, spec.bounds.clone(), engine, memory)
            .continuing(old)
            .with_drop_signal(alive);
        let served = Served {
            epoch: spec.epoch,
            tenure,
            range: Arc::new(range),
        };
        OpenRange { served, released }
    }

    /// Replaces old ranges by new ranges in the map.
    fn serve(&self, old: &[Arc<Range>], new: Vec<OpenRange>) {
        let mut served = Vec::with_capacity(new.len());
        for range in new {
            let id = range.served.range.id();
            self.released.lock().insert(id, range.released);
            served.push(range.served);
        }
        self.map
            .replace(old, served)
            .expect("the ranges of a checked record do not overlap");
    }

    /// Closes the database of a replaced range once the range is dropped.
    fn retire(&self, old: Arc<Range>) {
        let engine = Arc::clone(old.engine());
        let released = self.released.lock().remove(&old.id());
        let (engines, closed) = (Arc::clone(&self.parts.engines), Arc::clone(&self.closed));
        let shutdown = self.parts.tasks.shutdown();
        self.keep_last_window(&old);
        drop(old);
        self.parts.tasks.spawn("retire a range", async move {
            if let Some(released) = released {
                tokio::select! {
                    // The range and its sender were dropped.
                    _ = released => {}
                    // Shutdown closes all databases anyway.
                    () = shutdown.requested() => return,
                }
            }
            engine.close().await;
            // Drops the WAL records of the database, which may have closed without a flush. They would pin the WAL
            // until its files are deleted.
            engines.drop_unknown().await;
            closed.notify_one();
        });
    }

    /// Fails while the range is changed or handed over, and keeps it from that: at its end, the range accepts writes
    /// again, which a change would lose. An earlier manager may still ask for one while a later one asks for the other.
    async fn freeze(&self, id: RangeId, time: Duration) -> Result<(), HostError> {
        let _busy = self.begin(&[id]).ok_or(HostError::Busy(id))?;
        let range = self.range(id).ok_or(HostError::NoSuchRange(id))?;
        // A range that does not freeze in time accepts writes again like the other ranges.
        let _ = tokio::time::timeout(time, async {
            range.freeze().await;
            std::future::pending::<()>().await;
        })
        .await;
        range.thaw();
        self.map.notify();
        Ok(())
    }
}

#[async_trait]
impl Host for LocalHost {
    async fn open(&self, assignments: Vec<Assignment>) -> Result<(), HostError> {
        let mut opened = Vec::with_capacity(assignments.len());
        for assignment in &assignments {
            let range = assignment.range.id;
            let open = self.open_range(&assignment.range, &[]).await;
            opened.push(open.map_err(|source| HostError::Open { range, source })?);
        }
        self.parts.engines.drop_unknown().await;
        for assignment in &assignments {
            if let Permission::Coordinator(coordinator) = &self.parts.permission {
                coordinator.activate(assignment).await?;
            }
        }
        self.serve(&[], opened);
        Ok(())
    }

    async fn close(&self) {
        self.parts.engines.close().await;
    }

    async fn survey(&self, ranges: &[RangeId]) -> Result<Vec<u64>, ChangeRefused> {
        let kept = |id: &RangeId| {
            let range = self.served(*id)?;
            Ok(range.engine().file_layout().kept)
        };
        ranges.iter().map(kept).collect()
    }

    async fn split_key(&self, range: RangeId) -> Result<Bytes, ChangeRefused> {
        let range = self.served(range)?;
        split_key::middle_of(&range).await
    }

    async fn change(
        &self,
        change: &RangeChange,
        decision: &MapRecord,
    ) -> Result<Duration, ChangeFailed> {
        self.make(change, decision).await
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        self.parts.engines.pin(ranges).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        let unpinned = self.parts.engines.unpin(range, pin).await;
        // So the next maintenance round collects garbage again, and deletes the files that only the pin needed.
        self.collected.lock().remove(&range);
        unpinned
    }

    async fn files(&self) -> Result<ServedFiles, ChangeError> {
        let mut files = Vec::new();
        // While this reference to the ranges exists, their databases stay open.
        for served in self.map.ranges().iter() {
            files.extend(self.parts.engines.files(served.range.id(), None).await?);
        }
        let silent = Vec::new();
        Ok(ServedFiles { files, silent })
    }

    async fn act(&self, range: RangeId, action: RangeAction) -> Result<(), HostError> {
        let range = self.range(range).ok_or(HostError::NoSuchRange(range))?;
        match action {
            RangeAction::Flush => range.engine().flush().await?,
            RangeAction::FlushMost => change::flush_most(&range).await?,
            RangeAction::Detach => range.engine().detach().await?,
            RangeAction::Collect => drop(range.engine().collect().await?),
            RangeAction::Freeze(time) => self.freeze(range.id(), time).await?,
        }
        Ok(())
    }

    async fn drop_unknown(&self) {
        self.parts.engines.drop_unknown().await;
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        self.parts.engines.removable(ranges).await
    }
}
