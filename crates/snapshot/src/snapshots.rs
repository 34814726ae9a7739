//! Creating, listing, reading and deleting snapshots.
//!
//! ```text
//!  change lock ─▶ flush every range ─▶ pin all at one point ─▶ record, created if absent
//!                 clients write         writes wait briefly     the point of no return
//! ```
//!
//! - A kill before the record is stored leaves no snapshot, and the next start releases the pins. Once the record is
//!   stored, the snapshot is complete.
//! - The change lock excludes splits, merges and deletions of databases while a snapshot is created or deleted. Reading
//!   needs no lock.
//! - A deletion first removes the record, then the pins.
//! - An unreadable record can be deleted. Until then it blocks only the release of untracked pins.

use super::readers::Readers;
use super::store::save_and_confirm;
use super::{PinnedRange, SnapshotName, SnapshotReader, SnapshotRecord};
use super::{SnapshotStore, SnapshotStoreError, UnreadableSnapshot};
use futures::future::{BoxFuture, try_join_all};
use parking_lot::Mutex;
use partita_cluster::{
    ChangeGuard, ChangeRefused, Cluster, HostError, RangeAction, ServedFiles, error_chain,
};
use partita_engine::{ChangeError, FileUse, Health};
use partita_model::DateTime;
use partita_range::RangeId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of snapshots of a store: each snapshot lengthens the manifests of its databases and keeps an old
/// version of each manifest.
pub const SNAPSHOTS_MAX: usize = 256;

/// The time between two runs of the background deletion of [`Snapshots::delete_later`].
const PERIOD: Duration = Duration::from_secs(10);

/// Why an operation on a snapshot failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SnapshotError {
    /// The name is taken.
    #[error("snapshot {0} already exists")]
    Exists(SnapshotName),
    /// No snapshot has the name.
    #[error("snapshot {0} not found")]
    NoSuchSnapshot(SnapshotName),
    /// A restore or backup is reading the snapshot.
    #[error("snapshot {0} is being read by a restore or backup")]
    InUse(SnapshotName),
    /// The number of snapshots is at its maximum.
    #[error("the maximum of {SNAPSHOTS_MAX} snapshots is reached; delete one first")]
    TooMany,
    /// The store refuses writes now. Nothing was changed.
    #[error("the store refuses writes now: {}", .0.as_str())]
    NotNow(Health),
    /// The operation failed. Within minutes, maintenance releases the pins that it left.
    #[error("{0}")]
    Failed(Arc<str>),
}

impl SnapshotError {
    fn failed(error: impl std::error::Error) -> Self {
        Self::Failed(error_chain(&error))
    }
}

/// A created snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotCreated {
    /// Its record.
    pub record: SnapshotRecord,
    /// How long writes waited while the ranges were pinned.
    pub pause: Duration,
}

/// A snapshot and the space that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its record.
    pub record: SnapshotRecord,
    /// Bytes of files that only this snapshot reads: about the space that its deletion frees.
    pub own_bytes: u64,
}

/// The readable snapshots of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotListing {
    /// The snapshots, oldest first.
    pub snapshots: Vec<SnapshotInfo>,
    /// The servers of the cluster that did not answer. Files that only they read count as those of a snapshot alone, so
    /// [`SnapshotInfo::own_bytes`] may be too high.
    pub silent: Vec<String>,
}

/// The snapshots of a store. Used as `Arc<Snapshots>`. Requests complete even if the caller is dropped.
pub struct Snapshots {
    cluster: Arc<Cluster>,
    store: Arc<dyn SnapshotStore>,
    readers: Mutex<Readers>,
    /// Snapshots, by id, to delete once they are no longer in use.
    to_delete: Mutex<BTreeMap<String, SnapshotName>>,
}

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshots").finish_non_exhaustive()
    }
}

impl Snapshots {
    /// The snapshots of this cluster, with their records in this store. Starts the background task for
    /// [`Snapshots::delete_later`].
    #[must_use]
    pub fn start(cluster: Arc<Cluster>, store: Arc<dyn SnapshotStore>) -> Arc<Self> {
        let snapshots = Arc::new(Self {
            cluster,
            store,
            readers: Mutex::default(),
            to_delete: Mutex::default(),
        });
        let (deleting, tasks) = (Arc::clone(&snapshots), snapshots.cluster.tasks());
        let shutdown = tasks.shutdown();
        tasks.spawn("delete snapshots", async move {
            loop {
                tokio::select! {
                    () = shutdown.requested() => return,
                    () = tokio::time::sleep(PERIOD) => deleting.delete_left().await,
                }
            }
        });
        snapshots
    }

    /// Creates a snapshot of the whole store at one instant during the call. Copies no rows; delays writes for a few
    /// milliseconds. Waits for a running split or merge.
    ///
    /// # Errors
    /// [`SnapshotError`]; no snapshot was created.
    pub fn create(
        self: &Arc<Self>,
        name: SnapshotName,
        now: DateTime,
    ) -> BoxFuture<'_, Result<SnapshotCreated, SnapshotError>> {
        Box::pin(async move {
            let snapshots = Arc::clone(self);
            let creating = async move {
                let created = snapshots.create_locked(name, now).await;
                if matches!(created, Err(SnapshotError::Failed(_))) {
                    snapshots.cluster.suspect_pins();
                }
                created
            };
            let ended = self.cluster.tasks().spawn("create a snapshot", creating);
            ended.await.map_err(SnapshotError::failed)?
        })
    }

    async fn create_locked(
        &self,
        name: SnapshotName,
        now: DateTime,
    ) -> Result<SnapshotCreated, SnapshotError> {
        let lock = self.cluster.lock_changes().await;
        let lock = lock.map_err(SnapshotError::failed)?;
        match self.store.load(&name).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(SnapshotStoreError::Invalid { .. }) => {
                return Err(SnapshotError::Exists(name));
            }
            Err(error) => return Err(SnapshotError::failed(error)),
        }
        let stored = self.store.list().await.map_err(SnapshotError::failed)?;
        if stored.records.len() + stored.unreadable.len() >= SNAPSHOTS_MAX {
            return Err(SnapshotError::TooMany);
        }
        let health = self.cluster.engines().health();
        if health != Health::Healthy {
            return Err(SnapshotError::NotNow(health));
        }
        // The map does not change while the lock is held.
        let map = self.cluster.record();
        let map = map.ok_or_else(|| SnapshotError::failed(ChangeRefused::NotManager))?;
        let ids: Vec<RangeId> = map.ranges.iter().map(|range| RangeId(range.id)).collect();
        self.flush_most(&ids).await?;
        let pinned = self.cluster.host().pin(&ids).await;
        let pinned = pinned.map_err(SnapshotError::failed)?;
        let mut record = SnapshotRecord::new(name, now, map.version);
        for (range, pin) in map.ranges.into_iter().zip(&pinned.pins) {
            record.ranges.push(PinnedRange {
                id: range.id,
                epoch: range.epoch,
                start: range.start,
                pin: pin.as_str().to_owned(),
            });
        }
        let files = self.files_of(&record).await;
        record.bytes = bytes_of(&files.map_err(SnapshotError::failed)?);
        self.save(&record, &lock).await?;
        tracing::info!(name = %record.name, pause = ?pinned.pause, ranges = ids.len(), "created a snapshot");
        let pause = pinned.pause;
        Ok(SnapshotCreated { record, pause })
    }

    /// Flushes ranges while clients write, which makes their pins short.
    async fn flush_most(&self, ranges: &[RangeId]) -> Result<(), SnapshotError> {
        let host = &self.cluster.host();
        let flushing = ranges.iter().map(|range| async move {
            match host.act(*range, RangeAction::FlushMost).await {
                // The range moves, or its server is lost: the pin waits until it is served, and flushes it.
                Err(error @ (HostError::Unanswered { .. } | HostError::NoSuchRange(_))) => {
                    tracing::debug!(%error, "a range is not flushed before its snapshot");
                    Ok(())
                }
                flushed => flushed,
            }
        });
        let flushed = try_join_all(flushing).await;
        flushed.map(drop).map_err(SnapshotError::failed)
    }

    /// Stores a record. In a cluster, another manager may release the pins of a record that it did not find. So if this
    /// process may not be the manager any more, the record is deleted again: there was no other manager before it was
    /// stored only if there is none after that.
    async fn save(&self, record: &SnapshotRecord, lock: &ChangeGuard) -> Result<(), SnapshotError> {
        let deposed = || SnapshotError::failed(ChangeRefused::NotManager);
        if !self.cluster.is_locked_by(lock) {
            return Err(deposed());
        }
        let saved = save_and_confirm(&*self.store, record).await;
        saved.map_err(SnapshotError::failed)?;
        if self.cluster.is_locked_by(lock) {
            return Ok(());
        }
        let deleted = self.store.delete(&record.name).await;
        deleted.map_err(SnapshotError::failed)?;
        Err(deposed())
    }

    /// Unreadable snapshots. Each keeps its files until it is deleted.
    ///
    /// # Errors
    /// [`SnapshotError::Failed`].
    pub fn unreadable(&self) -> BoxFuture<'_, Result<Vec<UnreadableSnapshot>, SnapshotError>> {
        Box::pin(async move {
            let stored = self.store.list().await.map_err(SnapshotError::failed)?;
            Ok(stored.unreadable)
        })
    }

    /// All readable snapshots, oldest first.
    ///
    /// # Errors
    /// [`SnapshotError::Failed`].
    pub fn list(&self) -> BoxFuture<'_, Result<Vec<SnapshotInfo>, SnapshotError>> {
        Box::pin(async move { Ok(self.listing().await?.snapshots) })
    }

    /// All readable snapshots, and the servers that did not say which files they read.
    ///
    /// # Errors
    /// [`SnapshotError::Failed`].
    pub fn listing(&self) -> BoxFuture<'_, Result<SnapshotListing, SnapshotError>> {
        Box::pin(async move {
            let stored = self.store.list().await.map_err(SnapshotError::failed)?;
            let mut records = stored.records;
            records.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
            let mut readers: BTreeMap<FileUse, usize> = BTreeMap::new();
            let served = self.cluster.host().files().await;
            let ServedFiles { files, silent } = served.map_err(SnapshotError::failed)?;
            for file in files {
                *readers.entry(file).or_default() += 1;
            }
            let mut files_of = Vec::with_capacity(records.len());
            for record in records {
                let files = match self.files_of(&record).await {
                    // The snapshot was deleted during the listing.
                    Err(ChangeError::NotPinned(_)) => continue,
                    files => files.map_err(SnapshotError::failed)?,
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
                SnapshotInfo { record, own_bytes }
            });
            let snapshots = listed.collect();
            Ok(SnapshotListing { snapshots, silent })
        })
    }

    /// The record of a snapshot.
    ///
    /// # Errors
    /// [`SnapshotError::NoSuchSnapshot`], [`SnapshotError::Failed`].
    pub fn record<'a>(
        &'a self,
        name: &'a SnapshotName,
    ) -> BoxFuture<'a, Result<SnapshotRecord, SnapshotError>> {
        Box::pin(async move {
            let found = self.store.load(name).await.map_err(SnapshotError::failed)?;
            found.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.clone()))
        })
    }

    /// Opens a snapshot for reading. It cannot be deleted until the reader and its scans are dropped.
    ///
    /// # Errors
    /// [`SnapshotError::NoSuchSnapshot`], also while the snapshot is being deleted; [`SnapshotError::Failed`].
    pub fn read<'a>(
        &'a self,
        name: &'a SnapshotName,
    ) -> BoxFuture<'a, Result<SnapshotReader, SnapshotError>> {
        Box::pin(async move {
            // Needs no change lock: splits and merges do not delete pinned files, and only the deletion of the snapshot
            // releases its pins.
            let token = self.readers.lock().enter(name);
            let token = token.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.clone()))?;
            let record = self.record(name).await?;
            let mut ranges = Vec::with_capacity(record.ranges.len());
            for (bounds, range) in record.bounds() {
                let pin = range.pin();
                let opened = self.cluster.engines().open_pin(range.range(), &pin);
                ranges.push((bounds, opened.await.map_err(SnapshotError::failed)?));
            }
            Ok(SnapshotReader::new(record, ranges, token))
        })
    }

    /// Deletes a snapshot, readable or not. Files that only this snapshot needed are deleted in the background, within
    /// minutes.
    ///
    /// # Errors
    /// [`SnapshotError::NoSuchSnapshot`], [`SnapshotError::InUse`]; [`SnapshotError::Failed`]: it may be deleted or
    /// not.
    pub fn delete(
        self: &Arc<Self>,
        name: SnapshotName,
    ) -> BoxFuture<'_, Result<(), SnapshotError>> {
        Box::pin(async move {
            let snapshots = Arc::clone(self);
            let deleting = async move { snapshots.delete_one(name, None).await };
            let ended = self.cluster.tasks().spawn("delete a snapshot", deleting);
            ended.await.map_err(SnapshotError::failed)?
        })
    }

    /// Schedules the background deletion of a snapshot that is in use, or that the store cannot delete now. Does not
    /// delete a later snapshot of the same name. The schedule is in memory only: after the end of the process the
    /// snapshot stays. The schedule has at most [`SNAPSHOTS_MAX`] entries, one for each existing snapshot.
    pub fn delete_later(&self, record: &SnapshotRecord) {
        let mut to_delete = self.to_delete.lock();
        to_delete.insert(record.id.clone(), record.name.clone());
    }

    /// Deletes the snapshots of [`Snapshots::delete_later`] that are no longer in use.
    pub fn maintain(self: &Arc<Self>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let snapshots = Arc::clone(self);
            let deleting = async move { snapshots.delete_left().await };
            let ended = self.cluster.tasks().spawn("delete snapshots", deleting);
            if let Err(error) = ended.await {
                tracing::error!(%error, "the deletion of snapshots failed");
            }
        })
    }

    async fn delete_left(&self) {
        let left = self.to_delete.lock().clone();
        for (id, name) in left {
            match self.delete_one(name, Some(&id)).await {
                Ok(()) | Err(SnapshotError::NoSuchSnapshot(_)) => {
                    self.to_delete.lock().remove(&id);
                }
                Err(error) => tracing::debug!(%error, "cannot delete a snapshot; will retry"),
            }
        }
    }

    /// Deletes a snapshot; with `id`, only if its id matches.
    async fn delete_one(&self, name: SnapshotName, id: Option<&str>) -> Result<(), SnapshotError> {
        let lock = self.cluster.lock_changes().await;
        let lock = lock.map_err(SnapshotError::failed)?;
        let ranges = match self.store.load(&name).await {
            Ok(Some(record)) if id.is_none_or(|id| record.id == id) => record.ranges,
            Ok(_) => return Err(SnapshotError::NoSuchSnapshot(name)),
            // The pins of an unreadable record are unknown. Without the record they are untracked, and maintenance
            // releases them.
            Err(SnapshotStoreError::Invalid { .. }) if id.is_none() => {
                self.cluster.suspect_pins();
                Vec::new()
            }
            Err(error) => return Err(SnapshotError::failed(error)),
        };
        if !self.readers.lock().begin_deletion(&name) {
            return Err(SnapshotError::InUse(name));
        }
        let deleted = self.store.delete(&name).await;
        // Ends the deletion even if it failed. Readers load the record, so they fail if the record was deleted.
        self.readers.lock().end_deletion();
        deleted.map_err(SnapshotError::failed)?;
        tracing::info!(%name, "deleted a snapshot");
        for range in &ranges {
            let unpinned = self.cluster.host().unpin(range.range(), &range.pin()).await;
            if let Err(error) = unpinned {
                tracing::warn!(%error, range = range.id, "cannot release a pin of a deleted snapshot; maintenance will retry");
                self.cluster.suspect_pins();
            }
        }
        drop(lock);
        self.cluster.delete_replaced().await;
        Ok(())
    }

    /// The distinct files that a snapshot reads.
    async fn files_of(&self, record: &SnapshotRecord) -> Result<BTreeSet<FileUse>, ChangeError> {
        let (engines, mut files) = (self.cluster.engines(), BTreeSet::new());
        for range in &record.ranges {
            files.extend(engines.files(range.range(), Some(&range.pin())).await?);
        }
        Ok(files)
    }
}

fn bytes_of(files: &BTreeSet<FileUse>) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}
