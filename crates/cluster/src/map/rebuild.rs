//! Rebuilds a version of the map from the serving records, for a store whose map is lost.

use super::contents::StoreContents;
use super::finding::Trace;
use super::partition_map::Epoch;
use super::record::{MapRecord, RangeRecord};
use super::serving::ServingRecord;
use partita_engine::StoredFiles;
use partita_range::{Bounds, RangeId};
use std::cmp::Reverse;

/// Why the map cannot be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// A serving record cannot be read, so its range is unknown.
    #[error("the serving record of range {0} cannot be read")]
    Unreadable(RangeId),
    /// A database has no serving record: it may hold the newest rows, or belong to a change that was not completed.
    #[error("database range-{0} has no serving record")]
    Unexplained(RangeId),
    /// A range has no database.
    #[error("database range-{0} is missing")]
    DatabaseMissing(RangeId),
    /// The newest serving records leave keys without a range.
    #[error("the serving records do not cover every key exactly once: {0}")]
    Coverage(&'static str),
}

/// The next version of the map, if the serving records determine it: of two records whose keys overlap, the range with
/// the greater epoch replaced the other. Replaced databases become pending deletion. Only for a store that
/// [`super::check`] refuses because versions are missing or unreadable.
///
/// # Errors
/// [`RebuildError`].
pub fn rebuild(contents: &StoreContents) -> Result<MapRecord, RebuildError> {
    let mut records = Vec::new();
    for kept in &contents.map.serving {
        let record = kept.record.as_ref();
        records.push(record.map_err(|_| RebuildError::Unreadable(kept.range))?);
    }
    records.sort_by_key(|record| Reverse(record.epoch));
    let (mut served, mut replaced): (Vec<&ServingRecord>, Vec<u64>) = (Vec::new(), Vec::new());
    for record in records {
        let bounds = record.spec().bounds;
        match served.iter().any(|it| overlap(&it.spec().bounds, &bounds)) {
            true => replaced.push(record.range),
            false => served.push(record),
        }
    }
    served.sort_by(|a, b| a.start.cmp(&b.start));
    let next_starts = served.iter().skip(1).map(|next| Some(&next.start));
    let is_joined = served
        .iter()
        .zip(next_starts.chain([None]))
        .all(|(record, next)| record.end.as_ref() == next);
    if !is_joined {
        return Err(RebuildError::Coverage("a range ends before the next one"));
    }
    check_databases(contents, &served, &replaced)?;
    let record = next_version(contents, &served, replaced);
    record.check().map_err(RebuildError::Coverage)?;
    Ok(record)
}

fn overlap(a: &Bounds, b: &Bounds) -> bool {
    let ends_after = |end: Option<&bytes::Bytes>, start| end.is_none_or(|end| end > start);
    ends_after(a.end.as_ref(), &b.start) && ends_after(b.end.as_ref(), &a.start)
}

fn check_databases(
    contents: &StoreContents,
    served: &[&ServingRecord],
    replaced: &[u64],
) -> Result<(), RebuildError> {
    let is_served = |range: RangeId| served.iter().any(|record| record.range == range.0);
    for database in &contents.ranges.databases {
        if !is_served(database.range) && !replaced.contains(&database.range.0) {
            return Err(RebuildError::Unexplained(database.range));
        }
    }
    for record in served {
        let range = RangeId(record.range);
        let mut databases = contents.ranges.databases.iter();
        let is_there =
            databases.any(|it| it.range == range && matches!(it.files, StoredFiles::Keys(_)));
        if !is_there {
            return Err(RebuildError::DatabaseMissing(range));
        }
    }
    Ok(())
}

/// The rebuilt version. Its numbers are greater than all numbers that the store contains.
fn next_version(
    contents: &StoreContents,
    served: &[&ServingRecord],
    pending_deletion: Vec<u64>,
) -> MapRecord {
    let (mut version, mut last_range, mut last_epoch) = (0, 0, 0);
    for (range, trace) in contents.traces() {
        last_range = last_range.max(range.0);
        if let Trace::Served(_, named) = trace {
            version = version.max(named);
        }
    }
    let mut before = None;
    for kept in &contents.map.versions {
        version = version.max(kept.version);
        if let Ok(record) = &kept.record {
            last_range = last_range.max(record.next_range.saturating_sub(1));
            last_epoch = last_epoch.max(record.next_epoch.0.saturating_sub(1));
            before = Some(record);
        }
    }
    for kept in &contents.map.serving {
        let epoch = kept.record.as_ref().map_or(0, |record| record.epoch.0);
        last_epoch = last_epoch.max(epoch);
    }
    let before = before.cloned().unwrap_or_else(MapRecord::first);
    let ranges = served.iter().map(|record| RangeRecord {
        id: record.range,
        epoch: record.epoch,
        start: record.start.clone(),
    });
    MapRecord {
        version: version.max(before.version) + 1,
        next_range: last_range + 1,
        next_epoch: Epoch(last_epoch + 1),
        ranges: ranges.collect(),
        change: None,
        pending_deletion,
        ..before.next()
    }
}
