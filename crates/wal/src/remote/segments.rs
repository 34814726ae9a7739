//! The objects of a log in memory, in runs that are released together.
//!
//! A *segment* is a run of consecutive objects of one log. It ends when it is long or old enough. Retention works on
//! whole segments, so that its work does not grow with the number of groups. Segments are released from the front only:
//! first those of earlier lives, then the own ones. So the records that stay have no gap.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::{Life, Options};
use crate::retention::{Contents, Retained, Retention};
use crate::{RangeId, WalId};

/// A run of objects.
pub(super) struct Segment {
    life: Life,
    /// The number of its first object.
    first: u64,
    contents: Contents,
    bytes: u64,
    /// When its first record was added.
    began: Instant,
}

/// The segments of a WAL, oldest first.
pub(super) struct Segments {
    options: Options,
    sealed: VecDeque<Segment>,
    /// The segment of the next group.
    open: Segment,
    /// The number of the next object.
    next: u64,
    /// Bytes of the released segments whose objects are not deleted yet.
    released_bytes: u64,
}

impl Segment {
    fn new(life: Life, first: u64) -> Self {
        Self {
            life,
            first,
            contents: Contents::default(),
            bytes: 0,
            began: Instant::now(),
        }
    }
}

impl Retained for Segment {
    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn age(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Segments {
    /// The segments of a log whose next object is `next`.
    pub(super) fn new(options: Options, life: Life, next: u64) -> Self {
        Self {
            options,
            sealed: VecDeque::new(),
            open: Segment::new(life, next),
            next,
            released_bytes: 0,
        }
    }

    /// The number of the next object.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Adds the next object, a group of `bytes` bytes with these records.
    pub(super) fn add(&mut self, bytes: u64, records: impl Iterator<Item = (RangeId, WalId)>) {
        self.end_if_old();
        if self.open.contents.is_empty() {
            self.open.began = Instant::now();
        }
        self.next += 1;
        self.open.bytes += bytes;
        for (range, wal_id) in records {
            self.open.contents.add(range, wal_id);
        }
        // A run without records would be released at once, and the group that says so would be another one.
        if !self.open.contents.is_empty() && self.open.bytes >= self.options.segment_bytes {
            self.end();
        }
    }

    /// Continues with the objects of another log, from `next` on.
    pub(super) fn continue_in(&mut self, life: Life, next: u64) {
        self.next = next;
        self.end();
        self.open.life = life;
    }

    /// Ends the open segment if its records are old.
    pub(super) fn end_if_old(&mut self) {
        if !self.open.contents.is_empty() && self.open.age() >= self.options.segment_age() {
            self.end();
        }
    }

    /// Ends the open segment if it has only released records.
    pub(super) fn end_if_released(&mut self, retention: &Retention) {
        if !self.open.contents.is_empty() && retention.is_released(&self.open) {
            self.end();
        }
    }

    fn end(&mut self) {
        let following = Segment::new(self.open.life, self.next);
        let ended = std::mem::replace(&mut self.open, following);
        self.sealed.push_back(ended);
    }

    /// Removes the released segments at the front.
    pub(super) fn release(&mut self, retention: &Retention) {
        while let Some(segment) = self
            .sealed
            .pop_front_if(|first| retention.is_released(first))
        {
            self.released_bytes += segment.bytes;
        }
    }

    /// The lowest number of the own log that is needed.
    pub(super) fn floor(&self) -> u64 {
        let mut sealed = self.sealed.iter();
        let first = sealed.find(|segment| segment.life == self.open.life);
        first.unwrap_or(&self.open).first
    }

    /// Whether an object of this log is needed.
    pub(super) fn needs(&self, life: Life) -> bool {
        let mut sealed = self.sealed.iter();
        self.open.life == life || sealed.any(|segment| segment.life == life)
    }

    /// The segments that are not written any more.
    pub(super) fn sealed(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.sealed.iter()
    }

    /// The number of segments with objects that are needed.
    pub(super) fn count(&self) -> u64 {
        self.sealed.len() as u64 + 1
    }

    /// Bytes of the objects that are needed.
    pub(super) fn live_bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(Retained::bytes).sum();
        sealed + self.open.bytes
    }

    /// Bytes of the objects that are needed or not deleted yet.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.live_bytes() + self.released_bytes
    }

    /// Notes that all released objects are deleted.
    pub(super) fn forget_released(&mut self) {
        self.released_bytes = 0;
    }
}
