//! Planted bugs of the reader, see [`crate::planted`]. They run once for each version, file or WAL record.

use partita_wal::WalId;
use slatedb::RowEntry;
use slatedb::manifest::SsTableView;

use super::index::BlockIndex;
use crate::KeyRange;
use crate::planted::is_active;
use crate::slate::file_layout;

/// `reader-older-row-wins`: the runs are searched from the oldest to the newest.
pub(super) fn runs<R>(mut runs: Vec<R>) -> Vec<R> {
    if is_active("reader-older-row-wins") {
        runs.reverse();
    }
    runs
}

/// `reader-shows-hidden-rows`: a clone shows all rows of the files that it shares.
pub(super) fn keys(view: &SsTableView, visible: KeyRange) -> KeyRange {
    match is_active("reader-shows-hidden-rows") {
        true => file_layout::whole_key_range(view).unwrap_or(visible),
        false => visible,
    }
}

/// `reader-skips-last-block`: the last block of a file is not read.
pub(super) fn index(index: BlockIndex) -> BlockIndex {
    match is_active("reader-skips-last-block") {
        true => index.without_last_block(),
        false => index,
    }
}

/// `reader-drops-memtable`: memtables are dropped before their rows are in files.
pub(super) fn flushed(flushed: WalId) -> WalId {
    match is_active("reader-drops-memtable") {
        true => WalId(u64::MAX),
        false => flushed,
    }
}

/// `reader-ignores-deletions`: rows are not deleted until the deletion is in a file.
pub(super) fn rows(rows: &[RowEntry]) -> Vec<RowEntry> {
    let ignores = is_active("reader-ignores-deletions");
    let rows = rows
        .iter()
        .filter(|row| !ignores || !row.value.is_tombstone());
    rows.cloned().collect()
}
