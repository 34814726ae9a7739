//! Key patterns: distributions of PartitionKeys in common table designs.
//!
//! | pattern | PartitionKeys |
//! | --- | --- |
//! | single | one key for all rows |
//! | uniform | a fixed number of keys, all equally likely |
//! | zipf | a fixed number of keys; the k-th is used `k^exponent` times less often than the first; busy keys are not neighbours |
//! | append | growing keys, like timestamps and counters: a new key after a fixed number of rows |
//! | prepend | shrinking keys, like inverted timestamps: the newest row comes first |
//! | sampled | keys drawn from a list; a key that the list repeats is drawn more often |
//!
//! Rows are numbered. The keys of a row are computed from its number and the seed, so the driver does not store which
//! rows it wrote.

mod zipf;

use crate::Random;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use zipf::Zipf;

/// Maximum number of partitions of a pattern. Partition names have at most ten characters.
pub const PARTITIONS_MAX: u64 = 1_000_000_000;

/// The number in the first PartitionKey of [`Pattern::Prepend`]; each later partition has a smaller one.
const PREPEND_FROM: u64 = 9_999_999_999;

/// The distribution of rows over partitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// One partition.
    Single,
    /// Partitions that are all equally likely.
    Uniform {
        /// Number of partitions, 1 to [`PARTITIONS_MAX`].
        partitions: u64,
    },
    /// Partitions of very different load: a few get most of the rows.
    Zipf {
        /// Number of partitions, 1 to [`PARTITIONS_MAX`].
        partitions: u64,
        /// The skew, above 0: at 1, the second partition is used half as often as the first.
        exponent: f64,
    },
    /// Growing PartitionKeys.
    Append {
        /// Number of rows per partition, at least 1.
        partition_rows: u64,
    },
    /// Shrinking PartitionKeys.
    Prepend {
        /// Number of rows per partition, at least 1.
        partition_rows: u64,
    },
    /// PartitionKeys of a list or of another table.
    Sampled {
        /// A description of the source of the keys.
        source: String,
        /// Number of keys in the sample, repetitions included.
        keys: u64,
    },
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => f.write_str("a single partition"),
            Self::Uniform { partitions } => write!(f, "{partitions} partitions, equally likely"),
            Self::Zipf {
                partitions,
                exponent,
            } => write!(
                f,
                "{partitions} partitions by Zipf's law with exponent {exponent}"
            ),
            Self::Append { partition_rows: n } => {
                write!(f, "growing PartitionKeys, a new one every {n} rows")
            }
            Self::Prepend { partition_rows: n } => {
                write!(f, "shrinking PartitionKeys, a new one every {n} rows")
            }
            Self::Sampled { source, keys } => write!(f, "{keys} keys sampled from {source}"),
        }
    }
}

/// Computes the keys of rows from their numbers.
#[derive(Debug, Clone)]
pub struct Keys {
    pattern: Pattern,
    seed: u64,
    /// The prefix of all RowKeys, so that no two runs write the same rows.
    run: String,
    zipf: Option<Zipf>,
    sample: Arc<[String]>,
}

impl Keys {
    /// The keys of a pattern. `run` is the prefix of all RowKeys. `sample` contains at least one key for
    /// [`Pattern::Sampled`]; other patterns ignore it.
    #[must_use]
    pub fn new(pattern: Pattern, seed: u64, run: &str, sample: Vec<String>) -> Self {
        let zipf = match pattern {
            Pattern::Zipf {
                partitions,
                exponent,
            } => Some(Zipf::new(partitions.max(1), exponent)),
            _ => None,
        };
        Self {
            pattern,
            seed,
            run: run.to_owned(),
            zipf,
            sample: sample.into(),
        }
    }

    /// The PartitionKey of a row.
    #[must_use]
    pub fn partition_key(&self, number: u64) -> String {
        let mut random = Random::of(self.seed, number);
        match &self.pattern {
            Pattern::Single => "single".to_owned(),
            Pattern::Uniform { partitions } => {
                named(random.below((*partitions).max(1)), *partitions)
            }
            Pattern::Zipf { partitions, .. } => {
                let rank = self.zipf.as_ref().map_or(1, |zipf| zipf.rank(&mut random));
                named(scattered(rank - 1, *partitions), *partitions)
            }
            Pattern::Append { partition_rows } => {
                format!("{:010}", number / (*partition_rows).max(1))
            }
            Pattern::Prepend { partition_rows } => {
                let at = PREPEND_FROM.saturating_sub(number / (*partition_rows).max(1));
                format!("{at:010}")
            }
            Pattern::Sampled { .. } => {
                let at = random.below(self.sample.len().max(1) as u64);
                let key = usize::try_from(at).ok().and_then(|at| self.sample.get(at));
                key.cloned().unwrap_or_default()
            }
        }
    }

    /// The RowKey of a row.
    #[must_use]
    pub fn row_key(&self, number: u64) -> String {
        format!("{}-{number:010}", self.run)
    }
}

/// The PartitionKey of the partition with this number. All have the same length, so that they sort like their numbers.
fn named(place: u64, partitions: u64) -> String {
    let width = partitions.saturating_sub(1).max(1).ilog10() as usize + 1;
    format!("p{place:0width$}")
}

/// The partition of a rank, both numbered from 0. Each partition has one rank, and partitions of similar rank lie far
/// apart in the table.
fn scattered(rank: u64, partitions: u64) -> u64 {
    let partitions = u128::from(partitions.max(1));
    let mut step = (partitions * 618 / 1000).max(1);
    while gcd(step, partitions) != 1 {
        step += 1;
    }
    u64::try_from(u128::from(rank) * step % partitions).unwrap_or_default()
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
