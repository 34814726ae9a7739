//! The file layout of a database, from its manifest.

use std::ops::{Bound, RangeBounds};

use bytes::Bytes;
use slatedb::VersionedManifest;
use slatedb::manifest::SsTableView;

use crate::{FileLayout, KeyRange};

/// The layout of a manifest's files. `share` returns the share of a file's blocks that the database shows, if it is known;
/// otherwise the bytes of a file that is shown in part are estimated from its first and last key.
pub(super) fn of(
    manifest: &VersionedManifest,
    share: impl Fn(&SsTableView) -> Option<f64>,
) -> FileLayout {
    let mut files_by_key = Vec::new();
    let (mut bytes, mut files) = (0, 0);
    for view in manifest.all_sst_views() {
        let (first, mut visible_bytes) = visible(view);
        if let Some(share) = view.visible_range().and_then(|_| share(view)) {
            visible_bytes = (view.estimate_size() as f64 * share) as u64;
        }
        files += 1;
        bytes += visible_bytes;
        files_by_key.push((first, visible_bytes));
    }
    files_by_key.sort();
    FileLayout {
        bytes,
        files,
        // A source stays listed, without files, until the last checkpoint from before the compaction is released.
        sources: manifest
            .external_dbs()
            .iter()
            .filter(|db| !db.sst_ids.is_empty())
            .count() as u64,
        kept: manifest.external_dbs().len() as u64,
        newest_rewritten: newest_rewritten(manifest),
        files_by_key,
    }
}

/// The keys of each file, clipped to those that the database shows.
pub(super) fn key_ranges(manifest: &VersionedManifest) -> Vec<KeyRange> {
    manifest.all_sst_views().filter_map(key_range).collect()
}

/// The keys of a file, clipped to those that the database shows; `None` if it shows none.
pub(super) fn key_range(view: &SsTableView) -> Option<KeyRange> {
    let first = view.sst.info.first_entry.clone()?;
    let last = view.sst.info.last_entry.clone();
    let mut range = whole_key_range(view)?;
    if let Some(visible) = view.visible_range() {
        if let Bound::Included(start) | Bound::Excluded(start) = visible.start_bound()
            && *start >= first
        {
            range.start = visible.start_bound().cloned();
        }
        if let Bound::Included(end) | Bound::Excluded(end) = visible.end_bound()
            && last.is_some_and(|last| *end <= last)
        {
            range.end = visible.end_bound().cloned();
        }
    }
    (!range.is_empty()).then_some(range)
}

/// The keys of a file, also those that the database does not show.
pub(super) fn whole_key_range(view: &SsTableView) -> Option<KeyRange> {
    let first = view.sst.info.first_entry.clone()?;
    let last = view.sst.info.last_entry.clone();
    Some(KeyRange {
        end: Bound::Included(last.unwrap_or_else(|| first.clone())),
        start: Bound::Included(first),
    })
}

/// The name of the newest flushed file in the manifest: a file in level 0, or the last file that a compaction consumed.
/// Names begin with the creation time, so they sort by time.
pub(super) fn newest_flushed(manifest: &VersionedManifest) -> Option<String> {
    let level0 = manifest.l0().iter().map(|view| view.sst.id.value());
    let newest = level0.max().or(manifest.last_compacted_l0_sst_view_id());
    newest.map(|id| id.to_string())
}

fn newest_rewritten(manifest: &VersionedManifest) -> Option<String> {
    let runs = manifest.compacted().iter();
    let files = runs.flat_map(|run| run.sst_views());
    let newest = files.map(|view| view.sst.id.value()).max();
    let newest = newest.map(|id| id.to_string());
    newest.filter(|newest| newest_flushed(manifest).as_ref() < Some(newest))
}

/// The first visible key of a file, and its visible bytes. The bytes are an estimate that assumes keys spread evenly
/// between the first and the last key of the file.
pub(super) fn visible(view: &SsTableView) -> (Bytes, u64) {
    let info = &view.sst.info;
    let first = info.first_entry.clone().unwrap_or_default();
    let last = info.last_entry.clone().unwrap_or_default();
    let whole = view.estimate_size();
    let Some(range) = view.visible_range() else {
        return (first, whole);
    };
    let start = match range.start_bound() {
        Bound::Included(start) | Bound::Excluded(start) if *start > first => start.clone(),
        _ => first.clone(),
    };
    let end = match range.end_bound() {
        Bound::Included(end) | Bound::Excluded(end) if *end < last => end.clone(),
        _ => last.clone(),
    };
    let at = |key: &Bytes| position(key, &first, &last);
    let seen = (at(&end) - at(&start)) / (at(&last) - at(&first)).max(1.0);
    let bytes = (whole as f64 * seen.clamp(0.0, 1.0)) as u64;
    (start, bytes)
}

/// The position of a key as a number: the eight bytes after the common prefix of the first and the last key.
fn position(key: &[u8], first: &[u8], last: &[u8]) -> f64 {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let mut eight = [0; 8];
    for (to, from) in eight.iter_mut().zip(key.iter().skip(common)) {
        *to = *from;
    }
    u64::from_be_bytes(eight) as f64
}
