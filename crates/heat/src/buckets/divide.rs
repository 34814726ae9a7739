//! Divides the keys of a range at partitions of a load sample.
//!
//! - A table with at least half the load of a part starts a bucket, so that buckets have the load of one table.
//! - A bucket with the load of three parts is divided into parts. A hot partition gets a bucket of its own.
//! - The first and the last bucket of a table are also divided before its first and after its last partition. The keys
//!   that the table will grow to are then in another bucket, and their load is not shown at the time before.

use crate::load_sample::Sampled;
use bytes::Bytes;
use std::collections::BTreeSet;

/// A part has this share of the load of its range.
const PARTS: u64 = 32;
/// The minimum number of samples of a part; fewer say little about the next window.
const PART_SAMPLES_MIN: u64 = 8;
/// A bucket with the load of so many parts is divided. With two, the noise of small samples would move the bounds in
/// each window.
const DIVIDED_PARTS: u64 = 3;

/// The first keys of the buckets `starts` after their division.
pub(super) fn starts(starts: &[Bytes], sampled: &[Sampled<'_>], unit: u64) -> Vec<Bytes> {
    let part = (load(sampled) / PARTS).max(unit * PART_SAMPLES_MIN);
    let mut cuts: BTreeSet<Bytes> = starts.iter().cloned().collect();
    for of_table in sampled.chunk_by(|a, b| a.table() == b.table()) {
        if let Some(first) = of_table.first().filter(|_| load(of_table) * 2 >= part) {
            cuts.insert(Bytes::copy_from_slice(first.table()));
        }
    }
    let buckets: Vec<Bytes> = cuts.iter().cloned().collect();
    for (at, start) in buckets.iter().enumerate() {
        let inside = within(sampled, start, buckets.get(at + 1));
        if load(inside) >= part * DIVIDED_PARTS {
            cut(inside, part, &mut cuts);
            cut_ends(sampled, inside, &mut cuts);
        }
    }
    cuts.into_iter().collect()
}

/// Cuts partitions into parts.
fn cut(sampled: &[Sampled<'_>], part: u64, cuts: &mut BTreeSet<Bytes>) {
    let mut joined = 0;
    for sample in sampled {
        if sample.load >= part {
            cuts.extend([Bytes::copy_from_slice(sample.partition), after(sample)]);
            joined = 0;
            continue;
        }
        if joined >= part {
            cuts.insert(Bytes::copy_from_slice(sample.partition));
            joined = 0;
        }
        joined += sample.load;
    }
}

/// Cuts before the first and after the last partition of a table, if they are `inside`.
fn cut_ends(sampled: &[Sampled<'_>], inside: &[Sampled<'_>], cuts: &mut BTreeSet<Bytes>) {
    let (Some(first), Some(last)) = (inside.first(), inside.last()) else {
        return;
    };
    let at = sampled.partition_point(|sample| sample.partition < first.partition);
    let before = at.checked_sub(1).and_then(|before| sampled.get(before));
    if before.is_none_or(|before| before.table() != first.table()) {
        cuts.insert(Bytes::copy_from_slice(first.partition));
    }
    let next = sampled.get(at + inside.len());
    if next.is_none_or(|next| next.table() != last.table()) {
        cuts.insert(after(last));
    }
}

/// A key after all keys of a partition and before the next partition, because no partition is a prefix of another.
fn after(sample: &Sampled<'_>) -> Bytes {
    Bytes::from([sample.partition, &[0xFF]].concat())
}

/// The partitions from `start` on, and before `end`.
pub(super) fn within<'s, 'k>(
    sampled: &'s [Sampled<'k>],
    start: &[u8],
    end: Option<&Bytes>,
) -> &'s [Sampled<'k>] {
    let at = |key: &[u8]| sampled.partition_point(|sample| sample.partition < key);
    let end = end.map_or(sampled.len(), |end| at(end));
    sampled.get(at(start)..end).unwrap_or_default()
}

/// The load of partitions.
pub(super) fn load(sampled: &[Sampled<'_>]) -> u64 {
    sampled.iter().map(|sample| sample.load).sum()
}
