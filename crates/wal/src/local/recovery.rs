//! Reading the WAL after a stop or a crash.
//!
//! A crash can damage only the last group, because a group begins after the previous group is on the disk. Rules:
//! - An incomplete record ends its segment. Complete records of the same group may follow it. Writing continues in a
//!   new segment.
//! - Later groups, in this segment or later segments, must follow without a gap. A complete record of a later group
//!   after a damaged record means that the damaged record was acknowledged: an error.
//! - Segments before the first one were released, so the first record may have any group number. It may also be torn: a
//!   segment is recycled as soon as all its records are released, and the next group may be the first in its segment.
//! - Segments after the last record are empty and ready for use.

use std::fs;
use std::path::Path;

use super::format::SECTOR_BYTES;
use super::reader::{self, Position};
use super::segment::Segment;
use super::{Disk, segment_path};
use crate::{OpenWalError, Record};

/// The content of the directory.
pub(super) struct Recovered {
    /// The records, in order.
    pub(super) records: Vec<Record>,
    /// Segments with records, and all segments before them, oldest first.
    pub(super) used: Vec<Segment>,
    /// Empty segments after the last record, oldest first.
    pub(super) empty: Vec<Segment>,
    /// The offset of the next record in the last used segment.
    pub(super) end: u64,
    /// Whether parts of a torn group follow that offset.
    pub(super) has_remains: bool,
    /// The number of the next group.
    pub(super) next_group: u64,
    /// The number of the next segment.
    pub(super) next_number: u64,
}

/// Reads all segments in `directory`. Blocking.
pub(super) fn recover(directory: &Path, disk: &dyn Disk) -> Result<Recovered, OpenWalError> {
    let mut found = Recovered {
        records: Vec::new(),
        used: Vec::new(),
        empty: Vec::new(),
        end: SECTOR_BYTES,
        has_remains: false,
        next_group: 1,
        next_number: 1,
    };
    for number in segment_numbers(directory)? {
        let path = segment_path(directory, number);
        let (segment, content) = reader::read_segment(&path, number)?;
        let position = Position {
            next_group: found.next_group,
            any_group: found.records.is_empty() && !found.has_remains,
        };
        let read = reader::read_records(&path, segment.header.salt, &content, position)?;
        found.add(segment, read);
        found.next_number = number + 1;
    }
    disk.sync_directory(directory)?;
    Ok(found)
}

impl Recovered {
    fn add(&mut self, mut segment: Segment, read: reader::SegmentRecords) {
        self.next_group = read.next_group;
        if read.records.is_empty() && !read.has_remains {
            self.empty.push(segment);
            return;
        }
        if !read.records.is_empty() {
            self.end = read.end;
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

/// The numbers of the segments, in order. Removes unfinished files.
fn segment_numbers(directory: &Path) -> Result<Vec<u64>, OpenWalError> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.ends_with(".tmp") {
            fs::remove_file(entry.path())?;
        } else if let Some(number) = name.strip_suffix(".log") {
            let number = number
                .parse()
                .map_err(|_| reader::damaged(&entry.path(), "the file name is not a number"))?;
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}
