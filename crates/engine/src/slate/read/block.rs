//! Blocks of SlateDB's data files, decoded in place.
//!
//! The format is version 2 of SlateDB 0.18 (`block_v2.rs` and `row_codec_v2.rs` of its source):
//!
//! ```text
//!  block on disk   content, compressed if the file is │ CRC-32 of that, u32 BE
//!  content         row … row │ restart … restart, u16 BE each │ their number, u16 BE
//!  row             shared, unshared, value length (varints) │ the rest of the key │ value │ sequence number, u64 BE │ flags │
//!                  expiry, i64 BE, if flagged │ creation, i64 BE, if flagged
//! ```
//!
//! A row's key begins with `shared` bytes of the key before it. At a restart, every 16 rows, the key is whole. Rows are in
//! order of keys, and versions of one key from the newest to the oldest.

use std::ops::Range;

use bytes::Bytes;
use slatedb::config::CompressionCodec;

const CHECKSUM_BYTES: usize = 4;
const NUMBER_BYTES: usize = 2;

/// Flags of a row.
const TOMBSTONE: u8 = 1;
const HAS_EXPIRY: u8 = 2;
const HAS_CREATION: u8 = 4;

/// Why bytes are not a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadBlock {
    #[error("its content does not match its checksum")]
    Checksum,
    #[error("its format is unknown to this version")]
    Format,
}

/// Verifies the checksum at the end of a part of a file, and decompresses the part.
pub(super) fn unpack(part: Bytes, codec: Option<CompressionCodec>) -> Result<Bytes, BadBlock> {
    let (content, checksum) = part
        .split_last_chunk::<CHECKSUM_BYTES>()
        .ok_or(BadBlock::Checksum)?;
    if crc32fast::hash(content).to_be_bytes() != *checksum {
        return Err(BadBlock::Checksum);
    }
    match codec {
        None => Ok(part.slice(..content.len())),
        Some(CompressionCodec::Lz4) => lz4_flex::block::decompress_size_prepended(content)
            .map(Bytes::from)
            .map_err(|_| BadBlock::Format),
        #[allow(
            unreachable_patterns,
            reason = "codecs that features of SlateDB add are not compiled in"
        )]
        Some(_) => Err(BadBlock::Format),
    }
}

/// A decoded block.
#[derive(Debug)]
pub(super) struct Block {
    content: Bytes,
    /// Where the rows end and the restarts begin.
    rows_end: usize,
}

impl Block {
    /// Decodes the bytes of a block in a file.
    pub(super) fn decode(part: Bytes, codec: Option<CompressionCodec>) -> Result<Self, BadBlock> {
        Self::of(unpack(part, codec)?).ok_or(BadBlock::Format)
    }

    fn of(content: Bytes) -> Option<Self> {
        let number = u16_at(&content, content.len().checked_sub(NUMBER_BYTES)?)?;
        let rows_end = content
            .len()
            .checked_sub(NUMBER_BYTES * (1 + usize::from(number)))?;
        Some(Self { content, rows_end })
    }

    /// The bytes that values are parts of.
    pub(super) fn content(&self) -> &Bytes {
        &self.content
    }

    /// The bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.content.len() + size_of::<Self>()
    }

    fn rows(&self) -> &[u8] {
        self.content.get(..self.rows_end).unwrap_or_default()
    }

    fn restarts(&self) -> &[u8] {
        let end = self.content.len() - NUMBER_BYTES;
        self.content.get(self.rows_end..end).unwrap_or_default()
    }

    /// The whole key at a restart, which is at this place.
    fn key_at(&self, place: usize) -> Option<&[u8]> {
        let row = Row::read(self.rows(), place)?;
        self.content.get(row.key)
    }

    /// The last restart whose key is smaller than `key`, or the first one.
    fn restart_before(&self, key: &[u8]) -> Option<usize> {
        let restarts = self.restarts();
        let (mut low, mut high) = (0, restarts.len() / NUMBER_BYTES);
        while low < high {
            let middle = low.midpoint(high);
            let place = u16_at(restarts, middle * NUMBER_BYTES)?;
            if self.key_at(usize::from(place))? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let restart = low.saturating_sub(1);
        u16_at(restarts, restart * NUMBER_BYTES).map(usize::from)
    }
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    let (number, _) = bytes.get(place..)?.split_first_chunk()?;
    Some(u16::from_be_bytes(*number))
}

/// Where the parts of a row are in the content of its block.
struct Row {
    shared: usize,
    key: Range<usize>,
    value: Range<usize>,
    seq: u64,
    is_deletion: bool,
    end: usize,
}

impl Row {
    /// `None` if the bytes at `place` are not a row, or have flags that this engine never writes: merge operands.
    #[inline]
    fn read(rows: &[u8], place: usize) -> Option<Self> {
        let mut at = place;
        let shared = varint(rows, &mut at)?;
        let unshared = varint(rows, &mut at)?;
        let value_bytes = varint(rows, &mut at)?;
        let key = at..at.checked_add(unshared)?;
        let value = key.end..key.end.checked_add(value_bytes)?;
        let (seq, rest) = rows.get(value.end..)?.split_first_chunk::<8>()?;
        let flags = *rest.first()?;
        if flags & !(TOMBSTONE | HAS_EXPIRY | HAS_CREATION) != 0 {
            return None;
        }
        let times = (flags & (HAS_EXPIRY | HAS_CREATION)).count_ones() as usize;
        let end = value.end + 9 + 8 * times;
        (end <= rows.len()).then_some(Self {
            shared,
            key,
            value,
            seq: u64::from_be_bytes(*seq),
            is_deletion: flags & TOMBSTONE != 0,
            end,
        })
    }
}

/// Reads a number of at most 32 bits in groups of 7 bits, the lowest first.
#[inline]
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(usize::from(first));
    }
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Writes a number as [`varint`] reads it.
pub(super) fn push_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A place in a block: a row, or its end.
#[derive(Debug, Default)]
pub(super) struct BlockCursor {
    /// The key of the row.
    key: Vec<u8>,
    value: Range<usize>,
    seq: u64,
    is_deletion: bool,
    /// Where the next row begins.
    next: usize,
}

impl BlockCursor {
    /// The key of the row.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Where the value is in [`Block::content`]; `None` if the row is a deletion.
    #[inline]
    pub(super) fn value(&self) -> Option<Range<usize>> {
        (!self.is_deletion).then(|| self.value.clone())
    }

    /// The sequence number of the row.
    #[inline]
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Goes before the first row.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
        self.key.clear();
    }

    /// Goes to the next row. `false` at the end.
    ///
    /// # Errors
    /// [`BadBlock::Format`].
    #[inline]
    pub(super) fn advance(&mut self, block: &Block) -> Result<bool, BadBlock> {
        let rows = block.rows();
        if self.next >= rows.len() {
            return Ok(false);
        }
        let row = Row::read(rows, self.next).ok_or(BadBlock::Format)?;
        if row.shared > self.key.len() {
            return Err(BadBlock::Format);
        }
        self.key.truncate(row.shared);
        let rest = rows.get(row.key).ok_or(BadBlock::Format)?;
        self.key.extend_from_slice(rest);
        self.value = row.value;
        self.seq = row.seq;
        self.is_deletion = row.is_deletion;
        self.next = row.end;
        Ok(true)
    }

    /// Goes to the first row whose key is at least `key`. `false` at the end.
    ///
    /// # Errors
    /// [`BadBlock::Format`].
    pub(super) fn seek(&mut self, block: &Block, key: &[u8]) -> Result<bool, BadBlock> {
        self.rewind();
        if block.rows().is_empty() {
            return Ok(false);
        }
        self.next = block.restart_before(key).ok_or(BadBlock::Format)?;
        while self.advance(block)? {
            if self.key() >= key {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Adds the checksum of a part.
    fn sealed(content: &[u8]) -> Bytes {
        let mut part = content.to_vec();
        part.extend(crc32fast::hash(content).to_be_bytes());
        part.into()
    }

    proptest! {
        /// The checksum is right, so the bytes come from a fault of a writer: an error or some rows, but no panic.
        #[test]
        fn any_content_is_read_without_a_panic(
            content in proptest::collection::vec(any::<u8>(), 0..200),
            key in proptest::collection::vec(any::<u8>(), 0..8),
        ) {
            let _ = Block::decode(sealed(&content), Some(CompressionCodec::Lz4));
            let Ok(block) = Block::decode(sealed(&content), None) else {
                return Ok(());
            };
            let mut cursor = BlockCursor::default();
            let _ = cursor.seek(&block, &key);
            cursor.rewind();
            while let Ok(true) = cursor.advance(&block) {
                let value = cursor.value().unwrap_or_default();
                prop_assert!(value.end <= block.content().len());
            }
        }
    }

    #[test]
    fn a_changed_bit_is_an_error() {
        let part = sealed(&[0, 0]);
        assert!(Block::decode(part.clone(), None).is_ok());
        for bit in 0..part.len() * 8 {
            let mut changed = part.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            let decoded = Block::decode(changed.into(), None);
            assert_eq!(decoded.unwrap_err(), BadBlock::Checksum);
        }
    }
}
