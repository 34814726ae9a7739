//! Records as bytes, which all implementations share: a header with checksums, then the rows. `docs/format/log.md`
//! describes the bytes; numbers are little endian.
//!
//! Both checksums of a record begin with a *salt*, a number that the place of the record determines. So a record that
//! belongs elsewhere, or a client's value that looks like a record, fails its checksum.

use bytes::{Buf, Bytes};

use crate::row::{ROW_HEADER_BYTES_MAX, encode_rows};
use crate::{RangeId, RecordHeader, RecordSize, RowRef, WalId};

/// Bytes of a record before its rows.
pub(crate) const RECORD_HEADER_BYTES: usize = 48;

/// The largest record in bytes: its length is stored in 32 bits.
pub(crate) const RECORD_BYTES_MAX: u64 = u32::MAX as u64;

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    /// The number of its group.
    pub(crate) group: u64,
    pub(crate) record: RecordHeader,
}

/// A record whose header passed its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FramedRecord {
    pub(crate) header: GroupHeader,
    pub(crate) row_count: u32,
    /// Bytes of the encoded rows.
    pub(crate) body_bytes: usize,
    body_crc: u32,
}

impl FramedRecord {
    /// Bytes of the header and the rows.
    pub(crate) fn bytes(&self) -> usize {
        RECORD_HEADER_BYTES.saturating_add(self.body_bytes)
    }
}

/// The rows cannot be written as a record: too many bytes, or a key or value that is too long.
#[derive(Debug)]
pub(crate) struct Unfit;

/// The maximum number of bytes that a record takes.
pub(crate) fn encoded_bytes_max(size: RecordSize) -> usize {
    RECORD_HEADER_BYTES + size.rows * ROW_HEADER_BYTES_MAX + size.payload_bytes
}

/// Appends the record to `buffer`. After an error the caller truncates the buffer.
pub(crate) fn encode_record(
    buffer: &mut Vec<u8>,
    salt: u64,
    header: &GroupHeader,
    size: RecordSize,
    rows: &mut dyn Iterator<Item = RowRef<'_>>,
) -> Result<(), Unfit> {
    let start = buffer.len();
    let body_start = start + RECORD_HEADER_BYTES;
    // Reserves all bytes at once: if the buffer grew step by step, it would hold a long record in memory twice.
    buffer.reserve(encoded_bytes_max(size));
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
    Ok(())
}

/// The header of the record at the start of `bytes`, if it passes its checksum.
pub(crate) fn decode_record_header(salt: u64, bytes: &[u8]) -> Option<FramedRecord> {
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
pub(crate) fn decode_record(salt: u64, bytes: &Bytes) -> Option<(FramedRecord, Bytes)> {
    let framed = decode_record_header(salt, bytes)?;
    let end = framed.bytes();
    if end > bytes.len() {
        return None;
    }
    let body = bytes.slice(RECORD_HEADER_BYTES..end);
    (checksum(salt, &body) == framed.body_crc).then_some((framed, body))
}

fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}
