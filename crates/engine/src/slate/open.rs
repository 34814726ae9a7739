//! Opening the log and the databases over it.

use std::sync::Arc;

use partita_wal::{Resume, WalId};
use slatedb::compactor::CompactorBuilder;
use slatedb::{Db, SstBlockSize};
use tokio::task::JoinHandle;

use super::core::Core;
use super::detach::Rewriting;
use super::figures::Figures;
use super::settings::{compaction, slatedb_settings};
use super::wal_adapter::WalAdapter;
use super::{Opened, Runtimes};
use crate::{OpenError, RangeId};

/// The name of a range's database in the store.
pub(super) fn database_path(range: RangeId) -> String {
    format!("{DATABASE_PREFIX}{range}")
}

/// What the names of databases begin with.
pub(super) const DATABASE_PREFIX: &str = "range-";

/// Opens the database of a range, made when there is none, and replays its records in the log.
///
/// After a failure the rows that were replayed are flushed to the store's files before this returns: a file that once failed to
/// sync may show rows that are not on the disk, and nobody may see them before they are.
pub(super) async fn open(
    core: &Core,
    runtimes: &Runtimes,
    wal: &WalAdapter,
    range: RangeId,
    resume: Resume,
) -> Result<Opened, OpenError> {
    let figures = Figures::new();
    let rewriting = Rewriting::new(core.settings.rewritten_at_once_bytes);
    let is_known = core.known.lock().contains(&range);
    let cache = Arc::clone(&core.cache) as Arc<dyn slatedb::db_cache::DbCache>;
    let compactor = CompactorBuilder::new(database_path(range), Arc::clone(&core.home.store))
        .with_runtime(runtimes.store.clone())
        .with_options(compaction(core.settings.garbage_age))
        .with_scheduler_supplier(Arc::new(rewriting.clone()));
    let building = Db::builder(database_path(range), Arc::clone(&core.home.store))
        .with_settings(slatedb_settings(core.settings.garbage_age))
        .with_system_clock(Arc::clone(&core.clock))
        .with_sst_block_size(SstBlockSize::Block16Kib)
        .with_db_cache(cache, range.0)
        .with_write_runtime(runtimes.commit.clone())
        .with_metrics_recorder(figures.recorder())
        .with_compactor_builder(compactor)
        .with_wal_writer(wal.writer_init(range, is_known))
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
    if resume == Resume::AfterFailure {
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

/// Releases the records that the files of these databases have, and maintains the log.
pub(super) async fn maintain(wal: &WalAdapter, opened: &[Arc<Opened>]) -> std::io::Result<()> {
    let flushed: Vec<(RangeId, WalId)> = opened
        .iter()
        .map(|opened| (opened.range, opened.flushed()))
        .collect();
    wal.maintain(&flushed).await
}
