//! Opening the log and the databases over it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use partita_rt::threads;
use slatedb::compactor::CompactorBuilder;
use slatedb::{Db, SstBlockSize};
use tokio::task::JoinHandle;

use super::core::Core;
use super::detach::Rewriting;
use super::figures::Figures;
use super::journal::Journal;
use super::settings::{compaction, slatedb_settings};
use super::{Opened, Runtimes};
use crate::{OpenError, RangeId};
use partita_wal::local::{Log, LogOptions, OpenLogError, Record, Resume, WalId};

/// What the log holds, by range, for the databases to replay.
pub(super) type Records = BTreeMap<RangeId, VecDeque<Record>>;

/// The name of a range's database in the store.
pub(super) fn database_path(range: RangeId) -> String {
    format!("{DATABASE_PREFIX}{range}")
}

/// What the names of databases begin with.
pub(super) const DATABASE_PREFIX: &str = "range-";

/// How the log is laid out. With [`super::journal::LIVE_SEGMENTS_MAX`] of them a start reads no more than it can in a second;
/// as many as a flush frees are kept for the next rows.
pub(super) const LOG_OPTIONS: LogOptions = LogOptions {
    segment_bytes: 16 << 20,
    spare_count: 2,
    recycled_count_max: 6,
};

/// Opens the database of a range, made when there is none, and replays `records`.
///
/// After a failure the rows that were replayed are flushed to the store's files before this returns: a file that once failed to
/// sync may show rows that are not on the disk, and nobody may see them before they are.
pub(super) async fn open(
    core: &Core,
    runtimes: &Runtimes,
    journal: &Journal,
    range: RangeId,
    records: VecDeque<Record>,
    resume: Resume,
) -> Result<Opened, OpenError> {
    let figures = Figures::new();
    let rewriting = Rewriting::new(core.settings.rewritten_at_once_bytes);
    let is_known = core.known.lock().contains(&range);
    let cache = Arc::clone(&core.cache) as Arc<dyn slatedb::db_cache::DbCache>;
    let compactor = CompactorBuilder::new(database_path(range), core.data.store())
        .with_runtime(runtimes.store.clone())
        .with_options(compaction(core.settings.garbage_age))
        .with_scheduler_supplier(Arc::new(rewriting.clone()));
    let building = Db::builder(database_path(range), core.data.store())
        .with_settings(slatedb_settings(core.settings.garbage_age))
        .with_system_clock(Arc::clone(&core.clock))
        .with_sst_block_size(SstBlockSize::Block16Kib)
        .with_db_cache(cache, range.0)
        .with_write_runtime(runtimes.commit.clone())
        .with_metrics_recorder(figures.recorder())
        .with_compactor_builder(compactor)
        .with_wal_writer(journal.writer_init(range, records, is_known))
        .build();
    // Its tasks run where it was built.
    let mut built = EndsWithUs(runtimes.store.spawn(building));
    let db = (&mut built.0).await.map_err(refused)?.map_err(refused)?;
    core.known.lock().insert(range);
    let opened = Opened {
        range,
        db,
        figures,
        rewriting,
    };
    if resume == Resume::Afresh {
        opened.flush().await.map_err(refused)?;
    }
    Ok(opened)
}

/// A task that is nobody's once nobody waits for it: it ends then. A database that was opened after all would go on with its work in
/// the background, while its files are removed.
struct EndsWithUs<T>(JoinHandle<T>);

impl<T> Drop for EndsWithUs<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> OpenError {
    OpenError::Store(Arc::new(error))
}

/// Reads the log on a blocking thread: up to a few hundred megabytes.
pub(super) async fn open_log(core: &Core, resume: Resume) -> Result<(Journal, Records), OpenError> {
    let (directory, disk, options) = (
        core.data.log_path(),
        Arc::clone(&core.disk),
        core.log_options,
    );
    let opening = threads::spawn_blocking(move || Log::open(&directory, disk, options, resume));
    let opened = opening.await.map_err(refused)?;
    let (log, found) = opened.map_err(|error| match error {
        OpenLogError::Io(error) => OpenError::Io(error),
        error => OpenError::Log(error.to_string().into()),
    })?;
    let mut records = Records::new();
    for record in found {
        records.entry(record.range()).or_default().push_back(record);
    }
    Ok((Journal::new(log), records))
}

impl Opened {
    /// Moves the rows that are in memory to the store's files.
    pub(super) async fn flush(&self) -> Result<(), slatedb::Error> {
        use slatedb::config::{FlushOptions, FlushType};
        self.db
            .flush_with_options(FlushOptions {
                flush_type: FlushType::MemTable,
            })
            .await
    }

    /// Up to which record the rows are in the store's files.
    pub(super) fn flushed(&self) -> WalId {
        WalId(self.db.manifest().replay_after_wal_id())
    }
}

/// Gives up what the files of these databases have of the log, and makes spare segments.
pub(super) async fn tidy(journal: &Journal, opened: &[Arc<Opened>]) -> std::io::Result<()> {
    let flushed: Vec<(RangeId, WalId)> = opened
        .iter()
        .map(|opened| (opened.range, opened.flushed()))
        .collect();
    let journal = journal.clone();
    let tidying = threads::spawn_blocking(move || journal.tidy(&flushed));
    tidying.await.map_err(std::io::Error::other)?
}

/// Gives up what the files of this database have of the log.
pub(super) async fn release(journal: &Journal, opened: &Opened) {
    let (journal, range, flushed) = (journal.clone(), opened.range, opened.flushed());
    let releasing = threads::spawn_blocking(move || journal.release(range, flushed));
    if let Err(error) = releasing.await {
        tracing::error!(%error, %range, "old records were not given up");
    }
}
