//! Reading the WAL after a stop or a crash.
//!
//! A crash can damage only the last group, because a group begins after the previous group is on the disk. Rules:
//! - An incomplete record ends its segment. Complete records of the same group may follow it. Writing continues in a
//!   new segment.
//! - Later groups, in this segment or later segments, must follow without a gap. A complete record of a later group
//!   after a damaged record means that the damaged record was acknowledged: an error.
//! - Earlier segments may have been released, so the first record may have any group number. It may also be torn: all
//!   earlier segments can be released and recycled before it is written.
//! - Segments after the last record are empty and ready for use.
//!
//! The [`Head`](super::head) distinguishes a WAL that lost a file from one whose records were released:
//! - A listed segment must exist. An unlisted segment before the listed ones has only released records and is removed;
//!   after them it has no records.
//! - The group that the head records as the last written one must exist, unless its segment was released.
//! - Only a WAL of an earlier version may have no head.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::format::{HeadRecord, SECTOR_BYTES, VERSION_WITHOUT_HEAD, Written};
use super::head::head_path;
use super::reader::{self, Position};
use super::segment::Segment;
use super::{Disk, segment_path};
use crate::retention::Retained;
use crate::{OpenWalError, Record};

/// The content of the directory.
pub(super) struct Recovered {
    /// The records, in order.
    pub(super) records: Vec<Record>,
    /// Segments with records, and all segments before them, oldest first.
    pub(super) used: Vec<Segment>,
    /// The empty segments after the last record, oldest first.
    pub(super) empty: Vec<Segment>,
    /// The offset of the next record in the last used segment.
    pub(super) end: u64,
    /// Whether parts of a torn group follow that offset.
    pub(super) has_remains: bool,
    /// The number of the next group.
    pub(super) next_group: u64,
    /// The number of the next segment.
    pub(super) next_number: u64,
    /// The last group that was read and its segment.
    last: Option<Written>,
}

/// Reads all segments in `directory`, and checks them against the head. Blocking.
pub(super) fn recover(
    directory: &Path,
    disk: &dyn Disk,
    head: Option<&HeadRecord>,
) -> Result<Recovered, OpenWalError> {
    let mut found = Recovered {
        records: Vec::new(),
        used: Vec::new(),
        empty: Vec::new(),
        end: SECTOR_BYTES,
        has_remains: false,
        next_group: 1,
        next_number: 1,
        last: None,
    };
    let mut numbers = segment_numbers(directory, disk)?;
    if let Some(head) = head {
        check_listed(directory, &numbers, head)?;
        remove_released(directory, disk, &mut numbers, head)?;
    }
    for number in numbers {
        let path = segment_path(directory, number);
        let (segment, content) = reader::read_segment(&path, number)?;
        if head.is_none() && segment.header.version > VERSION_WITHOUT_HEAD {
            return Err(reader::missing(
                &head_path(directory),
                "it lists the segments of the WAL, and without it a lost segment would not be noticed",
            ));
        }
        let position = Position {
            next_group: found.next_group,
            any_group: found.records.is_empty() && !found.has_remains,
        };
        let read = reader::read_records(&path, segment.header.salt, &content, position)?;
        let is_used = !read.records.is_empty() || read.has_remains;
        if is_used && head.is_some_and(|head| !head.segments.contains(&number)) {
            return Err(reader::damaged(
                &head_path(directory),
                "it is older than the WAL: it does not list a segment that has records",
            ));
        }
        found.add(segment, read);
        found.next_number = number + 1;
    }
    if let Some(written) = head.and_then(|head| head.written) {
        found.check_end(directory, written)?;
    }
    disk.sync_directory(directory)?;
    Ok(found)
}

/// Checks that every listed segment exists.
fn check_listed(
    directory: &Path,
    numbers: &BTreeSet<u64>,
    head: &HeadRecord,
) -> Result<(), OpenWalError> {
    match head.segments.difference(numbers).next() {
        None => Ok(()),
        Some(number) => Err(reader::missing(
            &segment_path(directory, *number),
            "the head of the WAL lists this segment, which may hold acknowledged writes",
        )),
    }
}

/// Removes the segments before the listed ones: a kill interrupted the removal of released segments.
fn remove_released(
    directory: &Path,
    disk: &dyn Disk,
    numbers: &mut BTreeSet<u64>,
    head: &HeadRecord,
) -> Result<(), OpenWalError> {
    let Some(first) = head.segments.first() else {
        return Ok(());
    };
    let kept = numbers.split_off(first);
    for released in std::mem::replace(numbers, kept) {
        disk.remove(&segment_path(directory, released))?;
    }
    Ok(())
}

impl Recovered {
    /// The bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        let segments = self.used.iter().chain(&self.empty);
        segments.map(Retained::bytes).sum()
    }

    /// The numbers of all segments.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        let segments = self.used.iter().chain(&self.empty);
        segments.map(|segment| segment.header.number).collect()
    }

    /// Checks that no record is missing up to a group that was written. Its segment may have been released.
    fn check_end(&mut self, directory: &Path, written: Written) -> Result<(), OpenWalError> {
        let is_kept = self.numbers().contains(&written.segment);
        if is_kept && self.last.is_none_or(|last| last.group < written.group) {
            return Err(reader::damaged(
                &segment_path(directory, written.segment),
                "acknowledged records at its end are missing",
            ));
        }
        // Without records, only the head tells which group numbers were used.
        self.next_group = self.next_group.max(written.group + 1);
        Ok(())
    }

    fn add(&mut self, mut segment: Segment, read: reader::SegmentRecords) {
        self.next_group = read.next_group;
        if read.records.is_empty() && !read.has_remains {
            self.empty.push(segment);
            return;
        }
        if !read.records.is_empty() {
            self.end = read.end;
            self.last = Some(Written {
                group: read.next_group - 1,
                segment: segment.header.number,
            });
        }
        self.has_remains = read.has_remains;
        for record in &read.records {
            segment
                .contents
                .add(record.header.range, record.header.wal_id);
        }
        // An empty segment before one with records means that the WAL continued in a new segment after a failure. It
        // holds no records, and is released with the used segments.
        self.used.append(&mut self.empty);
        self.used.push(segment);
        self.records.extend(read.records);
    }
}

/// The numbers of the segments. Removes unfinished files.
fn segment_numbers(directory: &Path, disk: &dyn Disk) -> Result<BTreeSet<u64>, OpenWalError> {
    let mut numbers = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.ends_with(".tmp") {
            disk.remove(&entry.path())?;
        } else if let Some(number) = name.strip_suffix(".log") {
            let number = number
                .parse()
                .map_err(|_| reader::damaged(&entry.path(), "the file name is not a number"))?;
            numbers.insert(number);
        }
    }
    Ok(numbers)
}
