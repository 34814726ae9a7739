//! Where a range should be cut so that both sides take a fair part of its load.

use crate::heat::hex_key::serialize_hex;
use crate::heat::load_sample::Sampled;
use bytes::Bytes;
use serde::Serialize;

/// Samples below which nothing is advised: with so many, the share of one side is known to within some 10 %.
const SAMPLES_MIN: usize = 256;
/// The least share of the load that a side must take, else the cut moves too little to be worth its pause.
pub const SIDE_SHARE_MIN: f64 = 0.25;

/// What the load that was seen says about splitting a range.
///
/// There is always one of the three: partitions can be added up from the left until their share passes 25 %, and either
/// that sum is at most 75 %, and there is a cut, or the partition added last has more than half of the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "advice", rename_all = "snake_case")]
pub enum SplitAdvice {
    /// A split before `key` leaves each side at least a quarter of the load.
    Cut {
        /// The indivisible prefix of the first partition of the right side; in JSON as hexadecimal.
        #[serde(serialize_with = "serialize_hex")]
        key: Bytes,
        /// The share of the load that is left of it, 0.25 to 0.75: the nearest to a half that there is.
        left_share: f64,
    },
    /// No cut can help: one partition takes more than half of the load, and a partition is never cut.
    OneHotPartition {
        /// Its indivisible prefix; in JSON as hexadecimal.
        #[serde(serialize_with = "serialize_hex")]
        partition: Bytes,
        /// Its share of the load, above 0.5.
        share: f64,
    },
    /// Too little was seen to say.
    NotEnoughLoad,
}

/// The advice for loads of partitions in key order, which `samples` stand behind.
pub(super) fn advise(partitions: &[Sampled<'_>], samples: usize) -> SplitAdvice {
    let total: u64 = partitions.iter().map(|sampled| sampled.load).sum();
    if samples < SAMPLES_MIN || total == 0 {
        return SplitAdvice::NotEnoughLoad;
    }
    let share = |load: u64| load as f64 / total as f64;
    let mut left = 0;
    let cuts = partitions.iter().map(|sampled| {
        let before = left;
        left += sampled.load;
        (before, sampled)
    });
    let best = cuts.min_by_key(|(before, _)| (2 * before).abs_diff(total));
    let heaviest = partitions.iter().max_by_key(|sampled| sampled.load);
    match (best, heaviest) {
        (Some((before, right)), _) if is_fair(share(before)) => SplitAdvice::Cut {
            key: Bytes::copy_from_slice(right.partition),
            left_share: share(before),
        },
        (_, Some(heaviest)) => SplitAdvice::OneHotPartition {
            partition: Bytes::copy_from_slice(heaviest.partition),
            share: share(heaviest.load),
        },
        _ => SplitAdvice::NotEnoughLoad,
    }
}

fn is_fair(left_share: f64) -> bool {
    (SIDE_SHARE_MIN..=1.0 - SIDE_SHARE_MIN).contains(&left_share)
}

#[cfg(test)]
mod tests;
