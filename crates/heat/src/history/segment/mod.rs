//! Segments: stored slots of one tier. `docs/format/heat.md` describes the bytes.
//!
//! A segment is a serde document in postcard, compressed by zstd with a checksum. Decoding untrusted bytes does not
//! panic, takes at most a small multiple of [`DOCUMENT_BYTES_MAX`] of memory, and returns only slots within the bounds
//! of the history.

use super::load::LoadSum;
use super::slot::{CELLS_MAX, Cell, Keys, SPOTS_MAX, Slot, SlotLoad, Spot, Time};
use super::tiers::Tier;
use crate::Bounds;
use crate::{COARSE_BUCKETS, CoarseLatency, Counts};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

/// The version that this code reads and writes. Segments of versions 1 and 2, which begin with [`OLD_MAGIC`], are
/// skipped: an upgrade loses at most a day of statistics.
const VERSION: u32 = 3;
const OLD_MAGIC: &[u8] = b"PARTHEAT";
const ZSTD_LEVEL: i32 = 3;
/// The limit on the decompressed size. An hour of slots, each with different busy partitions and the longest keys, is
/// smaller.
const DOCUMENT_BYTES_MAX: usize = 32 << 20;
/// The maximum of a stored count, so that sums of counts cannot overflow. It is far above real counts: as bytes, it is
/// 256 TiB in one slot.
const COUNT_MAX: u64 = 1 << 48;

/// The name of a segment: its tier, and the time range of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SegmentName {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) tier: Tier,
}

impl SegmentName {
    /// Parses a name; `None` unless it is formatted exactly as [`fmt::Display`] does.
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

/// Why a segment is unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum SegmentFault {
    /// Damaged bytes, or not a segment.
    #[error("damaged")]
    Damaged,
    /// Another version of Partita wrote it.
    #[error("unsupported version {0}")]
    Version(u32),
}

/// The content of a segment after its version.
#[derive(Serialize, Deserialize)]
struct Document {
    /// The tier, as in the name.
    span: Time,
    from: Time,
    to: Time,
    /// The keys that slots refer to by index: sorted, without duplicates.
    keys: Vec<Vec<u8>>,
    slots: Vec<StoredSlot>,
}

#[derive(Serialize, Deserialize)]
struct StoredSlot {
    start: Time,
    cells: Vec<StoredCell>,
    /// The hottest partitions: the key of each, and its load.
    partitions: Vec<(u32, StoredLoad)>,
}

#[derive(Serialize, Deserialize)]
struct StoredCell {
    start: u32,
    /// `None` for a cell up to the end of the key space.
    end: Option<u32>,
    /// `None` for an idle cell.
    load: Option<Box<StoredLoad>>,
}

#[derive(Serialize, Deserialize)]
struct StoredLoad {
    counts: Counts,
    /// Latency buckets with requests: index and number of requests.
    latency: Vec<(u8, u32)>,
}

/// Encodes slots, which must be in order of time and within the time range of the name.
pub(super) fn encode<'s>(
    name: SegmentName,
    slots: impl Iterator<Item = &'s Slot> + Clone,
) -> Vec<u8> {
    let document = document(name, slots);
    let document = postcard::to_allocvec(&(VERSION, document))
        .expect("the types of the document are serializable");
    let mut zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("the level is valid");
    zstd.include_checksum(true)
        .expect("the parameter exists in every zstd");
    zstd.compress(&document)
        .expect("the buffer has the size that zstd requires")
}

fn document<'s>(name: SegmentName, slots: impl Iterator<Item = &'s Slot> + Clone) -> Document {
    let extents = slots.clone().flat_map(Slot::cells).map(|cell| &cell.extent);
    let bounds = extents.flat_map(|extent| std::iter::once(&extent.start).chain(&extent.end));
    let partitions = slots.clone().flat_map(Slot::spots);
    let keys = bounds.chain(partitions.map(|spot| &*spot.partition));
    let keys: Vec<&Bytes> = keys.collect::<BTreeSet<_>>().into_iter().collect();
    let index = |key: &Bytes| keys.binary_search(&key).map_or(0, |index| index as u32);
    let cell = |cell: &Cell| StoredCell {
        start: index(&cell.extent.start),
        end: cell.extent.end.as_ref().map(index),
        load: cell
            .load
            .as_ref()
            .map(|load| Box::new(StoredLoad::from(&**load))),
    };
    let partition = |spot: &Spot| (index(&spot.partition), StoredLoad::from(&*spot.load));
    let slot = |slot: &Slot| StoredSlot {
        start: slot.start,
        cells: slot.cells().iter().map(cell).collect(),
        partitions: slot.spots().iter().map(partition).collect(),
    };
    let slots = slots.map(slot).collect();
    Document {
        span: name.tier.span(),
        from: name.from,
        to: name.to,
        keys: keys.iter().map(|key| key.to_vec()).collect(),
        slots,
    }
}

/// The slots of a segment, in order of time.
pub(super) fn decode(
    name: SegmentName,
    segment: &[u8],
    keys: &mut Keys,
) -> Result<Vec<Slot>, SegmentFault> {
    if let Some(rest) = segment.strip_prefix(OLD_MAGIC) {
        let version = rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        return Err(SegmentFault::Version(version.unwrap_or_default()));
    }
    let unpacked = zstd::bulk::decompress(segment, DOCUMENT_BYTES_MAX);
    let unpacked = unpacked.map_err(|_| SegmentFault::Damaged)?;
    match postcard::take_from_bytes(&unpacked) {
        Ok((VERSION, document)) => read(name, document, keys).ok_or(SegmentFault::Damaged),
        Ok((version, _)) => Err(SegmentFault::Version(version)),
        Err(_) => Err(SegmentFault::Damaged),
    }
}

/// The slots of a document; `None` if a bound or an order is violated.
fn read(name: SegmentName, document: &[u8], known: &mut Keys) -> Option<Vec<Slot>> {
    let (document, rest): (Document, _) = postcard::take_from_bytes(document).ok()?;
    let names_agree =
        [document.span, document.from, document.to] == [name.tier.span(), name.from, name.to];
    let starts = document.slots.iter().map(|slot| slot.start);
    if !rest.is_empty() || !names_agree || !starts.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let keys: Vec<Bytes> = document.keys.into_iter().map(Bytes::from).collect();
    let slots = document.slots.into_iter();
    let is_within = |slot: &StoredSlot| (name.from..name.to).contains(&slot.start);
    slots
        .map(|slot| is_within(&slot).then(|| read_slot(slot, &keys, known))?)
        .collect()
}

fn read_slot(slot: StoredSlot, keys: &[Bytes], known: &mut Keys) -> Option<Slot> {
    if slot.cells.len() > CELLS_MAX || slot.partitions.len() > SPOTS_MAX {
        return None;
    }
    let cells = slot.cells.into_iter();
    let cells = cells.map(|cell| read_cell(cell, keys, known));
    let cells = cells.collect::<Option<_>>()?;
    let partitions = slot.partitions.into_iter();
    let spots = partitions.map(|(key, load)| {
        let partition = keys.get(key as usize)?.clone();
        let (partition, load) = (known.partitions.intern(partition), load.read()?);
        Some(Spot { partition, load })
    });
    let spots = spots.collect::<Option<_>>()?;
    Some(Slot::new(slot.start, SlotLoad { cells, spots }))
}

fn read_cell(cell: StoredCell, keys: &[Bytes], known: &mut Keys) -> Option<Cell> {
    let start = keys.get(cell.start as usize)?.clone();
    let end = match cell.end {
        None => None,
        Some(end) => Some(keys.get(end as usize).filter(|end| **end > start)?.clone()),
    };
    let load = match cell.load {
        None => None,
        Some(load) => Some(load.read()?),
    };
    let extent = known.extents.intern(Bounds { start, end });
    Some(Cell { extent, load })
}

impl From<&LoadSum> for StoredLoad {
    fn from(LoadSum { counts, latency }: &LoadSum) -> Self {
        let buckets = (0_u8..).zip(latency.buckets());
        let counted = buckets.filter(|(_, requests)| **requests > 0);
        Self {
            counts: *counts,
            latency: counted
                .map(|(bucket, requests)| (bucket, *requests))
                .collect(),
        }
    }
}

impl StoredLoad {
    /// The load; `None` if a count is too large or a bucket does not exist.
    fn read(self) -> Option<Box<LoadSum>> {
        let Self { counts, latency } = self;
        if counts.largest() > COUNT_MAX {
            return None;
        }
        let mut load = LoadSum {
            counts,
            latency: CoarseLatency::new(),
        };
        for (bucket, requests) in latency {
            let bucket = usize::from(bucket);
            if bucket >= COARSE_BUCKETS {
                return None;
            }
            load.latency.add_to_bucket(bucket, requests);
        }
        Some(Box::new(load))
    }
}

#[cfg(test)]
mod tests;
