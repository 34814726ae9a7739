//! Encodes the records of a group, and writes the group into a segment.

use std::io;

use super::Disk;
use super::format::{self, SECTOR_BYTES, Written};
use super::segment::Segment;
use crate::framing::{GroupHeader, Unfit};
use crate::retention::Retained;
use crate::{RangeId, RecordHeader, RecordSize, RowRef, WalId};

/// The buffer capacity kept between groups, so that one huge group does not occupy its memory forever.
const BUFFER_KEPT_BYTES: usize = 8 << 20;

/// Writes groups into a segment, one after the other.
pub(super) struct Writer {
    segment: Segment,
    /// The offset of the next group in the segment.
    offset: u64,
    /// The number of the next group.
    next_group: u64,
    /// The last group that this writer wrote.
    written: Option<Written>,
    /// The encoded records of the group.
    buffer: Vec<u8>,
    /// The range and the number of each record of the group.
    group: Vec<(RangeId, WalId)>,
}

impl Writer {
    pub(super) fn new(segment: Segment, offset: u64, next_group: u64) -> Self {
        Self {
            segment,
            offset,
            next_group,
            written: None,
            buffer: Vec::new(),
            group: Vec::new(),
        }
    }

    pub(super) fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The last group that this writer wrote, which is on the disk.
    pub(super) fn written(&self) -> Option<Written> {
        self.written
    }

    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.offset + bytes <= self.segment.bytes()
    }

    /// Whether the segment is at least a quarter full, so that another segment will be needed soon.
    pub(super) fn is_quarter_full(&self) -> bool {
        self.offset > self.segment.bytes() / 4
    }

    /// The number of the segment, and the offset of the next group in it.
    pub(super) fn position(&self) -> (u64, u64) {
        (self.segment.header.number, self.offset)
    }

    /// Whether a sixteenth of a segment was written since `position`, or another segment was begun.
    pub(super) fn has_moved_on_since(&self, position: (u64, u64)) -> bool {
        let (number, offset) = position;
        let moved = self.offset.saturating_sub(offset);
        self.segment.header.number != number || moved > self.segment.bytes() / 16
    }

    pub(super) fn group_is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// The encoded bytes of the group, which fill whole sectors.
    pub(super) fn group_bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    /// Continues in `next`, and returns the previous segment.
    pub(super) fn roll(&mut self, next: Segment) -> Segment {
        self.offset = SECTOR_BYTES;
        std::mem::replace(&mut self.segment, next)
    }

    /// Adds a record to the group.
    pub(super) fn add(
        &mut self,
        record: RecordHeader,
        size: RecordSize,
        rows: &mut dyn Iterator<Item = RowRef<'_>>,
    ) -> Result<(), Unfit> {
        let header = GroupHeader {
            group: self.next_group,
            record,
        };
        let before = self.buffer.len();
        let salt = self.segment.header.salt;
        let encoded = format::encode_record(&mut self.buffer, salt, &header, size, rows);
        let room = self.segment.bytes().saturating_sub(self.offset);
        if encoded.is_err() || self.buffer.len() as u64 > room {
            self.buffer.truncate(before);
            return Err(Unfit);
        }
        self.group.push((record.range, record.wal_id));
        Ok(())
    }

    /// Writes the group and returns once it is on the disk. Blocking.
    pub(super) fn write(&self, disk: &dyn Disk) -> io::Result<()> {
        disk.write_at(&self.segment.file, &self.buffer, self.offset)?;
        disk.sync(&self.segment.file)
    }

    /// Starts the next group after the current group was written, and reports the written records.
    pub(super) fn end_group(&mut self, mut report: impl FnMut(RangeId, WalId)) {
        self.offset += self.buffer.len() as u64;
        self.written = Some(Written {
            group: self.next_group,
            segment: self.segment.header.number,
        });
        self.next_group += 1;
        for (range, wal_id) in self.group.drain(..) {
            self.segment.contents.add(range, wal_id);
            report(range, wal_id);
        }
        self.buffer.clear();
        if self.buffer.capacity() > BUFFER_KEPT_BYTES {
            self.buffer = Vec::new();
        }
    }
}
