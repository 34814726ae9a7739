//! Opening the ranges of a store, and undoing a change that was cut short.

use super::{Manager, ManagerError, open_range, store_record};
use crate::map::PartitionMap;
use crate::map::{MapRecord, MapStore};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use partita_engine::{EngineSet, Removal};
use partita_range::{RangeId, RowMemory};
use partita_rt::Tasks;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use tokio::sync::Semaphore;

impl Manager {
    /// Opens all ranges of the store, a new store's first one included, and starts the work in the background: removing what is
    /// left of changes, and learning keys.
    ///
    /// # Errors
    /// [`ManagerError`].
    pub fn open(
        databases: Arc<dyn EngineSet>,
        memory: Arc<RowMemory>,
        store: Arc<dyn MapStore>,
        tasks: Tasks,
    ) -> BoxFuture<'static, Result<Arc<Self>, ManagerError>> {
        Box::pin(async move {
            let record = settled_record(&*databases, &*store).await?;
            let (mut ranges, mut watchers) = (Vec::new(), HashMap::new());
            for (at, range) in record.ranges.iter().enumerate() {
                let id = RangeId(range.id);
                let place = (id, range.epoch, record.bounds(at));
                let opened = open_range(&*databases, &memory, place, false).await;
                let (served, gone) =
                    opened.map_err(|source| ManagerError::Open { range: id, source })?;
                ranges.push(served);
                watchers.insert(id, gone);
            }
            databases.drop_unknown().await;
            let map =
                PartitionMap::new(ranges).expect("a checked record covers the key space once");
            let manager = Arc::new(Self {
                map: Arc::new(map),
                store,
                databases,
                memory,
                tasks,
                changing: Semaphore::new(1),
                record: Mutex::new(record),
                collected: Mutex::default(),
                watched: Mutex::default(),
                watchers: Mutex::new(watchers),
                readers: Mutex::default(),
                to_delete: Mutex::default(),
                // Once after every start: the one before may have been killed.
                stray_rounds: AtomicU32::new(1),
                tend_rounds: AtomicU32::new(0),
            });
            for served in manager.map.ranges().iter() {
                manager.build_key_filter(&served.range);
            }
            manager.start_tending();
            Ok(manager)
        })
    }
}

/// The newest record, with a change that was cut short undone and every stray database among the orphans.
async fn settled_record(
    databases: &dyn EngineSet,
    store: &dyn MapStore,
) -> Result<MapRecord, ManagerError> {
    let there: BTreeSet<RangeId> = databases.list().await?.into_iter().collect();
    let Some(mut record) = store.load().await? else {
        // Before there were maps, and in a store that was just made, there is at most the first range.
        if there.iter().any(|id| *id != RangeId(1)) {
            return Err(ManagerError::MapMissing);
        }
        let record = MapRecord::first();
        store_record(store, &record).await?;
        return Ok(record);
    };
    let before = record.clone();
    if let Some(change) = record.change.take() {
        tracing::warn!(?change, "a change of ranges was cut short; undoing it");
        for id in change.makes() {
            if !is_removed(databases, id).await {
                record.orphans.push(id.0);
            }
        }
    }
    let known = record.ranges.iter().map(|range| range.id);
    let known: BTreeSet<u64> = known.chain(record.orphans.iter().copied()).collect();
    for stray in there.iter().filter(|id| !known.contains(&id.0)) {
        if stray.0 < record.next_range && !is_removed(databases, *stray).await {
            record.orphans.push(stray.0);
        }
    }
    if record != before {
        record.version += 1;
        store_record(store, &record).await?;
    }
    Ok(record)
}

/// Nobody needs it, so a database that cannot be removed is no reason not to start.
async fn is_removed(databases: &dyn EngineSet, id: RangeId) -> bool {
    match databases.remove(id).await {
        Ok(removal) => removal == Removal::Gone,
        Err(error) => {
            tracing::warn!(%error, range = %id, "an old database is left for later");
            false
        }
    }
}
