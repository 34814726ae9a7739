//! An open SlateDB database: opening, flushing, closing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use partita_wal::{Record, WalId};
use slatedb::compactor::CompactorBuilder;
use slatedb::config::{CloseOptions, FlushOptions, FlushType};
use slatedb::{BloomFilterPolicy, CloseReason, Db, DbStatus, SstBlockSize, VersionedManifest};
use slatedb_common::SystemClock;
use slatedb_common::metrics::DefaultMetricsRecorder;
use tokio::task::JoinHandle;

use super::context::Context;
use super::detach::DetachRequest;
use super::names::database_path;
use super::newest_manifest::newest_manifest;
use super::polls::Polled;
use super::read::Reader;
use super::settings::{FILTER_BITS, LEVEL0_COUNT_MAX, compaction, level0_max, slatedb_settings};
use super::space::Space;
use super::wal_adapter::{ReplayNotes, WalAdapter};
use super::{FLUSH_DEADLINE, Runtimes, stored_times, young_files};
use crate::{OpenError, RangeId};

/// How long the supervisor waits for a stored manifest. Without it the WAL stays long until the next round.
const STORED_MANIFEST_DEADLINE: Duration = Duration::from_secs(1);

/// The files of a flush of few rows: one, and one of rows that were being flushed.
const FLUSH_FILES: usize = 2;

/// The WAL records that a database replays when it is opened, if they are not in its files.
pub(super) enum Replayed {
    /// Those that the WAL held when the process started.
    AfterStart,
    /// Those that the WAL held when it was opened again after a failure.
    AfterFailure,
    /// Those of the logs of the processes that served the range before.
    TakenOver(VecDeque<Record>),
}

impl Replayed {
    /// The records of other processes, and whether the replayed rows must be flushed before the database is read.
    fn into_parts(self) -> (Option<VecDeque<Record>>, bool) {
        match self {
            Self::AfterStart => (None, false),
            Self::AfterFailure => (None, true),
            Self::TakenOver(records) => {
                let must_flush = !records.is_empty();
                #[cfg(feature = "planted-bugs")]
                let must_flush =
                    must_flush && !crate::planted::is_active("cluster-serves-unflushed");
                (Some(records), must_flush)
            }
        }
    }
}

/// What the store has of a database before it is opened.
pub(super) struct Stored(Option<VersionedManifest>);

impl Stored {
    /// Reads it, and moves the clock past all times in it.
    pub(super) async fn read(context: &Context, range: RangeId) -> Result<Self, OpenError> {
        let passing = stored_times::pass_stored_times(context, database_path(range));
        passing.await.map(Self).map_err(open_error)
    }
}

/// An open database.
pub(super) struct Database {
    pub(super) range: RangeId,
    pub(super) db: Db,
    pub(super) metrics: Arc<DefaultMetricsRecorder>,
    pub(super) detach: DetachRequest,
    pub(super) space: Space,
    /// Partita's reader of the rows. It has none if SlateDB reads them.
    pub(super) reader: Arc<Reader>,
    /// What [`Database::stored_up_to`] last returned.
    stored_up_to: Mutex<WalId>,
    /// Until the database is closed.
    polled: Mutex<Option<Polled>>,
    /// Keeps the reader at the newest manifest.
    _following: Option<AbortOnDrop<()>>,
}

impl Database {
    /// Opens the database of a range, creates it if it is missing, and replays its WAL records.
    ///
    /// In two cases the replayed rows are flushed to the store's files before this returns:
    /// - After a failure. A read of the WAL may return rows that are not on the disk, and readers must see only durable
    ///   rows.
    /// - After a take-over. The next owner of the range must find its rows in the files or in the log of this process.
    pub(super) async fn open(
        context: &Context,
        runtimes: &Runtimes,
        wal: &WalAdapter,
        range: RangeId,
        Stored(stored): Stored,
        replayed: Replayed,
    ) -> Result<Self, OpenError> {
        let metrics = Arc::new(DefaultMetricsRecorder::new());
        let clock = Arc::clone(&context.home.clock);
        let detach = DetachRequest::new(context.settings.detach_at_once_bytes, clock);
        let is_known = context.known.lock().contains(&range);
        let cache = Arc::clone(&context.cache) as Arc<dyn slatedb::db_cache::DbCache>;
        let reads = context.settings.reads;
        let reader = Arc::new(Reader::new(context, range));
        let notes = ReplayNotes {
            clock: Arc::clone(&context.clock),
            deletes: Arc::default(),
            reader: reads.use_own_reader().then(|| Arc::clone(&reader)),
        };
        let deletes = Arc::clone(&notes.deletes);
        let (taken_over, must_flush) = replayed.into_parts();
        let level0 = stored.as_ref().map_or(0, |manifest| manifest.l0().len());
        // Only the next epoch after the one that was read: rule I2 of the cluster.
        let epoch = stored.filter(|_| taken_over.is_some());
        let epoch = epoch.map(|manifest| manifest.writer_epoch());
        let level0_max = level0_max(level0, must_flush);
        let polled = context.polls.begin(database_path(range));
        let compactor_store = context.store_of_compactor(range);
        let compactor = CompactorBuilder::new(database_path(range), compactor_store)
            .with_runtime(runtimes.store.clone())
            .with_options(compaction(&context.settings))
            .with_scheduler_supplier(Arc::new(detach.clone()));
        let building = Db::builder(database_path(range), context.store_of_open(range))
            .with_settings(slatedb_settings(context.settings.garbage_age, level0_max))
            .with_system_clock(Arc::clone(&context.clock) as _)
            .with_sst_block_size(SstBlockSize::Block16Kib)
            .with_filter_policies(vec![Arc::new(BloomFilterPolicy::new(FILTER_BITS))])
            .with_db_cache(cache, range.0)
            .with_write_runtime(runtimes.commit.clone())
            .with_metrics_recorder(Arc::clone(&metrics) as _)
            .with_compactor_builder(compactor)
            .with_gc_builder(young_files::collector(context, database_path(range)))
            .with_wal_writer(wal.writer_init(range, is_known, taken_over, notes));
        let building = match epoch {
            Some(epoch) => building.with_expected_epoch(epoch),
            None => building,
        };
        let building = building.build();
        // The background tasks of a database run on the runtime that builds it.
        let mut built = AbortOnDrop(runtimes.store.spawn(building));
        let db = (&mut built.0).await.map_err(open_error)?;
        let db = db.map_err(open_error)?;
        // The last owner may have written files since the manifest was read.
        stored_times::pass_times_of(&db.manifest(), &context.clock);
        let following = reads.use_own_reader().then(|| {
            reader.set_manifest(&db.manifest());
            let following = Arc::clone(&reader).follow(db.clone());
            AbortOnDrop(runtimes.store.spawn(following))
        });
        let space = Space::default();
        space.count_deletes(deletes.load(Ordering::Relaxed));
        let database = Self {
            range,
            db,
            metrics,
            detach,
            space,
            reader,
            stored_up_to: Mutex::default(),
            polled: Mutex::new(Some(polled)),
            _following: following,
        };
        context.known.lock().insert(range);
        if must_flush && let Err(error) = database.flush().await {
            database.close().await;
            return Err(open_error(error));
        }
        Ok(database)
    }

    /// Moves the rows that are in memory to the store's files.
    pub(super) async fn flush(&self) -> Result<(), slatedb::Error> {
        let options = FlushOptions {
            flush_type: FlushType::MemTable,
        };
        self.db.flush_with_options(options).await
    }

    /// Waits until level 0 has room for the files of another flush, or until the database is closed.
    pub(super) async fn flush_room(&self) {
        let mut status = self.db.subscribe();
        let has_room = |status: &DbStatus| {
            let level0 = status.current_manifest.l0().len();
            level0 + FLUSH_FILES <= LEVEL0_COUNT_MAX || status.close_reason.is_some()
        };
        // An error means that the database is gone.
        let _ = status.wait_for(has_room).await;
    }

    /// The last WAL record whose rows are in files of the manifest in memory. SlateDB changes it before it writes it to the
    /// store, so these rows may be lost with the process: [`Database::stored_up_to`].
    pub(super) fn flushed_up_to(&self) -> WalId {
        WalId(self.db.manifest().replay_after_wal_id())
    }

    /// The last WAL record whose rows a start finds in the store's files. The WAL may release records up to it. Reads the
    /// manifest in the store if a flush has changed the one in memory; if that fails, the answer is an earlier one.
    pub(super) async fn stored_up_to(&self, context: &Context) -> WalId {
        let known = *self.stored_up_to.lock();
        if known >= self.flushed_up_to() {
            return known;
        }
        let clock = Arc::clone(&context.clock) as Arc<dyn SystemClock>;
        let folder = database_path(self.range);
        let reading = newest_manifest(&context.home.store, &clock, &folder);
        let read = tokio::time::timeout(STORED_MANIFEST_DEADLINE, reading).await;
        let mut known = self.stored_up_to.lock();
        if let Ok(Ok(Some(manifest))) = read {
            *known = known.max(WalId(manifest.replay_after_wal_id()));
        }
        *known
    }

    /// Whether the database is closed, after a failure or by [`Database::close`].
    pub(super) fn is_closed(&self) -> bool {
        self.db.status().close_reason.is_some()
    }

    /// Whether the database closed itself because another process has opened it.
    pub(super) fn is_fenced(&self) -> bool {
        self.db.status().close_reason == Some(CloseReason::Fenced)
    }

    /// Closes the database without a flush, to keep the shutdown short: the next start replays its WAL records.
    pub(super) async fn close(&self) {
        let (options, range) = (CloseOptions::default().with_flush_type(None), self.range);
        drop(self.polled.lock().take());
        let closing = self.db.close_with_options(options);
        match tokio::time::timeout(FLUSH_DEADLINE, closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, %range, "failed to close a database"),
            Err(_elapsed) => tracing::warn!(%range, "closing a database timed out"),
        }
    }
}

/// A task that is aborted when its owner is dropped. Without the abort, a database whose opening was given up could
/// still open later, and work in the background while its files are removed.
pub(super) struct AbortOnDrop<T>(pub(super) JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn open_error(error: impl std::error::Error + Send + Sync + 'static) -> OpenError {
    OpenError::Store(Arc::new(error))
}
