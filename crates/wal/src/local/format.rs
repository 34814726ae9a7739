//! The bytes of a segment and of the head. `docs/format/log.md` describes them in prose; numbers are little endian.
//!
//! A segment is a header of one sector and then records, each at the start of a sector. Checksums of records include
//! the segment's salt, a random number. So the check fails for old bytes of a recycled file, and for a client's value
//! that looks like a record.

use std::collections::BTreeSet;

use bytes::Buf;

use crate::framing::{self, FramedRecord, GroupHeader, Unfit};
use crate::{RecordSize, RowRef};

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

/// The maximum number of bytes that a record takes in a segment.
pub(super) fn framed_bytes_max(size: RecordSize) -> u64 {
    framing::encoded_bytes_max(size).next_multiple_of(SECTOR) as u64
}

/// Appends the record to `buffer`, padded to whole sectors. After an error the caller truncates the buffer.
pub(super) fn encode_record(
    buffer: &mut Vec<u8>,
    salt: u64,
    header: &GroupHeader,
    size: RecordSize,
    rows: &mut dyn Iterator<Item = RowRef<'_>>,
) -> Result<(), Unfit> {
    buffer.reserve(framing::encoded_bytes_max(size).next_multiple_of(SECTOR));
    framing::encode_record(buffer, salt, header, size, rows)?;
    buffer.resize(buffer.len().next_multiple_of(SECTOR), 0);
    Ok(())
}

/// The bytes that the record takes in its segment, in whole sectors.
pub(super) fn framed_bytes(framed: &FramedRecord) -> usize {
    framed.bytes().next_multiple_of(SECTOR)
}
