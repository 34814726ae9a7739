//! The bytes of the log. `docs/format/log.md` is the same in prose; numbers are little endian.
//!
//! A segment is a header of one sector and then records, each at the start of a sector. Checksums begin with the segment's
//! salt, a random number of its own: what an earlier life of the file left behind, or what a client stored to look like a
//! record, does not pass.

use bytes::{Buf, Bytes};
use slatedb::{RowEntry, ValueDeletable};

use super::{RangeId, WalId};

/// What records are aligned to, and the smallest unit a disk writes at once.
pub(super) const SECTOR_BYTES: u64 = 512;

const SECTOR: usize = 512;
const MAGIC: [u8; 8] = *b"PARTLOG\n";
const VERSION: u32 = 1;

/// Bytes of a record before its rows.
const RECORD_HEADER_BYTES: usize = 48;

/// Bytes of a record, at most: its length is a number of 32 bits.
pub(super) const RECORD_BYTES_MAX: u64 = u32::MAX as u64;

/// Bytes of a row beyond key and value, at most: flags, lengths, two times.
const ROW_HEADER_BYTES_MAX: usize = 1 + 2 + 4 + 8 + 8;

const FLAG_DELETE: u8 = 1;
const FLAG_CREATED: u8 = 2;
const FLAG_EXPIRES: u8 = 4;

/// What the first sector of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    /// The place of the segment in the log.
    pub(super) number: u64,
    /// What its checksums begin with.
    pub(super) salt: u64,
    /// Its whole length in bytes.
    pub(super) bytes: u64,
}

/// Why a segment's first sector is not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderFault {
    /// It is damaged, or was never a log.
    Damaged,
    /// It is of a version this binary does not know.
    Version(u32),
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; SECTOR] {
        let mut sector = Vec::with_capacity(SECTOR);
        sector.extend(MAGIC);
        sector.extend(VERSION.to_le_bytes());
        sector.extend(0_u32.to_le_bytes());
        sector.extend(self.number.to_le_bytes());
        sector.extend(self.salt.to_le_bytes());
        sector.extend(self.bytes.to_le_bytes());
        sector.resize(SECTOR - 4, 0);
        sector.extend(crc32fast::hash(&sector).to_le_bytes());
        sector.try_into().expect("the parts above make one sector")
    }

    pub(super) fn decode(mut sector: &[u8]) -> Result<Self, HeaderFault> {
        let checked = sector.get(..SECTOR - 4).ok_or(HeaderFault::Damaged)?;
        let crc = crc32fast::hash(checked);
        let magic = sector.get(..MAGIC.len()).ok_or(HeaderFault::Damaged)?;
        let stored = sector.get(SECTOR - 4..SECTOR).ok_or(HeaderFault::Damaged)?;
        if magic != MAGIC || stored != crc.to_le_bytes() {
            return Err(HeaderFault::Damaged);
        }
        sector.advance(MAGIC.len());
        let version = sector.get_u32_le();
        if version != VERSION {
            return Err(HeaderFault::Version(version));
        }
        sector.advance(4);
        Ok(Self {
            number: sector.get_u64_le(),
            salt: sector.get_u64_le(),
            bytes: sector.get_u64_le(),
        })
    }
}

/// What a record says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    /// Which write and sync it belonged to.
    pub(super) group: u64,
    /// Whose rows it holds.
    pub(super) range: RangeId,
    /// Its number in that range.
    pub(super) wal_id: WalId,
    /// The sequence number of all its rows.
    pub(super) seq: u64,
}

/// A record whose header passed its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FramedRecord {
    pub(super) header: RecordHeader,
    pub(super) row_count: u32,
    /// Bytes of the rows.
    pub(super) body_bytes: usize,
    body_crc: u32,
}

/// Rows cannot be written as a record: none, too many bytes, or of a kind the log does not know.
#[derive(Debug)]
pub(super) struct Unfit;

/// How many bytes a record of so many rows takes at most, when keys and values together have `payload_bytes`.
pub fn record_bytes_max(row_count: usize, payload_bytes: usize) -> u64 {
    let bytes = RECORD_HEADER_BYTES + row_count * ROW_HEADER_BYTES_MAX + payload_bytes;
    bytes.next_multiple_of(SECTOR) as u64
}

/// Adds the record to `buffer`, filled up to whole sectors. What an error leaves in the buffer is to be cut off.
pub(super) fn encode_record(
    buffer: &mut Vec<u8>,
    salt: u64,
    header: &RecordHeader,
    rows: &[RowEntry],
) -> Result<(), Unfit> {
    let start = buffer.len();
    let body_start = start + RECORD_HEADER_BYTES;
    let payload: usize = rows.iter().map(|row| row.key.len() + row.value.len()).sum();
    let bytes = RECORD_HEADER_BYTES + rows.len() * ROW_HEADER_BYTES_MAX + payload;
    // At once: a long record that grew would be in memory twice.
    buffer.reserve(bytes.next_multiple_of(SECTOR));
    buffer.resize(body_start, 0);
    for row in rows {
        encode_row(buffer, row)?;
    }
    let body = buffer.get(body_start..).ok_or(Unfit)?;
    let body_bytes = u32::try_from(body.len()).map_err(|_| Unfit)?;
    let row_count = u32::try_from(rows.len()).map_err(|_| Unfit)?;
    let mut rest = Vec::with_capacity(RECORD_HEADER_BYTES - 4);
    rest.extend(checksum(salt, body).to_le_bytes());
    rest.extend(body_bytes.to_le_bytes());
    rest.extend(row_count.to_le_bytes());
    rest.extend(header.group.to_le_bytes());
    rest.extend(header.range.0.to_le_bytes());
    rest.extend(header.wal_id.0.to_le_bytes());
    rest.extend(header.seq.to_le_bytes());
    let (crc, fields) = buffer
        .get_mut(start..body_start)
        .ok_or(Unfit)?
        .split_at_mut(4);
    crc.copy_from_slice(&checksum(salt, &rest).to_le_bytes());
    fields.copy_from_slice(&rest);
    buffer.resize(buffer.len().next_multiple_of(SECTOR), 0);
    Ok(())
}

fn encode_row(buffer: &mut Vec<u8>, row: &RowEntry) -> Result<(), Unfit> {
    let RowEntry {
        key,
        value,
        seq: _,
        create_ts,
        expire_ts,
    } = row;
    let (kind, value) = match value {
        ValueDeletable::Value(value) => (0, value.as_ref()),
        ValueDeletable::Tombstone => (FLAG_DELETE, &[][..]),
        // Never written by this engine, so never to be read back.
        ValueDeletable::Merge(_) => return Err(Unfit),
    };
    let created = if create_ts.is_some() { FLAG_CREATED } else { 0 };
    let expires = if expire_ts.is_some() { FLAG_EXPIRES } else { 0 };
    buffer.push(kind | created | expires);
    buffer.extend(u16::try_from(key.len()).map_err(|_| Unfit)?.to_le_bytes());
    buffer.extend(u32::try_from(value.len()).map_err(|_| Unfit)?.to_le_bytes());
    for time in [create_ts, expire_ts].into_iter().flatten() {
        buffer.extend(time.to_le_bytes());
    }
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(value);
    Ok(())
}

/// The header of the record at the start of `bytes`, if there is one.
pub(super) fn decode_record_header(salt: u64, bytes: &[u8]) -> Option<FramedRecord> {
    let (crc, mut fields) = bytes.get(..RECORD_HEADER_BYTES)?.split_at_checked(4)?;
    if crc != checksum(salt, fields).to_le_bytes() {
        return None;
    }
    Some(FramedRecord {
        body_crc: fields.get_u32_le(),
        body_bytes: usize::try_from(fields.get_u32_le()).ok()?,
        row_count: fields.get_u32_le(),
        header: RecordHeader {
            group: fields.get_u64_le(),
            range: RangeId(fields.get_u64_le()),
            wal_id: WalId(fields.get_u64_le()),
            seq: fields.get_u64_le(),
        },
    })
}

/// A record's header and its rows' bytes, if `bytes` starts with a whole, undamaged record.
pub(super) fn decode_record(salt: u64, bytes: &Bytes) -> Option<(FramedRecord, Bytes)> {
    let framed = decode_record_header(salt, bytes)?;
    let end = RECORD_HEADER_BYTES.checked_add(framed.body_bytes)?;
    if end > bytes.len() {
        return None;
    }
    let body = bytes.slice(RECORD_HEADER_BYTES..end);
    (checksum(salt, &body) == framed.body_crc).then_some((framed, body))
}

/// How many bytes the record takes, whole sectors.
pub(super) fn framed_bytes(framed: &FramedRecord) -> usize {
    RECORD_HEADER_BYTES
        .saturating_add(framed.body_bytes)
        .next_multiple_of(SECTOR)
}

/// The rows of a record's body, or nothing when it is not what the header promised.
pub(super) fn decode_rows(mut body: Bytes, row_count: u32, seq: u64) -> Option<Vec<RowEntry>> {
    let mut rows = Vec::new();
    for _ in 0..row_count {
        let flags = body.try_get_u8().ok()?;
        if flags & !(FLAG_DELETE | FLAG_CREATED | FLAG_EXPIRES) != 0 {
            return None;
        }
        let key_bytes = usize::from(body.try_get_u16_le().ok()?);
        let value_bytes = usize::try_from(body.try_get_u32_le().ok()?).ok()?;
        let create_ts = time(&mut body, flags & FLAG_CREATED != 0)?;
        let expire_ts = time(&mut body, flags & FLAG_EXPIRES != 0)?;
        if body.len() < key_bytes.checked_add(value_bytes)? {
            return None;
        }
        let key = body.split_to(key_bytes);
        let value = body.split_to(value_bytes);
        let value = if flags & FLAG_DELETE == 0 {
            ValueDeletable::Value(value)
        } else {
            ValueDeletable::Tombstone
        };
        rows.push(RowEntry {
            key,
            value,
            seq,
            create_ts,
            expire_ts,
        });
    }
    body.is_empty().then_some(rows)
}

/// The outer option is the outcome, the inner one the value.
#[allow(clippy::option_option, reason = "absent and unreadable are two things")]
fn time(body: &mut Bytes, present: bool) -> Option<Option<i64>> {
    if !present {
        return Some(None);
    }
    body.try_get_i64_le().ok().map(Some)
}

fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}
