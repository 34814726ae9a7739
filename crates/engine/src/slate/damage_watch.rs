//! Maintains the list of damaged files: drops those that were replaced, and blocks writes of a range whose damage would
//! otherwise stop all ranges.

use slatedb::object_store::path::Path;

use super::core::Core;
use super::damage::{is_data_file, version_of};
use super::database::Database;
use super::settings::LEVEL0_COUNT_BLOCKED;

/// Drops a file from the list if it was replaced, or if the database of its range is closed or no longer reads the
/// file. Cancel safe.
pub(super) async fn recheck(core: &Core) {
    let damage = &core.context.damage;
    for (range, file, version) in damage.versions() {
        let database = core.open_range(range).and_then(|open| open.database());
        let is_read = database.is_some_and(|it| !is_data_file(&file) || reads(&it, &file));
        let now = version_of(&*core.context.home.store, &file).await;
        let is_unchanged = now.is_none() || now == version;
        if !is_read || !is_unchanged {
            damage.drop_version(range, &file, version.as_ref());
        }
    }
}

/// Whether a database reads a file.
pub(super) fn reads(database: &Database, file: &Path) -> bool {
    let Some(name) = file.filename().and_then(|name| name.strip_suffix(".sst")) else {
        return false;
    };
    let manifest = database.db.manifest();
    manifest
        .all_sst_views()
        .any(|view| view.sst.id.value().to_string() == name)
}

/// Blocks writes of ranges that have a damaged file and a nearly full level 0, and unblocks the other ranges. The
/// damage can prevent the compaction of level 0. When level 0 is full, the range can no longer flush and its records
/// stay in the WAL, until the WAL is full and all ranges refuse writes.
pub(super) fn block_writes(core: &Core) {
    for open in core.open_ranges() {
        let range = open.range;
        let is_full = || {
            let database = open.database();
            database.is_some_and(|it| it.db.manifest().l0().len() >= LEVEL0_COUNT_BLOCKED)
        };
        let blocks = core.context.damage.is_in(range) && is_full();
        if open.set_blocked(blocks) != blocks {
            if blocks {
                tracing::error!(%range, "refusing writes of a range: a damaged file blocks its compaction");
            } else {
                tracing::info!(%range, "writes of a range are accepted again");
            }
        }
    }
}
