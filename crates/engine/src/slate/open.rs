//! Opening the database with its log.

use std::sync::Arc;

use slatedb::{Db, SstBlockSize};

use super::figures::Figures;
use super::journal::Journal;
use super::settings::slatedb_settings;
use super::{Core, Opened, Runtimes};
use crate::OpenError;
use crate::log::{Log, LogOptions, OpenLogError, RangeId, Record, Resume, WalId};

/// The first range. Its database is `range-1` in the store; names and ids are never used again.
const RANGE: RangeId = RangeId(1);

/// How the log is laid out. With [`super::journal::LIVE_SEGMENTS_MAX`] of them a start reads no more than it can in a second;
/// as many as a flush frees are kept for the next rows.
pub(super) const LOG_OPTIONS: LogOptions = LogOptions {
    segment_bytes: 16 << 20,
    spare_count: 2,
    recycled_count_max: 6,
};

/// Opens the database and replays the log.
///
/// After a failure the rows that were replayed are flushed to the store's files, and the old log is given up, before this
/// returns: a file that once failed to sync may show rows that are not on the disk, and nobody may see them before they are.
pub(super) async fn open(
    core: &Core,
    runtimes: &Runtimes,
    resume: Resume,
) -> Result<Opened, OpenError> {
    let (log, records) = open_log(core, resume).await?;
    let journal = Journal::new(log, RANGE);
    let figures = Figures::new();
    let cache = Arc::clone(&core.cache) as Arc<dyn slatedb::db_cache::DbCache>;
    let building = Db::builder(format!("range-{}", RANGE.0), core.data.store())
        .with_settings(slatedb_settings())
        .with_sst_block_size(SstBlockSize::Block16Kib)
        .with_db_cache(cache, RANGE.0)
        .with_write_runtime(runtimes.commit.clone())
        .with_metrics_recorder(figures.recorder())
        .with_wal_writer(journal.writer_init(records))
        .build();
    // Its tasks run where it was built.
    let built = runtimes.store.spawn(building).await;
    let db = built
        .map_err(|error| OpenError::Store(Arc::new(error)))?
        .map_err(|error| OpenError::Store(Arc::new(error)))?;
    let opened = Opened {
        db,
        journal,
        figures,
    };
    if resume == Resume::Afresh {
        opened
            .flush()
            .await
            .map_err(|error| OpenError::Store(Arc::new(error)))?;
        opened.tidy().await?;
    }
    Ok(opened)
}

/// Reads the log on a blocking thread: up to a few hundred megabytes.
async fn open_log(core: &Core, resume: Resume) -> Result<(Log, Vec<Record>), OpenError> {
    let (directory, disk, options) = (
        core.data.log_path(),
        Arc::clone(&core.disk),
        core.log_options,
    );
    let opening = tokio::task::spawn_blocking(move || Log::open(&directory, disk, options, resume));
    let opened = opening
        .await
        .map_err(|error| OpenError::Store(Arc::new(error)))?;
    opened.map_err(|error| match error {
        OpenLogError::Io(error) => OpenError::Io(error),
        error => OpenError::Log(error.to_string().into()),
    })
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

    /// Gives up the part of the log that the store's files have, and makes spare segments.
    pub(super) async fn tidy(&self) -> std::io::Result<()> {
        let flushed = WalId(self.db.manifest().replay_after_wal_id());
        let journal = self.journal.clone();
        let tidying = tokio::task::spawn_blocking(move || journal.tidy(flushed));
        tidying.await.map_err(std::io::Error::other)?
    }
}
