//! Where rows lie: patterns of PartitionKeys, as designs of tables have them.
//!
//! | pattern | PartitionKeys |
//! | --- | --- |
//! | single | one for all rows |
//! | uniform | so many, each as likely as the others |
//! | zipf | so many, the k-th wanted `k^exponent` times less often than the first; the most wanted lie scattered among the others |
//! | append | ever greater ones, as times and counters make them: each so many rows, one after the other |
//! | prepend | ever smaller ones, as times counted down make them, so that the newest row comes first |
//! | sampled | those of a list, each as often as it stands there |
//!
//! Rows have numbers. The keys of a row follow from its number and the seed, so nothing has to be kept of rows that were written.

mod random;
mod zipf;

pub(crate) use random::Random;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use zipf::Zipf;

/// Most partitions of a pattern: their names have ten digits at most.
pub const PARTITIONS_MAX: u64 = 1_000_000_000;

/// The first partition of [`Pattern::Prepend`], from where they go down.
const PREPEND_FROM: u64 = 9_999_999_999;

/// Which partitions rows lie in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// All in one.
    Single,
    /// In so many, 1 to [`PARTITIONS_MAX`].
    Uniform {
        /// How many.
        partitions: u64,
    },
    /// In so many, a few of which are wanted most.
    Zipf {
        /// How many, 1 to [`PARTITIONS_MAX`].
        partitions: u64,
        /// How unevenly, above 0: at 1 the second is wanted half as often as the first.
        exponent: f64,
    },
    /// Each behind the ones before.
    Append {
        /// Rows of each partition, at least 1.
        partition_rows: u64,
    },
    /// Each before the ones before.
    Prepend {
        /// Rows of each partition, at least 1.
        partition_rows: u64,
    },
    /// As others have them.
    Sampled {
        /// Where the keys were taken from, in words.
        source: String,
        /// How many there are in the sample, each as often as it was found.
        keys: u64,
    },
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => f.write_str("a single partition"),
            Self::Uniform { partitions } => write!(f, "{partitions} partitions, all alike"),
            Self::Zipf {
                partitions,
                exponent,
            } => {
                write!(
                    f,
                    "{partitions} partitions by Zipf's law with exponent {exponent}"
                )
            }
            Self::Append { partition_rows } => {
                write!(
                    f,
                    "growing PartitionKeys, a new one each {partition_rows} rows"
                )
            }
            Self::Prepend { partition_rows } => {
                write!(
                    f,
                    "shrinking PartitionKeys, a new one each {partition_rows} rows"
                )
            }
            Self::Sampled { source, keys } => write!(f, "{keys} keys sampled from {source}"),
        }
    }
}

/// The keys of rows by their numbers.
#[derive(Debug, Clone)]
pub struct Keys {
    pattern: Pattern,
    seed: u64,
    /// What all RowKeys begin with, so that no run meets the rows of another.
    run: String,
    zipf: Option<Zipf>,
    sample: Arc<[String]>,
}

impl Keys {
    /// The keys of a pattern. `run` is what all RowKeys begin with; `sample` the keys of [`Pattern::Sampled`], which must not be
    /// empty there, and is not looked at elsewhere.
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

    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
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

/// The name of a partition, all of one length so that their order is that of their numbers.
fn named(place: u64, partitions: u64) -> String {
    let width = partitions.saturating_sub(1).max(1).ilog10() as usize + 1;
    format!("p{place:0width$}")
}

/// A place for a rank from 0 on: neighbours in rank lie far apart, and every place is taken once.
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
