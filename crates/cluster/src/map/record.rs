//! The stored partition map and its next versions. `docs/format/map.md` describes the bytes.

use super::checksum::{self, Checksum, FORMAT, FORMAT_WITHOUT_CHECKSUM};
use super::key_text;
use super::partition_map::Epoch;
use super::range_spec::RangeSpec;
use bytes::Bytes;
use partita_range::{Bounds, RangeId};
use serde::{Deserialize, Serialize};

/// One version of the map: the ranges, the undecided change, and the databases to delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapRecord {
    /// The format of the record.
    pub format: u32,
    /// The version number, increased by one with each stored version.
    pub version: u64,
    /// The checksum of the version before; `None` in the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Checksum>,
    /// The term of the manager that made it, a random number. Absent in a store that belongs to one process. So a manager
    /// that reads a record knows whether it is its own, although another could have made the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<u64>,
    /// The id of the next new range. Ids are never reused.
    pub next_range: u64,
    /// The epoch of the next new range.
    pub next_epoch: Epoch,
    /// The ranges in key order: the first begins with the empty key, each ends where the next begins.
    pub ranges: Vec<RangeRecord>,
    /// The undecided change. The next version decides it: either with the new ranges, or rolled back.
    pub change: Option<ChangeRecord>,
    /// Databases of replaced ranges. Each is deleted once nothing reads its files.
    #[serde(rename = "orphans")]
    pub pending_deletion: Vec<u64>,
}

/// A range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRecord {
    /// The id of the range and of its database.
    pub id: u64,
    /// The epoch under which it is served.
    pub epoch: Epoch,
    /// Its first key.
    #[serde(with = "key_text")]
    pub start: Bytes,
}

/// A change that has started, and the ids it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ChangeRecord {
    /// Splits a range into two.
    Split {
        /// The range.
        range: u64,
        /// The first key of the right range.
        #[serde(with = "key_text")]
        at: Bytes,
        /// The new range before the key.
        left: u64,
        /// The new range that starts at the key.
        right: u64,
    },
    /// Merges two neighbours.
    Merge {
        /// The left neighbour.
        left: u64,
        /// The right neighbour.
        right: u64,
        /// The new range.
        into: u64,
    },
}

impl ChangeRecord {
    /// The replaced ranges.
    pub(crate) fn replaced(&self) -> Vec<RangeId> {
        match *self {
            Self::Split { range, .. } => vec![RangeId(range)],
            Self::Merge { left, right, .. } => vec![RangeId(left), RangeId(right)],
        }
    }

    /// The new ranges.
    pub(crate) fn created(&self) -> Vec<RangeId> {
        match *self {
            Self::Split { left, right, .. } => vec![RangeId(left), RangeId(right)],
            Self::Merge { into, .. } => vec![RangeId(into)],
        }
    }
}

impl MapRecord {
    /// The map of a new store: one range for the whole key space.
    #[must_use]
    pub fn first() -> Self {
        Self {
            format: FORMAT,
            version: 1,
            previous: None,
            writer: None,
            next_range: 2,
            next_epoch: Epoch(2),
            ranges: vec![RangeRecord {
                id: 1,
                epoch: Epoch(1),
                start: Bytes::new(),
            }],
            change: None,
            pending_deletion: Vec::new(),
        }
    }

    /// The ranges with their bounds, in key order.
    pub fn specs(&self) -> impl Iterator<Item = RangeSpec> + '_ {
        let ends = self.ranges.iter().skip(1).map(|next| &next.start);
        let ends = ends.map(|end| Some(end.clone())).chain([None]);
        self.ranges.iter().zip(ends).map(|(range, end)| RangeSpec {
            id: RangeId(range.id),
            epoch: range.epoch,
            bounds: Bounds {
                start: range.start.clone(),
                end,
            },
        })
    }

    /// A range with its bounds.
    pub(crate) fn spec(&self, id: RangeId) -> Option<RangeSpec> {
        self.specs().find(|range| range.id == id)
    }

    /// Whether a database belongs to a range of the map or to the undecided change, or is pending deletion.
    pub(crate) fn tracks(&self, database: RangeId) -> bool {
        let is_served = self.ranges.iter().any(|range| range.id == database.0);
        let is_new = |change: &ChangeRecord| change.created().contains(&database);
        is_served
            || self.pending_deletion.contains(&database.0)
            || self.change.as_ref().is_some_and(is_new)
    }

    /// The next version, which begins `change` and uses its ids and epoch.
    pub(crate) fn begin(&self, change: ChangeRecord) -> Self {
        debug_assert!(self.change.is_none(), "one change at a time");
        let mut next = self.next();
        next.next_range += change.created().len() as u64;
        next.next_epoch = Epoch(self.next_epoch.0 + 1);
        next.change = Some(change);
        next
    }

    /// The version that decides the change: replaces the old ranges by `new`.
    pub(crate) fn decide(&self, new: &[RangeSpec]) -> Self {
        let mut next = self.next();
        let replaced = next.change.take().map(|change| change.replaced());
        let old: Vec<u64> = replaced.iter().flatten().map(|id| id.0).collect();
        next.ranges.retain(|range| !old.contains(&range.id));
        next.ranges.extend(new.iter().map(|range| RangeRecord {
            id: range.id.0,
            epoch: range.epoch,
            start: range.bounds.start.clone(),
        }));
        next.ranges.sort_by(|a, b| a.start.cmp(&b.start));
        next.pending_deletion.extend(old);
        next
    }

    /// The version that rolls back the change. The databases in `left` could not be removed and become pending
    /// deletion.
    pub(crate) fn roll_back(&self, left: impl IntoIterator<Item = RangeId>) -> Self {
        let mut next = self.next();
        next.change = None;
        next.pending_deletion
            .extend(left.into_iter().map(|id| id.0));
        next
    }

    /// The next version, without these deleted databases.
    pub(crate) fn forget(&self, gone: &[RangeId]) -> Self {
        let mut next = self.next();
        next.pending_deletion
            .retain(|id| !gone.contains(&RangeId(*id)));
        next
    }

    /// The next version, with the same content in the present format, which has a checksum.
    pub(crate) fn next(&self) -> Self {
        Self {
            format: FORMAT,
            version: self.version + 1,
            previous: Some(self.checksum()),
            ..self.clone()
        }
    }

    /// Whether the record has no checksum.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.format == FORMAT_WITHOUT_CHECKSUM
    }

    /// Whether the record's `previous` is the checksum of `before`, the version before it. Without `previous`, whether
    /// `before` has no checksum either.
    pub(super) fn follows(&self, before: &Self) -> bool {
        match self.previous {
            Some(previous) => previous == before.checksum(),
            None => before.is_unchecked(),
        }
    }

    /// The ranges that the undecided change creates.
    pub(crate) fn created(&self) -> Vec<RangeId> {
        let change = self.change.iter();
        change.flat_map(ChangeRecord::created).collect()
    }

    /// The checksum of the record, which the next version repeats.
    pub(super) fn checksum(&self) -> Checksum {
        Checksum::of(self)
    }

    /// The stored text.
    pub(super) fn encode(&self) -> Vec<u8> {
        checksum::encode(self)
    }

    /// Reads the record of `version`, and checks that it can be used.
    pub(super) fn decode(version: u64, text: &[u8]) -> Result<Self, String> {
        let record: Self = checksum::decode(text)?;
        record.check()?;
        if record.version != version {
            return Err("the version in the record differs from the object name".to_owned());
        }
        Ok(record)
    }

    /// Checks that this version can use the record: complete key space, valid ids and epochs.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let has_previous = !self.is_unchecked() && self.version > 1;
        if self.previous.is_some() != has_previous {
            return Err("the checksum of the version before is missing or unexpected");
        }
        check_starts(self.ranges.iter().map(|range| &range.start))?;
        let mut ids: Vec<u64> = self.ranges.iter().map(|range| range.id).collect();
        ids.extend(&self.pending_deletion);
        let created = self.change.iter().flat_map(ChangeRecord::created);
        ids.extend(created.map(|id| id.0));
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() < count || ids.last().is_some_and(|last| *last >= self.next_range) {
            return Err("an id is used twice, or is not below the next id");
        }
        let mut epochs = self.ranges.iter().map(|range| range.epoch);
        if epochs.any(|epoch| epoch >= self.next_epoch) {
            return Err("an epoch is not below the next epoch");
        }
        Ok(())
    }
}

/// Checks that ranges with these start keys cover the key space: the first key is empty, and the keys ascend.
///
/// # Errors
/// A description of the fault.
pub fn check_starts<'k>(starts: impl Iterator<Item = &'k Bytes>) -> Result<(), &'static str> {
    let starts: Vec<&Bytes> = starts.collect();
    if starts.first().is_none_or(|first| !first.is_empty()) {
        return Err("the first range does not begin at the empty key");
    }
    if !starts.is_sorted_by(|a, b| a < b) {
        return Err("the ranges are not in key order");
    }
    Ok(())
}
