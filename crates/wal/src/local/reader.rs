//! Reads the records of one segment, and distinguishes a torn tail from damage.

use std::fs::{self, OpenOptions};
use std::path::Path;

use bytes::Bytes;

use super::format::{self, HeaderFault, SECTOR_BYTES, SegmentHeader};
use super::segment::Segment;
use crate::framing;
use crate::{OpenWalError, Record};

/// Reads a whole segment, whose file name contains `number`.
pub(super) fn read_segment(path: &Path, number: u64) -> Result<(Segment, Bytes), OpenWalError> {
    let content = Bytes::from(fs::read(path)?);
    let header = SegmentHeader::decode(&content).map_err(|fault| match fault {
        HeaderFault::Damaged => damaged(path, "the segment header fails its checksum"),
        HeaderFault::Version(found) => unknown_version(path, found),
    })?;
    if header.number != number {
        return Err(damaged(
            path,
            "the segment number in the header differs from the file name",
        ));
    }
    // A segment has its whole length on the disk before it is used, so a crash cannot change the length.
    if header.bytes != content.len() as u64 {
        return Err(damaged(
            path,
            "the file is shorter or longer than its segment header says",
        ));
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    Ok((Segment::new(file, header), content))
}

/// The position of a segment in its WAL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// The number that the next group must have, unless `any_group`.
    pub(super) next_group: u64,
    /// Whether the first record may have any group number: true until a record or a torn group was found, because
    /// earlier records may have been released.
    pub(super) any_group: bool,
}

/// The records of a segment.
#[derive(Debug)]
pub(super) struct SegmentRecords {
    pub(super) records: Vec<Record>,
    /// Where the last record ends.
    pub(super) end: u64,
    /// The number of the next group.
    pub(super) next_group: u64,
    /// Whether parts of a torn group follow the last record.
    pub(super) has_remains: bool,
}

/// Reads records up to the first incomplete record, and checks that no acknowledged record is missing.
pub(super) fn read_records(
    path: &Path,
    salt: u64,
    content: &Bytes,
    position: Position,
) -> Result<SegmentRecords, OpenWalError> {
    let mut records = Vec::new();
    let mut offset = sector(1);
    let mut last_group = position.next_group - 1;
    while let Some(rest) = rest(content, offset) {
        let Some((framed, body)) = framing::decode_record(salt, &rest) else {
            break;
        };
        let group = framed.header.group;
        let may_be_any = position.any_group && records.is_empty();
        if !may_be_any && group != last_group && group != last_group + 1 {
            return Err(damaged(
                path,
                "groups are missing before a record of this segment",
            ));
        }
        last_group = group;
        offset += format::framed_bytes(&framed);
        records.push(Record::new(framed.header.record, framed.row_count, body));
    }
    let nothing_before = position.any_group && records.is_empty();
    let torn = torn_group(salt, content, offset).filter(|_| nothing_before);
    let behind = last_group_behind(salt, content, offset);
    // The torn group is the last group read, or the next one. If no record was read, the header of the torn record must
    // contain its group; otherwise the damaged record may be of an earlier group.
    if behind.is_some_and(|group| group > torn.unwrap_or(last_group + 1)) {
        return Err(damaged(
            path,
            "an acknowledged record is damaged: later groups follow it",
        ));
    }
    let next_group = if records.is_empty() {
        torn.unwrap_or(position.next_group)
    } else {
        last_group + 1
    };
    Ok(SegmentRecords {
        records,
        end: offset as u64,
        next_group,
        has_remains: behind.is_some(),
    })
}

/// The group of the torn record at `offset`, if its header is undamaged.
fn torn_group(salt: u64, content: &Bytes, offset: usize) -> Option<u64> {
    let framed = framing::decode_record_header(salt, &rest(content, offset)?)?;
    Some(framed.header.group)
}

/// The latest group with a record at or after `offset`.
fn last_group_behind(salt: u64, content: &Bytes, mut offset: usize) -> Option<u64> {
    let mut last = None;
    while let Some(rest) = rest(content, offset) {
        if let Some(framed) = framing::decode_record_header(salt, &rest) {
            last = last.max(Some(framed.header.group));
        }
        offset += sector(1);
    }
    last
}

fn sector(count: usize) -> usize {
    count * SECTOR_BYTES as usize
}

fn rest(content: &Bytes, offset: usize) -> Option<Bytes> {
    (offset < content.len()).then(|| content.slice(offset..))
}

pub(super) fn unknown_version(path: &Path, found: u32) -> OpenWalError {
    OpenWalError::UnknownVersion {
        path: path.display().to_string(),
        found,
    }
}

pub(super) fn missing(path: &Path, what: &'static str) -> OpenWalError {
    OpenWalError::Missing {
        path: path.display().to_string(),
        what,
    }
}

pub(super) fn damaged(path: &Path, what: &'static str) -> OpenWalError {
    OpenWalError::Damaged {
        path: path.display().to_string(),
        what,
    }
}
