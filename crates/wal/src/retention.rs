//! Retention of records: which segments are fully released, and which ranges must flush to release more segments.
//!
//! A WAL is a sequence of segments. The last segment is open for writing; the others are full and never written again
//! (*sealed*). Segments are removed in order, each once the databases have flushed all its records. So a range that
//! does not flush pins its oldest record and all segments after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{RangeId, WalId};

/// The last record of each range in a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents(BTreeMap<RangeId, WalId>);

impl Contents {
    /// Adds a record that was appended.
    pub(crate) fn add(&mut self, range: RangeId, wal_id: WalId) {
        self.0.insert(range, wal_id);
    }

    /// Whether there are no records.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has_beyond(&self, range: RangeId, wal_id: WalId) -> bool {
        self.0.get(&range).is_some_and(|last| *last > wal_id)
    }
}

/// The properties of a segment that retention needs.
pub(crate) trait Retained {
    /// The last record of each range in it.
    fn contents(&self) -> &Contents;

    /// Its length in bytes.
    fn bytes(&self) -> u64;

    /// The time since its first record was written, if the WAL limits the age of records.
    fn age(&self) -> Duration {
        Duration::ZERO
    }
}

/// The limits of a WAL's length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// A range is due for a flush when it pins this many bytes of sealed segments.
    pub(crate) flush_after_bytes: u64,
    /// The same when more than [`FEW_RANGES`] ranges have unflushed records.
    pub(crate) flush_many_after_bytes: u64,
    /// A range is due for a flush when a sealed segment with its records is this old.
    pub(crate) flush_after_age: Duration,
    /// Groups are refused while the WAL is this long.
    pub(crate) live_bytes_max: u64,
}

/// How many ranges may have unflushed records before each waits longer for its flush. Ranges that share the WAL are due
/// after the same number of its bytes, so 64 ranges would write files of a 64th of that.
pub(crate) const FEW_RANGES: usize = 4;

/// How many segments stay free for groups while many ranges flush.
const FREE_SEGMENTS: u64 = 3;

impl Limits {
    /// The limits of a WAL with segments of this size, whose records may have any age.
    pub(crate) fn new(
        segment_bytes: u64,
        flush_after_segments: u64,
        live_segments_max: u64,
    ) -> Self {
        let many = live_segments_max.saturating_sub(FREE_SEGMENTS);
        Self {
            flush_after_bytes: flush_after_segments * segment_bytes,
            flush_many_after_bytes: many.max(flush_after_segments) * segment_bytes,
            flush_after_age: Duration::MAX,
            live_bytes_max: live_segments_max * segment_bytes,
        }
    }

    /// The length of a WAL as a share of the length that is too long for another group. A single segment is never too
    /// long: it can be removed only after the next segment exists.
    #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
    pub(crate) fn fullness(&self, segments: u64, bytes: u64) -> f64 {
        match segments {
            0 | 1 => 0.0,
            _ => bytes as f64 / self.live_bytes_max as f64,
        }
    }
}

/// For each range, its last record, and up to which record it is flushing or has flushed.
#[derive(Debug)]
pub(crate) struct Retention {
    limits: Limits,
    /// The last flushed record of each range.
    released_up_to: BTreeMap<RangeId, WalId>,
    /// The last record that the running flush of each range includes, as the caller of [`Retention::is_due`] last
    /// reported it.
    flushing_up_to: BTreeMap<RangeId, WalId>,
    /// The last record of each range: appended, or found when the WAL was opened.
    last: BTreeMap<RangeId, WalId>,
    /// The ranges whose last record is not flushed.
    unflushed: BTreeSet<RangeId>,
}

impl Retention {
    /// Retention of a WAL that was opened with these records.
    pub(crate) fn new(limits: Limits, records: impl Iterator<Item = (RangeId, WalId)>) -> Self {
        let mut retention = Self {
            limits,
            released_up_to: BTreeMap::new(),
            flushing_up_to: BTreeMap::new(),
            last: BTreeMap::new(),
            unflushed: BTreeSet::new(),
        };
        for (range, wal_id) in records {
            retention.add(range, wal_id);
        }
        retention
    }

    /// Adds a record that was appended.
    pub(crate) fn add(&mut self, range: RangeId, wal_id: WalId) {
        self.last.insert(range, wal_id);
        if self
            .released_up_to
            .get(&range)
            .is_none_or(|up_to| *up_to < wal_id)
        {
            self.unflushed.insert(range);
        }
    }

    /// How many bytes of sealed segments a range may pin.
    fn flush_after_bytes(&self) -> u64 {
        if self.unflushed.len() > FEW_RANGES {
            self.limits.flush_many_after_bytes
        } else {
            self.limits.flush_after_bytes
        }
    }

    /// The last record of `range`.
    pub(crate) fn last_of(&self, range: RangeId) -> Option<WalId> {
        self.last.get(&range).copied()
    }

    /// Releases the records of `range` up to `wal_id`.
    pub(crate) fn release(&mut self, range: RangeId, wal_id: WalId) {
        let up_to = self.released_up_to.entry(range).or_default();
        *up_to = wal_id.max(*up_to);
        if self.last.get(&range).is_none_or(|last| *last <= *up_to) {
            self.unflushed.remove(&range);
        }
    }

    /// Releases the records of all ranges except `known`.
    pub(crate) fn retain(&mut self, known: &BTreeSet<RangeId>) {
        let unknown = self.last.keys().filter(|range| !known.contains(range));
        let unknown: Vec<RangeId> = unknown.copied().collect();
        for range in unknown {
            self.release(range, WalId(u64::MAX));
        }
    }

    /// Whether all records of the segment are flushed.
    pub(crate) fn is_released(&self, segment: &impl Retained) -> bool {
        let mut records = segment.contents().0.iter();
        records.all(|(range, last)| {
            self.released_up_to
                .get(range)
                .is_some_and(|up_to| last <= up_to)
        })
    }

    /// See [`crate::Wal::is_due`].
    pub(crate) fn is_due<'s, S: Retained + 's>(
        &mut self,
        range: RangeId,
        flushing_up_to: WalId,
        sealed: impl Iterator<Item = &'s S>,
    ) -> bool {
        let kept = sealed.filter(|segment| segment.contents().has_beyond(range, flushing_up_to));
        let (mut kept_bytes, mut is_old) = (0, false);
        for segment in kept {
            kept_bytes += segment.bytes();
            is_old |= segment.age() >= self.limits.flush_after_age;
        }
        let due = kept_bytes >= self.flush_after_bytes() || is_old;
        // A range that is due flushes all its rows, so its flush includes its last record.
        let up_to = self.last_of(range).filter(|_| due);
        let up_to = up_to.unwrap_or(flushing_up_to);
        self.flushing_up_to.insert(range, up_to);
        due
    }

    /// See [`crate::Wal::stragglers`].
    pub(crate) fn stragglers<'s, S: Retained + 's>(
        &self,
        sealed: impl DoubleEndedIterator<Item = &'s S>,
    ) -> Vec<RangeId> {
        let up_to = |markers: &BTreeMap<RangeId, WalId>, range: &RangeId| {
            markers.get(range).copied().unwrap_or_default()
        };
        let keeps = |range: &RangeId, segment: &S| {
            let released = up_to(&self.released_up_to, range);
            let flushing = up_to(&self.flushing_up_to, range);
            segment
                .contents()
                .has_beyond(*range, released.max(flushing))
        };
        let (mut newer_bytes, flush_after_bytes) = (0, self.flush_after_bytes());
        let old = sealed.rev().filter(|segment| {
            newer_bytes += segment.bytes();
            newer_bytes > flush_after_bytes || segment.age() >= self.limits.flush_after_age
        });
        let mut ranges = BTreeSet::new();
        for segment in old {
            let here = segment.contents().0.keys();
            ranges.extend(here.filter(|range| keeps(range, segment)));
        }
        ranges.into_iter().collect()
    }
}
