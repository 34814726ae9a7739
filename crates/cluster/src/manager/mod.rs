//! The partition manager: the one role that changes the partition map.
//!
//! ```text
//!  split: flush ─▶ record what is begun ─▶ follow the old range ─▶ derive and open two databases ─▶ copy what was written meanwhile
//!         ─▶ freeze ─▶ copy the rest ─▶ record the outcome ─▶ put them in the map ─▶ (later) close the old one, rewrite, remove it
//!            └──────── writes wait, reads go on ────────┘
//! ```
//!
//! Invariants:
//! - one change at a time, and a record of it in the [`MapStore`] before anything is made and before anything is served;
//! - new ranges take writes only after the record that names them is durable; until then the change is undone by whoever finds it;
//! - a database is removed only when its range is in no record's map and nobody reads its files.

mod catch_up;
mod change;
mod keep_heat;
mod recover;
mod snapshots;
mod split_key;
mod tend;
mod watch;

use crate::map::{Epoch, PartitionMap, Served};
use crate::map::{MapError, MapRecord, MapStore};
use crate::snapshot::SnapshotName;
use bytes::Bytes;
use parking_lot::Mutex;
use partita_engine::{ChangeError, EngineSet, OpenError};
use partita_range::{Bounds, Range, RangeId, RowMemory};
use partita_rt::Tasks;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

pub use change::{Merged, Split};
use snapshots::Readers;
pub use snapshots::{Listed, SNAPSHOTS_MAX, SnapshotError, Taken};
use watch::Watched;
pub use watch::{Load, rate};

/// Opens, splits and merges the ranges of a store. Used as `Arc<Manager>`.
pub struct Manager {
    map: Arc<PartitionMap>,
    store: Arc<dyn MapStore>,
    databases: Arc<dyn EngineSet>,
    memory: Arc<RowMemory>,
    tasks: Tasks,
    /// One permit: whoever changes the map.
    changing: Semaphore,
    /// The record as it was last stored.
    record: Mutex<MapRecord>,
    /// Ranges whose garbage was collected, and the newest file that had replaced others then: as long as it is the newest, and no
    /// pin was let go, nothing is left to do.
    collected: Mutex<HashMap<RangeId, Option<String>>>,
    watched: Mutex<Watched>,
    /// For each range, what says that nobody holds it any more.
    watchers: Mutex<HashMap<RangeId, oneshot::Receiver<Infallible>>>,
    readers: Mutex<Readers>,
    /// Snapshots, by their ids, that tending deletes once it can.
    to_delete: Mutex<BTreeMap<String, SnapshotName>>,
    /// In how many more rounds of tending pins are looked for that no snapshot names.
    stray_rounds: AtomicU32,
    /// Rounds of tending that there were.
    tend_rounds: AtomicU32,
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").finish_non_exhaustive()
    }
}

/// Why a manager did not open its ranges. Each needs a person.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// The map cannot be loaded or saved.
    #[error(transparent)]
    Map(#[from] MapError),
    /// There are databases of ranges but no map that says what they are.
    #[error("the partition map is missing")]
    MapMissing,
    /// The databases cannot be listed or removed.
    #[error(transparent)]
    EngineSet(#[from] ChangeError),
    /// A range does not open.
    #[error("range {range} does not open")]
    Open {
        /// Which one.
        range: RangeId,
        /// Why not.
        source: OpenError,
    },
}

/// Why ranges were not changed. Everything is as it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeRefused {
    /// There is no such range (any more).
    #[error("there is no range {0}")]
    NoSuchRange(RangeId),
    /// The two ranges are not neighbours, the left one first.
    #[error("range {0} does not end where range {1} begins")]
    NotNeighbours(RangeId, RangeId),
    /// The key does not lie inside the range, or within a partition that lies only in part behind it.
    #[error("the key does not lie between the partitions of range {0}")]
    KeyOutside(RangeId),
    /// Nothing in the range lies between two partitions: it has at most one.
    #[error("range {0} has no key to split at: it holds a single partition, or none")]
    NoSplitKey(RangeId),
    /// It keeps so many others from being removed that it has to rewrite their files first.
    #[error(
        "range {range} still keeps {kept} older databases from being removed; it is rewriting their files"
    )]
    Lineage {
        /// Which range.
        range: RangeId,
        /// How many others.
        kept: u64,
    },
    /// There are as many ranges as there may be.
    #[error("there are {RANGES_MAX} ranges already; merge some first")]
    TooManyRanges,
    /// It could not be done in time, or the store refused.
    #[error("the change failed and was undone: {0}")]
    Failed(Arc<str>),
}

/// A range keeps fewer others than this from being removed, or it may not be split or merged again: each is a database that cannot go.
pub const LINEAGE_MAX: u64 = 8;

/// No range is split while there are so many, whoever asks: each has buffers, files, a sketch of its heat and some tasks of its own, and
/// memory is bounded. Four times what the balancer makes unasked. A backup may bring more along, which can be merged.
pub const RANGES_MAX: usize = 256;

impl Manager {
    /// The map.
    #[must_use]
    pub fn map(&self) -> &Arc<PartitionMap> {
        &self.map
    }

    /// The databases.
    #[must_use]
    pub fn databases(&self) -> &Arc<dyn EngineSet> {
        &self.databases
    }

    /// Its background tasks, and those of whoever works with its ranges.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// What the ranges keep in memory of their rows.
    #[must_use]
    pub fn memory(&self) -> &Arc<RowMemory> {
        &self.memory
    }

    /// The map as it was last stored.
    #[must_use]
    pub fn record(&self) -> MapRecord {
        self.record.lock().clone()
    }

    fn served(&self, id: RangeId) -> Result<Served, ChangeRefused> {
        let ranges = self.map.ranges();
        let served = ranges.iter().find(|served| served.range.id() == id);
        served.cloned().ok_or(ChangeRefused::NoSuchRange(id))
    }

    /// Stores the record that follows the last one. Waits until it is known whether it was stored. Not cancel safe: a disk finishes
    /// what was begun, and every later version would be in the way of one that nobody here knows. So who changes the map does it in a
    /// task of [`Manager::tasks`], and has the turn.
    async fn save(&self, change: impl FnOnce(&mut MapRecord)) -> Result<MapRecord, MapError> {
        let mut next = self.record();
        change(&mut next);
        next.version += 1;
        store_record(&*self.store, &next).await?;
        *self.record.lock() = next.clone();
        Ok(next)
    }
}

/// How long to wait before a store that does not answer is asked again.
const STORE_PAUSE: Duration = Duration::from_millis(100);

/// Stores a record. An answer that was lost is not taken for a failure: what is stored decides.
async fn store_record(store: &dyn MapStore, record: &MapRecord) -> Result<(), MapError> {
    let Err(failed) = store.save(record).await else {
        return Ok(());
    };
    loop {
        match store.load().await {
            Ok(Some(found)) if found == *record => return Ok(()),
            Ok(_) => return Err(failed),
            Err(error @ MapError::Invalid { .. }) => return Err(error),
            Err(error) => tracing::warn!(%error, "the partition map cannot be read; trying again"),
        }
        tokio::time::sleep(STORE_PAUSE).await;
    }
}

/// Opens the database of a range and makes the range that serves it.
async fn open_range(
    databases: &dyn EngineSet,
    memory: &Arc<RowMemory>,
    (id, epoch, bounds): (RangeId, Epoch, Bounds),
    key_filter_complete: bool,
) -> Result<(Served, oneshot::Receiver<Infallible>), OpenError> {
    let engine = databases.open(id).await?;
    let (alive, gone) = oneshot::channel();
    let range = Range::new(id, bounds, engine, Arc::clone(memory))
        .with_key_filter_complete(key_filter_complete)
        .with_watcher(alive);
    let range = Arc::new(range);
    Ok((Served { epoch, range }, gone))
}

/// A key for logs: what is printable of it.
fn readable(key: &Bytes) -> String {
    key.escape_ascii().to_string()
}

#[cfg(test)]
mod tests;
