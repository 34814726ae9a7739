//! Taking, listing, reading and deleting snapshots.
//!
//! ```text
//!  its turn ─▶ flush every range ─▶ pin all at one point ─▶ record, made if absent
//!              writes go on          writes wait briefly     the point of no return
//! ```
//!
//! - Killed before the record is stored, there is no snapshot, and the next start lets the pins go. Killed after it, the snapshot is
//!   complete.
//! - Splits, merges and removals take turns with taking and deleting snapshots: one under way is waited for, one that comes waits.
//!   Reading needs no turn.
//! - A snapshot is deleted in the other order: its record, then its pins.
//! - A record that cannot be read stops nothing but the letting go of stray pins, and can be deleted.

use super::change::{chain, flush_most};
use super::{Manager, STORE_PAUSE};
use crate::map::{MapError, MapStore, UnreadableSnapshot};
use crate::snapshot::{PinnedRange, SnapshotName, SnapshotReader, SnapshotRecord};
use futures::future::BoxFuture;
use partita_engine::{ChangeError, FileUse, Health};
use partita_model::DateTime;
use partita_range::RangeId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Snapshots that a store holds at most: each makes the manifests of its ranges' databases longer, and keeps one of them.
pub const SNAPSHOTS_MAX: usize = 256;

/// In how many rounds of tending stray pins are looked for after something went wrong: ten minutes, longer than any flush that was
/// given up can still take.
const STRAY_ROUNDS: u32 = 60;

/// Besides, they are looked for once in so many rounds, an hour: on a disk that is full for long a flush that was given up may make
/// its pin at any time.
pub(super) const STRAY_ROUNDS_BETWEEN: u32 = 360;

/// Why something was not done with a snapshot.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SnapshotError {
    /// There is one of that name.
    #[error("there is a snapshot {0} already")]
    Exists(SnapshotName),
    /// There is none of that name.
    #[error("there is no snapshot {0}")]
    NoSuchSnapshot(SnapshotName),
    /// Somebody reads it: a restore, or a backup.
    #[error("snapshot {0} is being read")]
    InUse(SnapshotName),
    /// There are as many as there may be.
    #[error("there are {SNAPSHOTS_MAX} snapshots already; delete one first")]
    TooMany,
    /// The store takes no writes now, for this reason: nothing was begun.
    #[error("the store takes no writes now: {}", .0.as_str())]
    NotNow(Health),
    /// It could not be done; nothing is left of it, or nothing will be in some minutes.
    #[error("{0}")]
    Failed(Arc<str>),
}

/// A snapshot was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// What is recorded of it.
    pub record: SnapshotRecord,
    /// How long writes waited.
    pub pause: Duration,
}

/// A snapshot, and what it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What is recorded of it.
    pub record: SnapshotRecord,
    /// Bytes in files that only this snapshot reads: deleting it frees about as many.
    pub own_bytes: u64,
}

impl Manager {
    /// Takes a snapshot of the whole store: every row as it was at one instant between now and the answer. Copies nothing; writes
    /// wait for some milliseconds. Waits for a split or merge under way. Runs to its end also when the caller goes away.
    ///
    /// # Errors
    /// [`SnapshotError`]; there is no snapshot then.
    pub fn create_snapshot(
        self: &Arc<Self>,
        name: SnapshotName,
        now: DateTime,
    ) -> BoxFuture<'_, Result<Taken, SnapshotError>> {
        Box::pin(async move {
            let manager = Arc::clone(self);
            let creating = async move {
                let taken = manager.create_snapshot_here(name, now).await;
                if matches!(taken, Err(SnapshotError::Failed(_))) {
                    manager.stray_rounds.store(STRAY_ROUNDS, Ordering::Relaxed);
                }
                taken
            };
            let ended = self.tasks.spawn("take a snapshot", creating).await;
            ended.map_err(why)?
        })
    }

    async fn create_snapshot_here(
        &self,
        name: SnapshotName,
        now: DateTime,
    ) -> Result<Taken, SnapshotError> {
        let _turn = self.turn().await.map_err(why)?;
        match self.store.snapshot(&name).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(MapError::InvalidSnapshot { .. }) => {
                return Err(SnapshotError::Exists(name));
            }
            Err(error) => return Err(why(error)),
        }
        let known = self.store.snapshots().await.map_err(why)?;
        if known.records.len() + known.unreadable.len() >= SNAPSHOTS_MAX {
            return Err(SnapshotError::TooMany);
        }
        let health = self.databases.health();
        if health != Health::Healthy {
            return Err(SnapshotError::NotNow(health));
        }
        let ranges = self.map.ranges();
        let flushing = ranges.iter().map(|served| flush_most(&served.range));
        futures::future::try_join_all(flushing).await.map_err(why)?;
        let ids: Vec<RangeId> = ranges.iter().map(|served| served.range.id()).collect();
        let pinned = self.databases.pin(&ids).await.map_err(why)?;
        let mut record = SnapshotRecord::new(name, now, self.record().version);
        for (served, pin) in ranges.iter().zip(&pinned.pins) {
            record.ranges.push(PinnedRange {
                id: served.range.id().0,
                epoch: served.epoch,
                start: served.range.bounds().start.clone(),
                pin: pin.as_str().to_owned(),
            });
        }
        // Nobody holds a range longer than need be: its engine closes when nobody does.
        drop(ranges);
        record.bytes = bytes_of(&self.files_of(&record).await.map_err(why)?);
        store_snapshot(&*self.store, &record).await.map_err(why)?;
        tracing::info!(name = %record.name, pause = ?pinned.pause, ranges = ids.len(), "took a snapshot");
        let pause = pinned.pause;
        Ok(Taken { record, pause })
    }

    /// Stored snapshots that cannot be used: they keep what they keep until they are deleted.
    ///
    /// # Errors
    /// [`SnapshotError::Failed`].
    pub fn unreadable_snapshots(
        &self,
    ) -> BoxFuture<'_, Result<Vec<UnreadableSnapshot>, SnapshotError>> {
        Box::pin(async move {
            let stored = self.store.snapshots().await.map_err(why)?;
            Ok(stored.unreadable)
        })
    }

    /// All snapshots that can be read, the oldest first.
    ///
    /// # Errors
    /// [`SnapshotError::Failed`].
    pub fn snapshots(&self) -> BoxFuture<'_, Result<Vec<Listed>, SnapshotError>> {
        Box::pin(async move {
            let mut records = self.store.snapshots().await.map_err(why)?.records;
            records.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
            let mut readers: BTreeMap<FileUse, usize> = BTreeMap::new();
            for served in self.map.ranges().iter() {
                let files = self.databases.files(served.range.id(), None).await;
                for file in files.map_err(why)? {
                    *readers.entry(file).or_default() += 1;
                }
            }
            let mut files_of = Vec::with_capacity(records.len());
            for record in records {
                let files = match self.files_of(&record).await {
                    // It was deleted meanwhile.
                    Err(ChangeError::NotPinned(_)) => continue,
                    files => files.map_err(why)?,
                };
                for file in &files {
                    *readers.entry(file.clone()).or_default() += 1;
                }
                files_of.push((record, files));
            }
            let listed = files_of.into_iter().map(|(record, files)| {
                let own = files
                    .into_iter()
                    .filter(|file| readers.get(file) == Some(&1));
                let own_bytes = own.map(|file| file.bytes).sum();
                Listed { record, own_bytes }
            });
            Ok(listed.collect())
        })
    }

    /// What is recorded of a snapshot.
    ///
    /// # Errors
    /// [`SnapshotError::NoSuchSnapshot`], [`SnapshotError::Failed`].
    pub fn snapshot<'a>(
        &'a self,
        name: &'a SnapshotName,
    ) -> BoxFuture<'a, Result<SnapshotRecord, SnapshotError>> {
        Box::pin(async move {
            let found = self.store.snapshot(name).await.map_err(why)?;
            found.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.clone()))
        })
    }

    /// Opens a snapshot for reading. It cannot be deleted until the reader and its scans are dropped.
    ///
    /// # Errors
    /// [`SnapshotError::NoSuchSnapshot`], [`SnapshotError::Failed`].
    pub fn read_snapshot<'a>(
        &'a self,
        name: &'a SnapshotName,
    ) -> BoxFuture<'a, Result<SnapshotReader, SnapshotError>> {
        Box::pin(async move {
            // No turn: what changes ranges takes none of the files that a pin reads, and only deleting takes a pin that a record names.
            let used = self.readers.lock().enter(name);
            let used = used.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.clone()))?;
            let record = self.snapshot(name).await?;
            let mut ranges = Vec::with_capacity(record.ranges.len());
            for (bounds, range) in record.bounds() {
                let opened = self.databases.open_pin(range.range(), &range.pin()).await;
                ranges.push((bounds, opened.map_err(why)?));
            }
            Ok(SnapshotReader::new(record, ranges, used))
        })
    }

    /// Deletes a snapshot, also one that cannot be read. What only it kept goes in the background, within minutes. Runs to its end
    /// also when the caller goes away.
    ///
    /// # Errors
    /// [`SnapshotError::NoSuchSnapshot`], [`SnapshotError::InUse`]; [`SnapshotError::Failed`]: it may be deleted or not.
    pub fn delete_snapshot(
        self: &Arc<Self>,
        name: SnapshotName,
    ) -> BoxFuture<'_, Result<(), SnapshotError>> {
        Box::pin(async move {
            let manager = Arc::clone(self);
            let deleting = async move { manager.delete_snapshot_here(name, None).await };
            let ended = self.tasks.spawn("delete a snapshot", deleting).await;
            ended.map_err(why)?
        })
    }

    /// Leaves it to tending to delete a snapshot that is read now, or that the store cannot delete: this one, not another that gets its
    /// name. The end of the process forgets it. Such snapshots are there, so there are no more than [`SNAPSHOTS_MAX`] of them.
    pub fn delete_snapshot_later(&self, record: &SnapshotRecord) {
        let mut to_delete = self.to_delete.lock();
        to_delete.insert(record.id.clone(), record.name.clone());
    }

    pub(super) async fn delete_left_over(&self) {
        let left = self.to_delete.lock().clone();
        for (id, name) in left {
            match self.delete_snapshot_here(name, Some(&id)).await {
                Ok(()) | Err(SnapshotError::NoSuchSnapshot(_)) => {
                    self.to_delete.lock().remove(&id);
                }
                Err(error) => tracing::debug!(%error, "a snapshot that nobody needs stays for now"),
            }
        }
    }

    /// With an id, only the snapshot that has it.
    async fn delete_snapshot_here(
        &self,
        name: SnapshotName,
        id: Option<&str>,
    ) -> Result<(), SnapshotError> {
        let turn = self.turn().await.map_err(why)?;
        let ranges = match self.store.snapshot(&name).await {
            Ok(Some(record)) if id.is_none_or(|id| record.id == id) => record.ranges,
            Ok(_) => return Err(SnapshotError::NoSuchSnapshot(name)),
            // Nobody can say which pins it names; once it is gone they are such as no snapshot names.
            Err(MapError::InvalidSnapshot { .. }) if id.is_none() => {
                self.stray_rounds.store(STRAY_ROUNDS, Ordering::Relaxed);
                Vec::new()
            }
            Err(error) => return Err(why(error)),
        };
        if !self.readers.lock().keep_out(&name) {
            return Err(SnapshotError::InUse(name));
        }
        let deleted = self.store.delete_snapshot(&name).await;
        // From here on the record says whether it is there.
        self.readers.lock().let_in();
        deleted.map_err(why)?;
        tracing::info!(%name, "deleted a snapshot");
        for range in &ranges {
            let unpinned = self.databases.unpin(range.range(), &range.pin()).await;
            if let Err(error) = unpinned {
                tracing::warn!(%error, range = range.id, "a pin of a deleted snapshot stays for now");
                self.stray_rounds.store(STRAY_ROUNDS, Ordering::Relaxed);
            }
            // The next round of tending has the files collected that only the snapshot kept.
            self.collected.lock().remove(&range.range());
        }
        drop(turn);
        self.remove_orphans().await;
        Ok(())
    }

    /// Lets go of pins that no snapshot names: of one that was not finished, or not deleted to the end.
    pub(super) async fn unpin_strays(&self) {
        let round = self.tend_rounds.fetch_add(1, Ordering::Relaxed);
        let is_due = round % STRAY_ROUNDS_BETWEEN == STRAY_ROUNDS_BETWEEN - 1;
        if !is_due && self.stray_rounds.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Ok(_turn) = self.turn().await else {
            return;
        };
        match self.unpin_strays_here().await {
            Ok(()) => {
                let one_less = |rounds: u32| Some(rounds.saturating_sub(1));
                let _ =
                    self.stray_rounds
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
            }
            Err(error) => tracing::warn!(%error, "pins that nobody needs were not looked for"),
        }
    }

    async fn unpin_strays_here(&self) -> Result<(), SnapshotError> {
        let stored = self.store.snapshots().await.map_err(why)?;
        // It may name any pin: then none is let go.
        if let Some(unreadable) = stored.unreadable.into_iter().next() {
            return Err(why(MapError::from(unreadable)));
        }
        let ranges = stored.records.iter().flat_map(|record| &record.ranges);
        let known: BTreeSet<_> = ranges.map(|range| (range.range(), range.pin())).collect();
        for range in self.databases.list().await.map_err(why)? {
            for pin in self.databases.pins(range).await.map_err(why)? {
                if !known.contains(&(range, pin.clone())) {
                    tracing::info!(%range, %pin, "letting go of a pin that no snapshot names");
                    self.databases.unpin(range, &pin).await.map_err(why)?;
                    self.collected.lock().remove(&range);
                }
            }
        }
        Ok(())
    }

    /// The files that a snapshot reads, each once.
    async fn files_of(&self, record: &SnapshotRecord) -> Result<BTreeSet<FileUse>, ChangeError> {
        let mut files = BTreeSet::new();
        for range in &record.ranges {
            files.extend(
                self.databases
                    .files(range.range(), Some(&range.pin()))
                    .await?,
            );
        }
        Ok(files)
    }
}

/// Who reads which snapshot, and which one nobody may begin to read. Deleting looks at it with the turn, so it is one at most.
#[derive(Debug, Default)]
pub(super) struct Readers {
    reading: HashMap<SnapshotName, Weak<()>>,
    deleting: Option<SnapshotName>,
}

impl Readers {
    /// Somebody reads it as long as they keep this; `None` while it is being deleted.
    fn enter(&mut self, name: &SnapshotName) -> Option<Arc<()>> {
        if self.deleting.as_ref() == Some(name) {
            return None;
        }
        self.reading.retain(|_, used| used.strong_count() > 0);
        let known = self.reading.get(name).and_then(Weak::upgrade);
        let used = known.unwrap_or_default();
        self.reading.insert(name.clone(), Arc::downgrade(&used));
        Some(used)
    }

    /// Lets nobody begin to read it, unless somebody does already. Says whether nobody did.
    fn keep_out(&mut self, name: &SnapshotName) -> bool {
        let used = self.reading.get(name);
        let is_read = used.is_some_and(|used| used.strong_count() > 0);
        if !is_read {
            self.deleting = Some(name.clone());
        }
        !is_read
    }

    fn let_in(&mut self) {
        self.deleting = None;
    }
}

fn bytes_of(files: &BTreeSet<FileUse>) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}

/// Stores the record of a new snapshot. An answer that was lost is not taken for a failure: what is stored decides.
async fn store_snapshot(store: &dyn MapStore, record: &SnapshotRecord) -> Result<(), MapError> {
    let Err(failed) = store.save_snapshot(record).await else {
        return Ok(());
    };
    loop {
        match store.snapshot(&record.name).await {
            Ok(Some(found)) if found == *record => return Ok(()),
            Ok(_) => return Err(failed),
            Err(error @ MapError::InvalidSnapshot { .. }) => return Err(error),
            Err(error) => tracing::warn!(%error, "the snapshots cannot be read; trying again"),
        }
        tokio::time::sleep(STORE_PAUSE).await;
    }
}

fn why(error: impl std::error::Error) -> SnapshotError {
    SnapshotError::Failed(chain(&error))
}
