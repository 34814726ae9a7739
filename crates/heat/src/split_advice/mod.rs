//! Finds the split key at which both sides get a fair part of the load, now and later.
//!
//! A partition is never split. The growing end of a table is not split either: the keys of the last minutes count as
//! one piece, because their load moves to the keys inserted next, which are all on one side of any split. A split next
//! to that piece is useful if the remaining keys have enough load: reads all over an old table, or a second table.

use crate::growth::GrowingEnd;
use crate::load_sample::Sampled;
use bytes::Bytes;

/// The minimum number of samples for advice. With that many, the share of one side is accurate to about 10 %.
const SAMPLES_MIN: usize = 256;
/// The minimum share of the load on each side; a split that moves less is not worth its pause.
pub(crate) const SIDE_SHARE_MIN: f64 = 0.25;

/// Advice on splitting a range, from its observed load.
///
/// The cases are complete: add pieces (partitions and growing ends) from the left until their share exceeds 25 %.
/// Either that sum is at most 75 %, so a split point exists, or the last piece has more than half of the load.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitAdvice {
    /// A split before `key` leaves each side at least a quarter of the load.
    Cut {
        /// The indivisible prefix of the first partition of the right side.
        key: Bytes,
        /// The share of the load before the key, 0.25 to 0.75: as near to 0.5 as possible.
        left_share: f64,
    },
    /// No split helps: one partition takes more than half of the load, and a partition is never split.
    OneHotPartition {
        /// Its indivisible prefix.
        partition: Bytes,
        /// Its share of the load, above 0.5.
        share: f64,
    },
    /// No split helps for long: more than half of the load is at the growing end of a table, and moves with it.
    GrowsAtOneEnd {
        /// The prefix of the table's keys.
        table: Bytes,
        /// The share of the load at the growing end, above 0.5.
        share: f64,
    },
    /// Too little load was observed.
    NotEnoughLoad,
}

/// A piece that is never split: a partition, or all partitions of a growing end.
struct Piece<'k> {
    /// Its first partition.
    first: &'k [u8],
    load: u64,
    /// The partition of the piece with the most load.
    heaviest: Sampled<'k>,
    end: Option<&'k GrowingEnd>,
}

/// The advice for the loads of partitions in key order, from `samples` samples.
pub(super) fn advise(
    partitions: &[Sampled<'_>],
    samples: usize,
    growing: &[GrowingEnd],
) -> SplitAdvice {
    let total: u64 = partitions.iter().map(|sampled| sampled.load).sum();
    if samples < SAMPLES_MIN || total == 0 {
        return SplitAdvice::NotEnoughLoad;
    }
    let share = |load: u64| load as f64 / total as f64;
    let pieces = pieces(partitions, growing);
    let mut left = 0;
    let cuts = pieces.iter().map(|piece| {
        let before = left;
        left += piece.load;
        (before, piece)
    });
    let best = cuts.min_by_key(|(before, _)| (2 * before).abs_diff(total));
    let heaviest = pieces.iter().max_by_key(|piece| piece.load);
    match (best, heaviest) {
        (Some((before, right)), _) if is_fair(share(before)) => SplitAdvice::Cut {
            key: Bytes::copy_from_slice(right.first),
            left_share: share(before),
        },
        (_, Some(piece)) => in_the_way(piece, share),
        _ => SplitAdvice::NotEnoughLoad,
    }
}

/// Joins the partitions of each growing end, which are neighbours.
fn pieces<'k>(partitions: &[Sampled<'k>], growing: &'k [GrowingEnd]) -> Vec<Piece<'k>> {
    let mut pieces: Vec<Piece<'k>> = Vec::with_capacity(partitions.len());
    for &sampled in partitions {
        let last = pieces.last_mut();
        let last = last.filter(|last| last.end.is_some_and(|end| end.holds(sampled.partition)));
        if let Some(last) = last {
            last.load += sampled.load;
            if sampled.load > last.heaviest.load {
                last.heaviest = sampled;
            }
            continue;
        }
        pieces.push(Piece {
            first: sampled.partition,
            load: sampled.load,
            heaviest: sampled,
            end: growing.iter().find(|end| end.holds(sampled.partition)),
        });
    }
    pieces
}

/// The advice for a piece with more than half of the load: its heaviest partition if that partition alone has more than
/// half, otherwise the growing end.
fn in_the_way(piece: &Piece<'_>, share: impl Fn(u64) -> f64) -> SplitAdvice {
    match piece.end {
        Some(end) if share(piece.heaviest.load) <= 0.5 => SplitAdvice::GrowsAtOneEnd {
            table: end.table.clone(),
            share: share(piece.load),
        },
        _ => SplitAdvice::OneHotPartition {
            partition: Bytes::copy_from_slice(piece.heaviest.partition),
            share: share(piece.heaviest.load),
        },
    }
}

fn is_fair(left_share: f64) -> bool {
    (SIDE_SHARE_MIN..=1.0 - SIDE_SHARE_MIN).contains(&left_share)
}

#[cfg(test)]
mod tests;
