//! The bytes of all files of the databases and of the WAL, by use.

use std::collections::HashSet;

use super::core::Core;
use crate::StoredBytes;

/// The bytes of all files; `None` while they are not known: at the start, and while databases are being reopened.
pub(super) fn stored_bytes(core: &Core) -> Option<StoredBytes> {
    let log = core.wal()?.wal.segment_bytes();
    let mut listed = HashSet::new();
    for open in core.open_ranges().iter().filter(|open| !open.is_closed()) {
        let manifest = open.database()?.db.manifest();
        listed.extend(manifest.all_sst_views().map(|view| view.sst.id));
    }
    let (live, replaced) = core.context.data_files.live_and_others(&listed)?;
    Some(StoredBytes {
        live,
        replaced,
        log,
    })
}
