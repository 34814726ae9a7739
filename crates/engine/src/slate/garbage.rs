//! Garbage collection on request: removes the unread files of a database.

use std::collections::HashSet;

use futures::TryStreamExt;
use slatedb::object_store::path::Path;

use super::core::Core;
use super::database::Database;
use super::names::database_path;
use super::{file_layout, store_error, young_files};
use crate::{ChangeError, Collected};

/// Runs one pass of the database's garbage collection, which also detaches it from sources it no longer reads, and
/// checks for garbage that no pass will remove before the next flush.
pub(super) async fn collect(core: &Core, database: &Database) -> Result<Collected, ChangeError> {
    let path = database_path(database.range);
    let collector = young_files::collector(&core.context, path).build();
    collector.run_gc_once().await;
    let manifest = database.db.manifest();
    let flushed = file_layout::newest_flushed(&manifest);
    let used: HashSet<String> = manifest
        .all_sst_views()
        .map(|view| view.sst.id.value().to_string())
        .collect();
    let folder = Path::from(database_path(database.range)).join("compacted");
    let mut files = core.context.home.store.list(Some(&folder));
    while let Some(file) = files.try_next().await.map_err(store_error)? {
        let name = file.location.filename().unwrap_or_default();
        let name = name.strip_suffix(".sst").unwrap_or(name);
        if flushed.as_deref().is_none_or(|flushed| name > flushed) && !used.contains(name) {
            return Ok(Collected::UntilFlush);
        }
    }
    Ok(Collected::All)
}
