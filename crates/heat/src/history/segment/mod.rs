//! The bytes of a stored piece of heat. `docs/format/heat.md` is the same in prose; numbers are little endian.
//!
//! Decoding takes any bytes: it neither panics nor takes memory beyond a small multiple of their length, and of the keys that they
//! stand for.

use super::extent::Extent;
use super::load::Load;
use super::slot::{CELLS_MAX, Cell, Happened, Keys, SPOTS_MAX, Slot, Spot, Time};
use super::tiers::Tier;
use crate::{COARSE_BUCKETS, CoarseLatency, Counts};
use bytes::{Buf, BufMut, Bytes};
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

const MAGIC: [u8; 8] = *b"PARTHEAT";
const VERSION: u32 = 2;
/// The one before it, which knew nothing of partitions.
const VERSION_OF_RANGES: u32 = 1;
const HEADER_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 4;
/// Longest key: names of an account and two keys of 512 characters, escaped, are less.
const KEY_BYTES_MAX: usize = 8 << 10;
/// All keys together, so that few bytes cannot stand for many: an hour's slots with the longest keys have less.
const KEYS_BYTES_MAX: usize = 64 << 20;
/// Greatest count: 256 TiB in a slot. So sums cannot overflow, whatever an object says.
const COUNT_MAX: u64 = 1 << 48;

/// What an object is called, which says what is in it: slots of a tier, from a time up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SegmentName {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) tier: Tier,
}

impl SegmentName {
    /// Reads a name as it is written; `None` for any other.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.splitn(3, '-').map(str::parse);
        let (from, to, span) = (
            parts.next()?.ok()?,
            parts.next()?.ok()?,
            parts.next()?.ok()?,
        );
        let tier = Tier::of_span(span)?;
        let parsed = Self { from, to, tier };
        (from < to && parsed.to_string() == name).then_some(parsed)
    }

    pub(super) const fn holds(&self, other: &Self) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}-{:010}-{}", self.from, self.to, self.tier.span())
    }
}

/// Why an object is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum SegmentFault {
    /// It is damaged, or was never a piece of heat.
    #[error("it is damaged")]
    Damaged,
    /// A later version of Partita wrote it.
    #[error("its version, {0}, is unknown")]
    Version(u32),
}

/// The bytes of some slots, which are in order of time and within the name's.
pub(super) fn encode<'s>(
    name: SegmentName,
    slots: impl Iterator<Item = &'s Slot> + Clone,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 << 10);
    bytes.put_slice(&MAGIC);
    bytes.put_u32_le(VERSION);
    bytes.put_u32_le(name.tier.span());
    bytes.put_u32_le(name.from);
    bytes.put_u32_le(name.to);
    let cells = slots.clone().flat_map(Slot::cells);
    let extents = cells.map(|cell| &*cell.extent);
    let ends = extents.flat_map(|extent| std::iter::once(&extent.start).chain(&extent.end));
    let partitions = slots.clone().flat_map(Slot::spots);
    let keys = ends.chain(partitions.map(|spot| &*spot.partition));
    let keys: Vec<&Bytes> = keys.collect::<BTreeSet<_>>().into_iter().collect();
    put_keys(&mut bytes, &keys);
    put_varint(&mut bytes, slots.clone().count() as u64);
    for slot in slots {
        put_varint(&mut bytes, u64::from(slot.start - name.from));
        put_varint(&mut bytes, slot.cells().len() as u64);
        for cell in slot.cells() {
            put_cell(&mut bytes, cell, &keys);
        }
        put_varint(&mut bytes, slot.spots().len() as u64);
        for spot in slot.spots() {
            put_varint(&mut bytes, index(&keys, &spot.partition));
            put_load(&mut bytes, &spot.load);
        }
    }
    bytes.put_u32_le(crc32fast::hash(&bytes));
    bytes
}

/// Keys in order, each without what it shares with the one before.
fn put_keys(bytes: &mut Vec<u8>, keys: &[&Bytes]) {
    put_varint(bytes, keys.len() as u64);
    let mut last: &[u8] = &[];
    for key in keys {
        let common = last.iter().zip(key.iter()).take_while(|(a, b)| a == b);
        let common = common.count();
        let rest = key.get(common..).unwrap_or_default();
        put_varint(bytes, common as u64);
        put_varint(bytes, rest.len() as u64);
        bytes.put_slice(rest);
        last = key;
    }
}

/// Where a key is among them.
fn index(keys: &[&Bytes], key: &Bytes) -> u64 {
    keys.binary_search(&key).map_or(0, |at| at as u64)
}

fn put_cell(bytes: &mut Vec<u8>, cell: &Cell, keys: &[&Bytes]) {
    let Extent { start, end } = &*cell.extent;
    put_varint(bytes, index(keys, start));
    put_varint(bytes, end.as_ref().map_or(0, |end| index(keys, end) + 1));
    match &cell.load {
        Some(load) => put_load(bytes, load),
        None => bytes.put_u8(0),
    }
}

fn put_load(bytes: &mut Vec<u8>, Load { counts, latency }: &Load) {
    let latency = latency.buckets();
    let counted = latency.iter().filter(|count| **count > 0).count();
    // One more than the buckets that follow, so that it differs from an idle cell's.
    bytes.put_u8(counted as u8 + 1);
    for count in fields(counts) {
        put_varint(bytes, count);
    }
    for (bucket, count) in (0_u8..).zip(latency).filter(|(_, count)| **count > 0) {
        bytes.put_u8(bucket);
        put_varint(bytes, u64::from(*count));
    }
}

/// The counts in the order they are stored.
fn fields(counts: &Counts) -> [u64; 7] {
    let Counts {
        reads,
        writes,
        rows_scanned,
        rows_written,
        bytes_in,
        bytes_out,
        throttled,
    } = *counts;
    [
        reads,
        writes,
        rows_scanned,
        rows_written,
        bytes_in,
        bytes_out,
        throttled,
    ]
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.put_u8(value as u8);
}

/// The slots of an object, in order of time, once its checksum and everything it says have been checked.
pub(super) fn decode(
    name: SegmentName,
    object: &[u8],
    keys: &mut Keys,
) -> Result<Vec<Slot>, SegmentFault> {
    let (version, body) = check(name, object)?;
    let mut reader = Reader {
        rest: body,
        version,
    };
    reader
        .slots(name, keys)
        .filter(|_| reader.rest.is_empty())
        .ok_or(SegmentFault::Damaged)
}

/// The version, and what lies between a header that fits the name and a checksum that fits all before it.
fn check(name: SegmentName, object: &[u8]) -> Result<(u32, &[u8]), SegmentFault> {
    let end = object.len().checked_sub(CHECKSUM_BYTES);
    let (checked, checksum) = end
        .and_then(|end| object.split_at_checked(end))
        .ok_or(SegmentFault::Damaged)?;
    let (mut header, body) = checked
        .split_at_checked(HEADER_BYTES)
        .ok_or(SegmentFault::Damaged)?;
    if crc32fast::hash(checked).to_le_bytes() != checksum || !header.starts_with(&MAGIC) {
        return Err(SegmentFault::Damaged);
    }
    header.advance(MAGIC.len());
    let version = header.get_u32_le();
    if version != VERSION && version != VERSION_OF_RANGES {
        return Err(SegmentFault::Version(version));
    }
    let said = [
        header.get_u32_le(),
        header.get_u32_le(),
        header.get_u32_le(),
    ];
    if said != [name.tier.span(), name.from, name.to] {
        return Err(SegmentFault::Damaged);
    }
    Ok((version, body))
}

/// Reads the body; `None` for anything that `encode` does not write.
struct Reader<'b> {
    rest: &'b [u8],
    version: u32,
}

impl<'b> Reader<'b> {
    fn slots(&mut self, name: SegmentName, known: &mut Keys) -> Option<Vec<Slot>> {
        let keys = self.keys()?;
        let count = self.varint()?;
        let mut slots: Vec<Slot> = Vec::new();
        for _ in 0..count {
            let start = u32::try_from(self.varint()?).ok()?.checked_add(name.from)?;
            let behind_last = slots.last().is_none_or(|last| last.start < start);
            if start >= name.to || !behind_last {
                return None;
            }
            let cells = self.cells(&keys, known)?;
            let spots = match self.version {
                VERSION_OF_RANGES => Vec::new(),
                _ => self.spots(&keys, known)?,
            };
            slots.push(Slot::new(start, Happened { cells, spots }));
        }
        Some(slots)
    }

    fn cells(&mut self, keys: &[Bytes], known: &mut Keys) -> Option<Vec<Cell>> {
        let count = self.length(CELLS_MAX)?;
        let mut cells: Vec<Cell> = Vec::new();
        for _ in 0..count {
            let cell = self.cell(keys, known)?;
            if cells.last().is_some_and(|last| last.extent >= cell.extent) {
                return None;
            }
            cells.push(cell);
        }
        Some(cells)
    }

    fn spots(&mut self, keys: &[Bytes], known: &mut Keys) -> Option<Vec<Spot>> {
        let count = self.length(SPOTS_MAX)?;
        let mut spots: Vec<Spot> = Vec::new();
        for _ in 0..count {
            let partition = keys.get(self.length(keys.len())?)?.clone();
            let is_behind = |last: &Spot| *last.partition < partition;
            if !spots.last().is_none_or(is_behind) {
                return None;
            }
            let partition = known.partitions.of(partition);
            let load = self.load()??;
            spots.push(Spot { partition, load });
        }
        Some(spots)
    }

    fn keys(&mut self) -> Option<Vec<Bytes>> {
        let count = self.varint()?;
        let mut keys: Vec<Bytes> = Vec::new();
        let mut bytes = 0;
        for _ in 0..count {
            let last = keys.last().map_or(&[][..], |last| last);
            let common = last.get(..self.length(KEY_BYTES_MAX)?)?;
            let length = self.length(KEY_BYTES_MAX - common.len())?;
            let key = Bytes::from([common, self.take(length)?].concat());
            bytes += key.len();
            if keys.last().is_some_and(|last| *last >= key) || bytes > KEYS_BYTES_MAX {
                return None;
            }
            keys.push(key);
        }
        Some(keys)
    }

    fn cell(&mut self, keys: &[Bytes], known: &mut Keys) -> Option<Cell> {
        let start = keys.get(self.length(keys.len())?)?.clone();
        let end = match self.length(keys.len())?.checked_sub(1) {
            None => None,
            Some(at) => Some(keys.get(at)?.clone()),
        };
        if end.as_ref().is_some_and(|end| *end <= start) {
            return None;
        }
        let load = self.load()?;
        let extent = known.extents.of(Extent { start, end });
        Some(Cell { extent, load })
    }

    /// A load; `Some(None)` is none.
    fn load(&mut self) -> Option<Option<Box<Load>>> {
        let Some(buckets) = self.take(1)?.first()?.checked_sub(1) else {
            return Some(None);
        };
        let counts = Counts {
            reads: self.count()?,
            writes: self.count()?,
            rows_scanned: self.count()?,
            rows_written: self.count()?,
            bytes_in: self.count()?,
            bytes_out: self.count()?,
            throttled: self.count()?,
        };
        let mut latency = CoarseLatency::new();
        let mut least = 0;
        for _ in 0..buckets {
            let bucket = usize::from(*self.take(1)?.first()?);
            let requests = u32::try_from(self.varint()?).ok()?;
            if !(least..COARSE_BUCKETS).contains(&bucket) || requests == 0 {
                return None;
            }
            least = bucket + 1;
            latency.add_to_bucket(bucket, requests);
        }
        Some(Some(Box::new(Load { counts, latency })))
    }

    fn count(&mut self) -> Option<u64> {
        self.varint().filter(|count| *count <= COUNT_MAX)
    }

    /// A number that is at most `max`.
    fn length(&mut self, max: usize) -> Option<usize> {
        let length = usize::try_from(self.varint()?).ok()?;
        (length <= max).then_some(length)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests;
