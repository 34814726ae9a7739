//! Opening the database with its log.

use std::sync::Arc;

use slatedb::{Db, SstBlockSize};
use tokio::runtime::Handle;

use super::figures::Figures;
use super::journal::Journal;
use super::settings::{JournalKind, slatedb_settings};
use super::{Core, Opened};
use crate::OpenError;

/// Where in the store the first range's database lies. Names are never used again, so the next one is `range-2`.
const DATABASE: &str = "range-1";

/// The cache tells databases apart by this number.
const CACHE_SCOPE: u64 = 1;

/// Opens the database, replaying the log.
pub(super) async fn open(core: &Core, commit_runtime: &Handle) -> Result<Opened, OpenError> {
    let figures = Figures::new();
    let cache = Arc::clone(&core.cache) as Arc<dyn slatedb::db_cache::DbCache>;
    let builder = Db::builder(DATABASE, core.data.store())
        .with_settings(slatedb_settings())
        .with_sst_block_size(SstBlockSize::Block16Kib)
        .with_db_cache(cache, CACHE_SCOPE)
        .with_write_runtime(commit_runtime.clone())
        .with_metrics_recorder(figures.recorder());
    let journal = match core.settings.journal {
        JournalKind::Store => Journal::Store,
    };
    let db = builder
        .build()
        .await
        .map_err(|error| OpenError::Store(Arc::new(error)))?;
    Ok(Opened {
        db,
        journal,
        figures,
    })
}
