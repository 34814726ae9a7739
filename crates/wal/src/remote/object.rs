//! The bytes of an object of a log: a group of records, or a seal. `docs/format/remote-log.md` describes them in prose;
//! numbers are little endian.

use bytes::{Buf, Bytes};

use super::Life;
use crate::framing::{self, RECORD_HEADER_BYTES};
use crate::{RangeId, Record, WalId};

const MAGIC: [u8; 8] = *b"PARTRLOG";
const VERSION: u32 = 1;

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 64;

/// Bytes of an entry of the table of parts.
pub(super) const PART_BYTES: usize = 32;

/// Bytes of the checksum at the end.
const CRC_BYTES: usize = 4;

/// Bytes of the smallest group: one without records.
pub(super) const GROUP_BYTES_MIN: u64 = (HEADER_BYTES + CRC_BYTES) as u64;

/// Bytes of a seal. No group has this length: one without records is shorter, and any other is longer.
pub(super) const SEAL_BYTES: u64 = 128;

/// The longest note of a seal in bytes.
const NOTE_BYTES_MAX: usize = SEAL_BYTES as usize - HEADER_BYTES - 1 - CRC_BYTES;

const _: () = assert!(GROUP_BYTES_MIN < SEAL_BYTES);
const _: () = assert!(GROUP_BYTES_MIN + (PART_BYTES + RECORD_HEADER_BYTES) as u64 > SEAL_BYTES);

const KIND_GROUP: u32 = 0;
const KIND_SEAL: u32 = 1;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Group,
    Seal,
}

/// The header of a group or a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) life: Life,
    pub(super) number: u64,
    /// A random number, by which a writer recognises its own object.
    pub(super) nonce: u64,
    /// The lowest number that was still needed when the object was sent.
    pub(super) floor: u64,
    /// Every number below was created as a group before the object was sent.
    pub(super) created_below: u64,
    /// The number of parts.
    pub(super) parts: u32,
}

/// The records of one range in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) range: RangeId,
    /// The first and the last record.
    pub(super) first: WalId,
    pub(super) last: WalId,
    /// The length of the records in bytes.
    pub(super) bytes: u32,
}

/// A group that was read.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) header: Header,
    /// The length of the object.
    pub(super) bytes: u64,
    pub(super) records: Vec<Record>,
}

/// Why an object cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Damaged(&'static str),
    /// The format version is unknown to this binary.
    Version(u32),
}

/// The salt of the records of a log.
pub(super) fn salt(life: Life) -> u64 {
    life.0
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Group => KIND_GROUP,
            Kind::Seal => KIND_SEAL,
        };
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(self.life.0.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.nonce.to_le_bytes());
        bytes.extend(self.floor.to_le_bytes());
        bytes.extend(self.created_below.to_le_bytes());
        bytes.extend(self.parts.to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Reads the header at the start of `bytes`.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let damaged = Fault::Damaged("the header fails its checksum");
        let header = bytes.get(..HEADER_BYTES).ok_or(damaged)?;
        let (content, crc) = header.split_last_chunk::<CRC_BYTES>().ok_or(damaged)?;
        let mut fields = content.strip_prefix(&MAGIC).ok_or(damaged)?;
        if crc32fast::hash(content).to_le_bytes() != *crc {
            return Err(damaged);
        }
        let version = fields.get_u32_le();
        if version != VERSION {
            return Err(Fault::Version(version));
        }
        Ok(Self {
            kind: match fields.get_u32_le() {
                KIND_GROUP => Kind::Group,
                KIND_SEAL => Kind::Seal,
                _ => return Err(Fault::Damaged("the object is neither a group nor a seal")),
            },
            life: Life(fields.get_u64_le()),
            number: fields.get_u64_le(),
            nonce: fields.get_u64_le(),
            floor: fields.get_u64_le(),
            created_below: fields.get_u64_le(),
            parts: fields.get_u32_le(),
        })
    }

    /// Checks that the object belongs to its name.
    pub(super) fn check_name(&self, life: Life, number: u64) -> Result<(), Fault> {
        if (self.life, self.number) == (life, number) {
            Ok(())
        } else {
            Err(Fault::Damaged("the header belongs to another object"))
        }
    }
}

/// Encodes a group. `records` are the records of all parts, one after the other. The result is not one piece, so that
/// the records are not copied.
pub(super) fn encode_group(header: &Header, parts: &[Part], records: Bytes) -> [Bytes; 3] {
    let mut head = header.encode();
    let mut offset = HEADER_BYTES + parts.len() * PART_BYTES;
    for part in parts {
        head.extend(part.range.0.to_le_bytes());
        head.extend(part.first.0.to_le_bytes());
        head.extend(part.last.0.to_le_bytes());
        head.extend(u32::try_from(offset).unwrap_or(u32::MAX).to_le_bytes());
        head.extend(part.bytes.to_le_bytes());
        offset += part.bytes as usize;
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head);
    hasher.update(&records);
    let crc = Bytes::copy_from_slice(&hasher.finalize().to_le_bytes());
    [head.into(), records, crc]
}

/// Encodes a seal with a note for people, which is cut to the available length.
pub(super) fn encode_seal(header: &Header, note: &str) -> Bytes {
    let note = note.get(..note.floor_char_boundary(NOTE_BYTES_MAX));
    let note = note.unwrap_or_default();
    let mut bytes = header.encode();
    bytes.push(u8::try_from(note.len()).unwrap_or_default());
    bytes.extend(note.as_bytes());
    bytes.resize(SEAL_BYTES as usize - CRC_BYTES, 0);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes.into()
}

/// Checks the checksum of a whole object. Returns its header and the bytes before the checksum.
fn checked(object: &Bytes) -> Result<(Header, Bytes), Fault> {
    let header = Header::decode(object)?;
    let damaged = Fault::Damaged("the object fails its checksum");
    let (content, crc) = object.split_last_chunk::<CRC_BYTES>().ok_or(damaged)?;
    if crc32fast::hash(content).to_le_bytes() != *crc {
        return Err(damaged);
    }
    Ok((header, object.slice(..content.len())))
}

/// Reads a seal, and returns its header and its note.
pub(super) fn decode_seal(object: &Bytes) -> Result<(Header, String), Fault> {
    let (header, content) = checked(object)?;
    if header.kind != Kind::Seal {
        return Err(Fault::Damaged("the object is not a seal"));
    }
    let malformed = Fault::Damaged("the seal has a malformed note");
    let (length, note) = content
        .get(HEADER_BYTES..)
        .and_then(<[u8]>::split_first)
        .ok_or(malformed)?;
    let note = note.get(..usize::from(*length)).ok_or(malformed)?;
    let note = std::str::from_utf8(note).map_err(|_| malformed)?;
    Ok((header, note.to_owned()))
}

/// Reads a whole group. The records share the memory of `object`.
pub(super) fn decode_group(object: &Bytes) -> Result<Group, Fault> {
    let (header, content) = checked(object)?;
    if header.kind != Kind::Group {
        return Err(Fault::Damaged("the object is not a group"));
    }
    let malformed = Fault::Damaged("the table of parts is malformed");
    let parts = usize::try_from(header.parts).map_err(|_| malformed)?;
    let table_bytes = parts.checked_mul(PART_BYTES).ok_or(malformed)?;
    let records_start = HEADER_BYTES.checked_add(table_bytes).ok_or(malformed)?;
    if records_start > content.len() {
        return Err(malformed);
    }
    let mut table = content.slice(HEADER_BYTES..records_start);
    let (mut offset, mut records) = (records_start, Vec::with_capacity(parts));
    while table.has_remaining() {
        let (part, start) = decode_part(&mut table);
        let end = offset.checked_add(part.bytes as usize).ok_or(malformed)?;
        if start as usize != offset || end > content.len() {
            return Err(malformed);
        }
        decode_records(&header, &part, content.slice(offset..end), &mut records)?;
        offset = end;
    }
    if offset != content.len() {
        return Err(malformed);
    }
    Ok(Group {
        header,
        bytes: object.len() as u64,
        records,
    })
}

/// An entry of the table, and the offset of its records. The table has whole entries.
fn decode_part(table: &mut Bytes) -> (Part, u32) {
    let range = RangeId(table.get_u64_le());
    let first = WalId(table.get_u64_le());
    let last = WalId(table.get_u64_le());
    let offset = table.get_u32_le();
    let bytes = table.get_u32_le();
    let part = Part {
        range,
        first,
        last,
        bytes,
    };
    (part, offset)
}

/// Reads the records of a part, which must have its range and consecutive numbers.
fn decode_records(
    header: &Header,
    part: &Part,
    mut bytes: Bytes,
    records: &mut Vec<Record>,
) -> Result<(), Fault> {
    let mut next = part.first.0;
    while !bytes.is_empty() {
        let (framed, body) = framing::decode_record(salt(header.life), &bytes)
            .ok_or(Fault::Damaged("a record fails its checksum"))?;
        let record = framed.header.record;
        if framed.header.group != header.nonce
            || record.range != part.range
            || record.wal_id.0 != next
        {
            return Err(Fault::Damaged("a record does not belong to its part"));
        }
        bytes.advance(framed.bytes());
        records.push(Record::new(record, framed.row_count, body));
        next = next
            .checked_add(1)
            .ok_or(Fault::Damaged("a WAL id is too large"))?;
    }
    if part.last.0.checked_add(1) != Some(next) || next == part.first.0 {
        return Err(Fault::Damaged("a record of a part is missing"));
    }
    Ok(())
}

/// Reads bytes as a group and as a seal, for fuzzing. Returns the number of rows that were read.
///
/// # Panics
/// When an object that passed its checks has records outside of its parts.
#[doc(hidden)]
pub fn read_untrusted(bytes: &Bytes) -> usize {
    let _ = decode_seal(bytes);
    let Ok(group) = decode_group(bytes) else {
        return 0;
    };
    let records: usize = group.records.iter().map(Record::bytes).sum();
    assert!(records < bytes.len(), "records are inside of the object");
    let rows = group.records.iter().flat_map(Record::rows);
    rows.filter(Result::is_ok).count()
}
