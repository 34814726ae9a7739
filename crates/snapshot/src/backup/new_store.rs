//! A store that is made from rows: the databases of its ranges, and last its map.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use partita_engine::slate::{Settings, SlateEngineSet};
use partita_engine::{Batch, Engine, EngineSet, WriteError};
use partita_range::RangeId;
use partita_rt::data_dir::Building;
use tokio::sync::oneshot;

use super::{BackupError, Progress};
use crate::SnapshotReader;
use partita_cluster::Epoch;
use partita_cluster::{MapRecord, MapStore, ObjectMapStore, RangeRecord};

/// Bytes and rows of one commit.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_ROWS: usize = 1024;
/// Commits on their way at a time.
const IN_FLIGHT: usize = 8;
/// How often a commit that was refused is tried again, and after what pause: each try has waited for seconds already.
const TRIES_MAX: u32 = 60;
const PAUSE: Duration = Duration::from_millis(250);
/// Nothing is read from it while it is filled.
const CACHE_BYTES: u64 = 16 << 20;

/// Rows read from a snapshot at a time.
const READ_ROWS: usize = 4096;
const READ_BYTES: usize = 8 << 20;

/// A store that is being filled. Until [`NewStore::finish`] it has no map: no server may open it before, or it would begin a new one.
pub struct NewStore {
    databases: Arc<dyn EngineSet>,
    map: Arc<dyn MapStore>,
    /// Each from its first key on.
    ranges: Vec<(Bytes, Arc<dyn Engine>)>,
}

impl std::fmt::Debug for NewStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewStore")
            .field("ranges", &self.ranges.len())
            .finish_non_exhaustive()
    }
}

impl NewStore {
    /// Makes the databases of ranges that begin at these keys, in order; the first is the empty key.
    ///
    /// # Errors
    /// [`BackupError::Open`].
    pub async fn begin(
        databases: Arc<dyn EngineSet>,
        map: Arc<dyn MapStore>,
        starts: impl Iterator<Item = Bytes>,
    ) -> Result<Self, BackupError> {
        let mut ranges = Vec::new();
        for (id, start) in (1..).zip(starts) {
            ranges.push((start, databases.open(RangeId(id)).await?));
        }
        Ok(Self {
            databases,
            map,
            ranges,
        })
    }

    /// Adds rows, which are in key order.
    ///
    /// # Errors
    /// [`BackupError::Write`]; some may be there.
    pub async fn put(&self, rows: Vec<(Bytes, Bytes)>) -> Result<(), BackupError> {
        let mut commits = Vec::new();
        let mut rest = rows.as_slice();
        while let Some((first, _)) = rest.first() {
            let behind = self.ranges.partition_point(|(start, _)| start <= first);
            let next = self.ranges.get(behind).map(|(start, _)| start);
            let (_, engine) = behind
                .checked_sub(1)
                .and_then(|at| self.ranges.get(at))
                .expect("the first range begins at the empty key");
            let (mut count, mut bytes) = (0, 0);
            for (key, value) in rest.iter().take(BATCH_ROWS) {
                if bytes >= BATCH_BYTES || next.is_some_and(|next| next <= key) {
                    break;
                }
                bytes += key.len() + value.len();
                count += 1;
            }
            let (here, later) = rest.split_at(count);
            commits.push(commit(&**engine, here));
            rest = later;
        }
        let mut committing = futures::stream::iter(commits).buffer_unordered(IN_FLIGHT);
        while let Some(committed) = committing.next().await {
            committed?;
        }
        Ok(())
    }

    /// All rows are there: stores the map and closes the databases. From here on it is a store.
    ///
    /// # Errors
    /// [`BackupError`].
    pub async fn finish(self) -> Result<(), BackupError> {
        let mut record = MapRecord::first();
        record.ranges.clear();
        for (id, (start, engine)) in (1..).zip(&self.ranges) {
            flush(&**engine).await?;
            record.ranges.push(RangeRecord {
                id,
                epoch: Epoch(1),
                start: start.clone(),
            });
            record.next_range = id + 1;
        }
        self.map.save(&record).await?;
        self.databases.close().await;
        Ok(())
    }
}

async fn flush(engine: &dyn Engine) -> Result<(), WriteError> {
    let mut tries = 0;
    loop {
        match engine.flush().await {
            Err(WriteError::Refused(_)) if tries < TRIES_MAX => tries += 1,
            flushed => return flushed,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn commit(engine: &dyn Engine, rows: &[(Bytes, Bytes)]) -> Result<(), WriteError> {
    let mut tries = 0;
    loop {
        match commit_once(engine, rows).await {
            // The disk is slower than we are; and a row that is put twice is there once.
            Err(_) if tries < TRIES_MAX => tries += 1,
            committed => return committed,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn commit_once(engine: &dyn Engine, rows: &[(Bytes, Bytes)]) -> Result<(), WriteError> {
    let mut batch = Batch::with_capacity(rows.len());
    for (key, value) in rows {
        batch.put(key.clone(), value.clone());
    }
    let permit = engine.reserve(batch.bytes()).await?;
    let (sender, receiver) = oneshot::channel();
    let done = Box::new(move |result| {
        // Nobody listens when the filling was given up.
        let _ = sender.send(result);
    });
    permit.submit(batch, done);
    receiver.await.unwrap_or(Err(WriteError::Unknown))
}

/// A data directory that is being made, and the store in it.
pub(super) struct NewDirectory {
    building: Building,
    pub(super) store: NewStore,
}

impl NewDirectory {
    pub(super) async fn begin(
        directory: &Path,
        starts: impl Iterator<Item = Bytes>,
    ) -> Result<Self, BackupError> {
        let refused = |error: &dyn std::error::Error| BackupError::Directory(error.to_string());
        let building = Building::begin(directory).map_err(|error| refused(&error))?;
        let data = Arc::new(building.open().map_err(|error| refused(&error))?);
        let map = Arc::new(ObjectMapStore::new(data.store()));
        let settings = Settings {
            cache_bytes: CACHE_BYTES,
            ..Settings::default()
        };
        let databases = Arc::new(SlateEngineSet::new(data, settings).await?);
        let store = NewStore::begin(databases, map, starts).await?;
        Ok(Self { building, store })
    }

    /// It is filled, or what kept it from being filled: then nothing is left of it.
    pub(super) async fn end(self, filled: Result<(), BackupError>) -> Result<(), BackupError> {
        let databases = Arc::clone(&self.store.databases);
        let finished = match filled {
            Ok(()) => self.store.finish().await,
            Err(why) => {
                drop(self.store);
                Err(why)
            }
        };
        if let Err(why) = finished {
            databases.close().await;
            drop(databases);
            if let Err(error) = self.building.abandon() {
                tracing::warn!(%error, "what was begun stays, for the next try to remove");
            }
            return Err(why);
        }
        let finished = self.building.finish();
        finished.map_err(|error| BackupError::Directory(error.to_string()))
    }
}

/// Copies a snapshot into a data directory of its own, which is not there yet or is empty: the same rows, byte for byte, so the same
/// ETags and Timestamps. The directory is there once all of it is.
///
/// # Errors
/// [`BackupError`].
pub fn unpack<'a>(
    snapshot: &'a SnapshotReader,
    directory: &'a Path,
    note: &'a (dyn Fn(Progress) + Sync),
) -> BoxFuture<'a, Result<Progress, BackupError>> {
    Box::pin(async move {
        let ranges = snapshot.record().ranges.iter();
        let starts = ranges.map(|range| range.start.clone());
        let new = NewDirectory::begin(directory, starts).await?;
        let mut progress = Progress::default();
        let filled = fill(&new.store, snapshot, &mut progress, note).await;
        new.end(filled).await?;
        Ok(progress)
    })
}

/// Copies all rows.
async fn fill(
    store: &NewStore,
    snapshot: &SnapshotReader,
    progress: &mut Progress,
    note: &(dyn Fn(Progress) + Sync),
) -> Result<(), BackupError> {
    let mut scan = snapshot.scan(&Bytes::new(), None);
    loop {
        let rows = scan.next(READ_ROWS, READ_BYTES).await?;
        if rows.is_empty() {
            return Ok(());
        }
        progress.rows += rows.len() as u64;
        let sizes = rows.iter().map(|(key, value)| key.len() + value.len());
        progress.bytes += sizes.sum::<usize>() as u64;
        store.put(rows).await?;
        note(*progress);
    }
}
