//! The bytes of a segment and of the head. `docs/format/log.md` describes them in prose; numbers are little endian.
//!
//! A segment is a header of one sector and then records, each at the start of a sector. Checksums of records include
//! the segment's salt, a random number. So the check fails for old bytes of a recycled file, and for a client's value
//! that looks like a record.

use std::collections::BTreeSet;

use bytes::{Buf, Bytes};

use crate::row::{ROW_HEADER_BYTES_MAX, encode_rows};
use crate::{RangeId, RecordHeader, RecordSize, RowRef, WalId};

/// The alignment of records: the smallest unit that a disk writes at once.
pub(super) const SECTOR_BYTES: u64 = 512;

const SECTOR: usize = 512;
const MAGIC: [u8; 8] = *b"PARTLOG\n";

/// The version of new segments. A WAL with such a segment has a head.
pub(super) const VERSION: u32 = 2;

/// The version of segments written before the head existed. Apart from the version their bytes are the same.
pub(super) const VERSION_WITHOUT_HEAD: u32 = 1;

/// Bytes of a slot of the head.
pub(super) const HEAD_SLOT_BYTES: usize = 4096;

const HEAD_MAGIC: [u8; 8] = *b"PARTHEAD";
const HEAD_VERSION: u32 = 1;

/// Bytes of a slot before the numbers of the segments.
const HEAD_FIXED_BYTES: usize = 40;

/// The maximum number of segments that fit into a slot before its checksum.
const HEAD_SEGMENTS_MAX: usize = (HEAD_SLOT_BYTES - 4 - HEAD_FIXED_BYTES) / 8;

/// Bytes of a record before its rows.
const RECORD_HEADER_BYTES: usize = 48;

/// The largest record in bytes: its length is stored in 32 bits.
pub(super) const RECORD_BYTES_MAX: u64 = u32::MAX as u64;

/// The first sector of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    /// Its format version.
    pub(super) version: u32,
    /// The sequence number of the segment in the WAL.
    pub(super) number: u64,
    /// A random number with which the checksum of every record of the segment starts.
    pub(super) salt: u64,
    /// The length of the whole segment in bytes.
    pub(super) bytes: u64,
}

/// Why the first sector of a segment, or a slot of the head, cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderFault {
    /// The sector or slot is damaged, or the file is not part of a WAL.
    Damaged,
    /// The format version is unknown to this binary.
    Version(u32),
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; SECTOR] {
        let mut sector = Vec::with_capacity(SECTOR);
        sector.extend(MAGIC);
        sector.extend(self.version.to_le_bytes());
        sector.extend(0_u32.to_le_bytes());
        sector.extend(self.number.to_le_bytes());
        sector.extend(self.salt.to_le_bytes());
        sector.extend(self.bytes.to_le_bytes());
        sector.resize(SECTOR - 4, 0);
        sector.extend(crc32fast::hash(&sector).to_le_bytes());
        sector.try_into().expect("the parts above fill one sector")
    }

    pub(super) fn decode(content: &[u8]) -> Result<Self, HeaderFault> {
        let sector = content.get(..SECTOR).ok_or(HeaderFault::Damaged)?;
        let (version, mut sector) = checked(sector, MAGIC)?;
        if !(VERSION_WITHOUT_HEAD..=VERSION).contains(&version) {
            return Err(HeaderFault::Version(version));
        }
        sector.advance(4);
        Ok(Self {
            version,
            number: sector.get_u64_le(),
            salt: sector.get_u64_le(),
            bytes: sector.get_u64_le(),
        })
    }
}

/// Checks a block that begins with `magic` and a version, and ends with the checksum of its other bytes. Returns the
/// version and the bytes between it and the checksum.
fn checked(block: &[u8], magic: [u8; 8]) -> Result<(u32, &[u8]), HeaderFault> {
    let (content, stored) = block.split_last_chunk::<4>().ok_or(HeaderFault::Damaged)?;
    let crc = crc32fast::hash(content);
    let rest = content.strip_prefix(&magic).ok_or(HeaderFault::Damaged)?;
    let (version, rest) = rest.split_first_chunk().ok_or(HeaderFault::Damaged)?;
    if *stored != crc.to_le_bytes() {
        return Err(HeaderFault::Damaged);
    }
    Ok((u32::from_le_bytes(*version), rest))
}

/// The last group that is known to be on the disk, and its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Written {
    /// The number of the group.
    pub(super) group: u64,
    /// The segment that holds its records.
    pub(super) segment: u64,
}

/// The content of a slot of the head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeadRecord {
    /// Increases by one with each update. The slot with the higher number counts.
    pub(super) update: u64,
    /// The WAL was written at least up to this group; `None` if no written group was recorded yet.
    pub(super) written: Option<Written>,
    /// The numbers of the segments that must exist.
    pub(super) segments: BTreeSet<u64>,
}

impl HeadRecord {
    /// `None` if it lists too many segments.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let count = u32::try_from(self.segments.len()).ok()?;
        if self.segments.len() > HEAD_SEGMENTS_MAX {
            return None;
        }
        let (group, segment) = self.written.map_or((0, 0), |it| (it.group, it.segment));
        let mut slot = Vec::with_capacity(HEAD_SLOT_BYTES);
        slot.extend(HEAD_MAGIC);
        slot.extend(HEAD_VERSION.to_le_bytes());
        slot.extend(count.to_le_bytes());
        slot.extend(self.update.to_le_bytes());
        slot.extend(group.to_le_bytes());
        slot.extend(segment.to_le_bytes());
        for number in &self.segments {
            slot.extend(number.to_le_bytes());
        }
        slot.resize(HEAD_SLOT_BYTES - 4, 0);
        slot.extend(crc32fast::hash(&slot).to_le_bytes());
        Some(slot)
    }

    pub(super) fn decode(slot: &[u8]) -> Result<Self, HeaderFault> {
        let (version, mut slot) = checked(slot, HEAD_MAGIC)?;
        if version != HEAD_VERSION {
            return Err(HeaderFault::Version(version));
        }
        let damaged = |_| HeaderFault::Damaged;
        let count = slot.try_get_u32_le().map_err(damaged)?;
        let update = slot.try_get_u64_le().map_err(damaged)?;
        let group = slot.try_get_u64_le().map_err(damaged)?;
        let segment = slot.try_get_u64_le().map_err(damaged)?;
        let numbers = (0..count).map(|_| slot.try_get_u64_le().map_err(damaged));
        Ok(Self {
            update,
            written: (segment > 0).then_some(Written { group, segment }),
            segments: numbers.collect::<Result<_, _>>()?,
        })
    }
}

/// The header of a record in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupHeader {
    /// The number of its group: one write and one sync.
    pub(super) group: u64,
    pub(super) record: RecordHeader,
}

/// A record whose header passed its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FramedRecord {
    pub(super) header: GroupHeader,
    pub(super) row_count: u32,
    /// Bytes of the encoded rows.
    pub(super) body_bytes: usize,
    body_crc: u32,
}

/// The rows cannot be written as a record: too many bytes, or a key or value that is too long.
#[derive(Debug)]
pub(super) struct Unfit;

/// The maximum number of bytes that a record takes in a segment.
pub(super) fn framed_bytes_max(size: RecordSize) -> u64 {
    encoded_bytes_max(size).next_multiple_of(SECTOR) as u64
}

fn encoded_bytes_max(size: RecordSize) -> usize {
    RECORD_HEADER_BYTES + size.rows * ROW_HEADER_BYTES_MAX + size.payload_bytes
}

/// Appends the record to `buffer`, padded to whole sectors. After an error the caller truncates the buffer.
pub(super) fn encode_record(
    buffer: &mut Vec<u8>,
    salt: u64,
    header: &GroupHeader,
    size: RecordSize,
    rows: &mut dyn Iterator<Item = RowRef<'_>>,
) -> Result<(), Unfit> {
    let start = buffer.len();
    let body_start = start + RECORD_HEADER_BYTES;
    // Reserves all bytes at once: if the buffer grew step by step, it would hold a long record in memory twice.
    buffer.reserve(encoded_bytes_max(size).next_multiple_of(SECTOR));
    buffer.resize(body_start, 0);
    let row_count = encode_rows(buffer, rows).map_err(|_too_long| Unfit)?;
    let body = buffer.get(body_start..).ok_or(Unfit)?;
    let body_bytes = u32::try_from(body.len()).map_err(|_| Unfit)?;
    let GroupHeader {
        group,
        record: RecordHeader { range, wal_id, seq },
    } = header;
    let mut rest = Vec::with_capacity(RECORD_HEADER_BYTES - 4);
    rest.extend(checksum(salt, body).to_le_bytes());
    rest.extend(body_bytes.to_le_bytes());
    rest.extend(row_count.to_le_bytes());
    rest.extend(group.to_le_bytes());
    rest.extend(range.0.to_le_bytes());
    rest.extend(wal_id.0.to_le_bytes());
    rest.extend(seq.to_le_bytes());
    let (crc, fields) = buffer
        .get_mut(start..body_start)
        .ok_or(Unfit)?
        .split_at_mut(4);
    crc.copy_from_slice(&checksum(salt, &rest).to_le_bytes());
    fields.copy_from_slice(&rest);
    buffer.resize(buffer.len().next_multiple_of(SECTOR), 0);
    Ok(())
}

/// The header of the record at the start of `bytes`, if it passes its checksum.
pub(super) fn decode_record_header(salt: u64, bytes: &[u8]) -> Option<FramedRecord> {
    let (crc, mut fields) = bytes.get(..RECORD_HEADER_BYTES)?.split_at_checked(4)?;
    if crc != checksum(salt, fields).to_le_bytes() {
        return None;
    }
    Some(FramedRecord {
        body_crc: fields.get_u32_le(),
        body_bytes: usize::try_from(fields.get_u32_le()).ok()?,
        row_count: fields.get_u32_le(),
        header: GroupHeader {
            group: fields.get_u64_le(),
            record: RecordHeader {
                range: RangeId(fields.get_u64_le()),
                wal_id: WalId(fields.get_u64_le()),
                seq: fields.get_u64_le(),
            },
        },
    })
}

/// The header and the encoded rows of the record at the start of `bytes`, if it is complete and undamaged.
pub(super) fn decode_record(salt: u64, bytes: &Bytes) -> Option<(FramedRecord, Bytes)> {
    let framed = decode_record_header(salt, bytes)?;
    let end = RECORD_HEADER_BYTES.checked_add(framed.body_bytes)?;
    if end > bytes.len() {
        return None;
    }
    let body = bytes.slice(RECORD_HEADER_BYTES..end);
    (checksum(salt, &body) == framed.body_crc).then_some((framed, body))
}

/// The bytes that the record takes in its segment, in whole sectors.
pub(super) fn framed_bytes(framed: &FramedRecord) -> usize {
    RECORD_HEADER_BYTES
        .saturating_add(framed.body_bytes)
        .next_multiple_of(SECTOR)
}

fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}
