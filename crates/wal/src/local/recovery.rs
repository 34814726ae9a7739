//! Reading the log back after a stop of any kind.
//!
//! A crash can damage the last group only, because the next one is begun after the last is on the disk. So the rules are:
//! - A record that is not whole ends its segment. Whole ones of its group may lie behind it; the next segment begins anew.
//! - The groups of what follows, in this segment or a later one, must go on without a gap. If a whole record of a later
//!   group is found behind a damaged one, the damaged one had been acknowledged: that is an error.
//! - What came before the first segment was given up, so the first record may be of any group. It may also be the torn one: a
//!   segment is given up as soon as nobody needs it, and the next group may be the first of its segment.
//! - Segments behind the last record are empty and ready for use.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use bytes::Bytes;
use slatedb::RowEntry;

use super::format::{self, FramedRecord, HeaderFault, SECTOR_BYTES, SegmentHeader};
use super::segment::Segment;
use super::{Disk, RangeId, WalId, display, segment_path};

/// A record read back.
#[derive(Clone, Debug)]
pub struct Record {
    framed: FramedRecord,
    body: Bytes,
}

impl Record {
    /// Whose rows they are.
    pub fn range(&self) -> RangeId {
        self.framed.header.range
    }

    /// The record's number in its range.
    pub fn wal_id(&self) -> WalId {
        self.framed.header.wal_id
    }

    /// Bytes of its rows.
    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Its rows, or nothing when they are not in the form this version writes.
    pub fn rows(&self) -> Option<Vec<RowEntry>> {
        format::decode_rows(
            self.body.clone(),
            self.framed.row_count,
            self.framed.header.seq,
        )
    }
}

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenLogError {
    /// The file system refused.
    #[error("cannot read the log")]
    Io(#[from] io::Error),
    /// A segment is of a version this binary does not know.
    #[error("{path} has log format {found}, which this version of partita does not read")]
    UnknownVersion {
        /// The segment.
        path: String,
        /// The version it says it has.
        found: u32,
    },
    /// Something is damaged that no crash damages.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The segment.
        path: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// What was found.
pub(super) struct Found {
    /// The records, in order.
    pub(super) records: Vec<Record>,
    /// Segments that hold records, and any before them, oldest first.
    pub(super) used: Vec<Segment>,
    /// Segments behind the last record, oldest first.
    pub(super) empty: Vec<Segment>,
    /// Where in the last used segment the next record goes.
    pub(super) end: u64,
    /// Whether something of a torn group lies behind that.
    pub(super) remains: bool,
    /// The number of the next group.
    pub(super) next_group: u64,
    /// The number of the next segment.
    pub(super) next_number: u64,
}

/// Reads all segments in `directory`.
pub(super) fn recover(directory: &Path, disk: &dyn Disk) -> Result<Found, OpenLogError> {
    let mut found = Found {
        records: Vec::new(),
        used: Vec::new(),
        empty: Vec::new(),
        end: SECTOR_BYTES,
        remains: false,
        next_group: 1,
        next_number: 1,
    };
    for number in segment_numbers(directory)? {
        let path = segment_path(directory, number);
        let (mut segment, content) = read_segment(&path, number)?;
        let (records, torn) = read_records(&path, segment.salt(), &content, &mut found)?;
        if records.is_empty() && !torn {
            found.empty.push(segment);
        } else {
            found.remains = torn;
            for record in &records {
                segment.note(record.range(), record.wal_id());
            }
            // An empty segment before one with records is only possible when the log was begun afresh; nobody needs it, and
            // it goes with the others.
            found.used.append(&mut found.empty);
            found.used.push(segment);
            found.records.extend(records);
        }
        found.next_number = number + 1;
    }
    disk.sync_directory(directory)?;
    Ok(found)
}

/// The numbers of the segments, in order. Removes what was never finished.
fn segment_numbers(directory: &Path) -> Result<Vec<u64>, OpenLogError> {
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
                .map_err(|_| damaged(&entry.path(), "its name is not a number"))?;
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn read_segment(path: &Path, number: u64) -> Result<(Segment, Bytes), OpenLogError> {
    let content = Bytes::from(fs::read(path)?);
    let header = SegmentHeader::decode(&content).map_err(|fault| match fault {
        HeaderFault::Damaged => damaged(path, "its header is not one"),
        HeaderFault::Version(found) => OpenLogError::UnknownVersion {
            path: display(path),
            found,
        },
    })?;
    if header.number != number {
        return Err(damaged(path, "its name is not the number in its header"));
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    Ok((Segment::new(file, header), content))
}

/// The records of one segment, and whether something of a torn group lies behind them. Moves `found.end` and `found.next_group` behind them.
fn read_records(
    path: &Path,
    salt: u64,
    content: &Bytes,
    found: &mut Found,
) -> Result<(Vec<Record>, bool), OpenLogError> {
    let mut records = Vec::new();
    let mut offset = sector(1);
    let mut last_group = found.next_group - 1;
    // The very first record may have any number: what came before it was given up. Unless that is torn: then it is written again, with
    // its number, or nothing follows it.
    let any_group = found.records.is_empty() && !found.remains;
    while let Some(rest) = rest(content, offset) {
        let Some((framed, body)) = format::decode_record(salt, &rest) else {
            break;
        };
        let group = framed.header.group;
        let first = any_group && records.is_empty();
        if !first && group != last_group && group != last_group + 1 {
            return Err(damaged(
                path,
                "groups are missing before one of its records",
            ));
        }
        last_group = group;
        offset += format::framed_bytes(&framed);
        records.push(Record { framed, body });
    }
    let nothing_before = any_group && records.is_empty();
    let torn = torn_group(salt, content, offset).filter(|_| nothing_before);
    let behind = last_group_behind(salt, content, offset);
    // The group that was torn is the last one read, or the next. Where nothing was read its own header must say which it is, or
    // the damaged record may have been one before it.
    if behind.is_some_and(|group| group > torn.unwrap_or(last_group + 1)) {
        return Err(damaged(path, "a record is damaged that others follow"));
    }
    if let Some(torn) = torn {
        found.next_group = torn;
    }
    if !records.is_empty() {
        found.next_group = last_group + 1;
        found.end = offset as u64;
    }
    Ok((records, behind.is_some()))
}

/// The group of the record at `offset`, which is not whole, if its header is.
fn torn_group(salt: u64, content: &Bytes, offset: usize) -> Option<u64> {
    let framed = format::decode_record_header(salt, &rest(content, offset)?)?;
    Some(framed.header.group)
}

/// The latest group of which a record begins at `offset` or anywhere behind.
fn last_group_behind(salt: u64, content: &Bytes, mut offset: usize) -> Option<u64> {
    let mut last = None;
    while let Some(rest) = rest(content, offset) {
        if let Some(framed) = format::decode_record_header(salt, &rest) {
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

fn damaged(path: &Path, what: &'static str) -> OpenLogError {
    OpenLogError::Damaged {
        path: display(path),
        what,
    }
}
