//! Creates a store from rows: first the databases of its ranges, then its map.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use partita_engine::slate::{Home, Settings, SlateEngineSet};
use partita_engine::{Batch, Engine, EngineSet, WriteError};
use partita_model::{DateTime, KeyKind, KeyReader, Stored};
use partita_range::RangeId;
use partita_rt::data_dir::Building;

use super::part::row_bytes;
use super::user_rows::user_rows;
use super::{BackupError, Note, Progress};
use crate::{SnapshotReader, SnapshotScan};
use partita_cluster::{Epoch, MapRecord, MapStore, ObjectMapStore, RangeRecord, ServingRecord};

/// The size in bytes at which a commit ends.
const BATCH_BYTES: usize = 1 << 20;
/// The maximum number of rows of a commit.
const BATCH_ROWS: usize = 1024;
/// The maximum number of concurrent commits.
const IN_FLIGHT: usize = 8;
/// How often a failed write is retried. Each try can itself wait for seconds.
const TRIES_MAX: u32 = 60;
/// The pause before each retry.
const PAUSE: Duration = Duration::from_millis(250);
/// The block cache of the new store in bytes: small, because the store is not read while it is filled.
const CACHE_BYTES: u64 = 16 << 20;

/// The maximum number of rows read from a snapshot at a time.
const READ_ROWS: usize = 4096;
/// A read from a snapshot ends when its rows have this number of bytes.
const READ_BYTES: usize = 8 << 20;

/// A store that is being filled. It has no map until [`NewStore::finish`]; a server that opens it earlier would create
/// a new map.
pub struct NewStore {
    databases: Arc<dyn EngineSet>,
    map: Arc<dyn MapStore>,
    /// The first key and the database of each range.
    ranges: Vec<(Bytes, Arc<dyn Engine>)>,
}

impl NewStore {
    /// Creates the databases of ranges with these start keys, in order; the first start key is empty.
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

    /// Adds rows in key order. The store gets times later than the Timestamps of the rows, which may be later than the
    /// wall time of this machine: new Timestamps, and the ETags made of them, continue after these.
    ///
    /// # Errors
    /// [`BackupError::Write`]; some rows may be stored.
    pub async fn put(&self, rows: Vec<(Bytes, Bytes)>) -> Result<(), BackupError> {
        if let Some(newest) = newest_timestamp(&rows) {
            self.databases.pass_time(newest.to_system());
        }
        let mut commits = Vec::new();
        let mut rest = rows.as_slice();
        while let Some((first, _)) = rest.first() {
            let following = self.ranges.partition_point(|(start, _)| start <= first);
            let next = self.ranges.get(following).map(|(start, _)| start);
            let (_, engine) = following
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
            commits.push(retry(move || commit(&**engine, here)));
            rest = later;
        }
        let mut committing = futures::stream::iter(commits).buffer_unordered(IN_FLIGHT);
        while let Some(committed) = committing.next().await {
            committed?;
        }
        Ok(())
    }

    /// Stores the map and the serving records, and closes the databases, which completes the store.
    ///
    /// # Errors
    /// [`BackupError`].
    pub async fn finish(self) -> Result<(), BackupError> {
        let mut record = MapRecord::first();
        record.ranges.clear();
        for (id, (start, engine)) in (1..).zip(&self.ranges) {
            retry(|| engine.flush()).await?;
            record.ranges.push(RangeRecord {
                id,
                epoch: Epoch(1),
                start: start.clone(),
            });
            record.next_range = id + 1;
        }
        self.map.save(&record).await?;
        for range in record.specs() {
            let serving = ServingRecord::new(&range, record.version);
            self.map.save_serving(&serving).await?;
        }
        self.databases.close().await;
        Ok(())
    }
}

/// The latest Timestamp of the entities in these rows. Unreadable entities are copied as they are.
fn newest_timestamp(rows: &[(Bytes, Bytes)]) -> Option<DateTime> {
    let entities = rows
        .iter()
        .filter(|(key, _)| KeyReader::of_kind(key, KeyKind::ENTITY).is_ok());
    let stored = entities.filter_map(|(_, row)| Stored::open(row).ok());
    stored.map(|entity| entity.timestamp()).max()
}

/// Retries a failed write: the disk may be slower than this process, and writing a row twice is harmless.
async fn retry<F>(write: impl Fn() -> F) -> Result<(), WriteError>
where
    F: Future<Output = Result<(), WriteError>>,
{
    for _ in 0..TRIES_MAX {
        if write().await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    write().await
}

async fn commit(engine: &dyn Engine, rows: &[(Bytes, Bytes)]) -> Result<(), WriteError> {
    let mut batch = Batch::with_capacity(rows.len());
    for (key, value) in rows {
        batch.put(key.clone(), value.clone());
    }
    let written = partita_range::submit(engine, batch).await?;
    written.await.unwrap_or(Err(WriteError::Unknown))
}

/// A source of rows in key order, for filling a store.
pub(super) trait RowSource: Send {
    /// The next rows; empty at the end.
    fn next(&mut self) -> impl Future<Output = Result<Vec<(Bytes, Bytes)>, BackupError>> + Send;
}

/// Creates a data directory, which must be absent or empty, and fills its ranges, which begin at `starts`. Removes the
/// directory on failure.
pub(super) async fn fill_directory(
    directory: &Path,
    starts: impl Iterator<Item = Bytes>,
    rows: impl RowSource,
    note: Note<'_>,
) -> Result<Progress, BackupError> {
    let refused = |error: &dyn std::error::Error| BackupError::Directory(error.to_string());
    let building = Building::begin(directory).map_err(|error| refused(&error))?;
    let data = Arc::new(building.open().map_err(|error| refused(&error))?);
    match fill_home(Home::in_directory(data), starts, rows, note).await {
        Ok(progress) => {
            building.finish().map_err(|error| refused(&error))?;
            Ok(progress)
        }
        Err(why) => {
            if let Err(error) = building.abandon() {
                tracing::warn!(
                    %error, directory = %directory.display(),
                    "cannot delete the incomplete data directory; the next restore to it will delete it"
                );
            }
            Err(why)
        }
    }
}

/// Creates the databases and the map of an empty home, and fills the ranges, which begin at `starts`. After an error the
/// home has databases, and no map.
pub(super) async fn fill_home(
    home: Home,
    starts: impl Iterator<Item = Bytes>,
    rows: impl RowSource,
    note: Note<'_>,
) -> Result<Progress, BackupError> {
    let map = Arc::new(ObjectMapStore::new(Arc::clone(&home.store)));
    let settings = Settings {
        cache_bytes: CACHE_BYTES,
        ..Settings::default()
    };
    let databases = Arc::new(SlateEngineSet::in_home(home, settings).await?);
    let filled = match NewStore::begin(databases.clone(), map, starts).await {
        Ok(store) => fill(store, rows, note).await,
        Err(error) => Err(error),
    };
    if filled.is_err() {
        databases.close().await;
    }
    filled
}

async fn fill(
    store: NewStore,
    mut rows: impl RowSource,
    note: Note<'_>,
) -> Result<Progress, BackupError> {
    let mut progress = Progress::default();
    loop {
        let rows = rows.next().await?;
        if rows.is_empty() {
            store.finish().await?;
            return Ok(progress);
        }
        progress.rows += user_rows(&rows);
        progress.bytes += row_bytes(&rows);
        store.put(rows).await?;
        note(progress);
    }
}

/// Copies a snapshot into a new data directory, which must be absent or empty. Rows are copied byte for byte, so ETags
/// and Timestamps stay the same. The directory appears when it is complete.
///
/// # Errors
/// [`BackupError`].
pub fn unpack<'a>(
    snapshot: &'a SnapshotReader,
    directory: &'a Path,
    note: Note<'a>,
) -> BoxFuture<'a, Result<Progress, BackupError>> {
    Box::pin(async move {
        let ranges = snapshot.record().ranges.iter();
        let starts = ranges.map(|range| range.start.clone());
        let rows = snapshot.scan(&Bytes::new(), None);
        fill_directory(directory, starts, rows, note).await
    })
}

impl RowSource for SnapshotScan {
    async fn next(&mut self) -> Result<Vec<(Bytes, Bytes)>, BackupError> {
        let rows = SnapshotScan::next(self, READ_ROWS, READ_BYTES).await?;
        Ok(rows.into_iter().collect())
    }
}
