//! Follows the damaged files of open databases: drops those that were replaced, and protects other ranges.

use slatedb::object_store::path::Path;

use super::core::Core;
use super::damage::version_of;
use super::database::Database;
use super::settings::LEVEL0_COUNT_BLOCKED;

/// Drops the files that were replaced, and those that no open database reads. Cancel safe.
pub(super) async fn recheck(core: &Core) {
    let damage = &core.context.damage;
    for (range, file, version) in damage.versions() {
        let database = core.open_range(range).and_then(|open| open.database());
        let is_read = database.is_some_and(|database| reads(&database, &file));
        let now = version_of(&*core.context.home.store, &file).await;
        let is_unchanged = now.is_none() || now == version;
        if !is_read || !is_unchanged {
            damage.drop_version(range, &file, version.as_ref());
        }
    }
}

/// Whether a database reads a file.
fn reads(database: &Database, file: &Path) -> bool {
    let Some(name) = file.filename().and_then(|name| name.strip_suffix(".sst")) else {
        return false;
    };
    let manifest = database.db.manifest();
    manifest
        .all_sst_views()
        .any(|view| view.sst.id.value().to_string() == name)
}

/// Blocks writes of ranges whose level 0 is nearly full, and which met a damaged file. Such a range cannot compact level
/// 0 if the file is in it. When level 0 is full, the range can no longer flush, and would pin the WAL,
/// so that all ranges would refuse writes.
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
