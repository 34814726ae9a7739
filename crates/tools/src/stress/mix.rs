//! [`Mix`]: which operations a run performs, and how often.

use partita_bulk::named_enum;
use partita_load::Random;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

named_enum! {
    /// The kinds of operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Kind {
        /// Get Entity: a row by its keys.
        Get = "get",
        /// Insert Entity: a new row.
        Insert = "insert",
        /// Insert Or Replace Entity: overwrites a row that was loaded before the run (`--rows`) or, without such rows, a
        /// row of the run that may not exist yet.
        Upsert = "upsert",
        /// An entity group transaction of inserts.
        Batch = "batch",
        /// One page of the rows of a partition, from a RowKey on.
        RowRange = "row-range",
        /// One page of rows, from a PartitionKey on.
        PartitionRange = "partition-range",
        /// All pages of a query on the whole table, for a property that no row has.
        Scan = "scan",
    }
}

impl Kind {
    /// Whether the operation writes rows.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Insert | Self::Upsert | Self::Batch)
    }

    /// Whether the operation needs existing rows.
    pub const fn needs_rows(self) -> bool {
        !matches!(self, Self::Insert | Self::Batch)
    }

    /// The index of this kind in [`Self::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// A mix of operations by weight: `get=80,insert=20`. The default weight is 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mix {
    /// The kinds and their weights, which are above 0, in the order of [`Kind::ALL`]. Each kind occurs at most once.
    weights: Vec<(Kind, u32)>,
}

/// Why a text is not a mix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidMix {
    /// The mix has no operation.
    #[error(
        "a mix needs an operation: get, insert, upsert, batch, row-range, partition-range or scan"
    )]
    Empty,
    /// The operation is unknown.
    #[error(
        "unknown operation {0:?}: expected get, insert, upsert, batch, row-range, partition-range or scan"
    )]
    Kind(String),
    /// The weight is not valid.
    #[error("{0:?} is not a weight: expected a whole number from 1 to 1,000,000")]
    Weight(String),
    /// A kind occurs twice.
    #[error("{0} is listed twice")]
    Twice(Kind),
}

/// Largest weight.
const WEIGHT_MAX: u32 = 1_000_000;

impl Mix {
    /// Whether the mix contains an operation for which `wanted` is true.
    pub fn has(&self, wanted: impl Fn(Kind) -> bool) -> bool {
        self.weights.iter().any(|(kind, _)| wanted(*kind))
    }

    /// Picks a random kind by its weight.
    pub(crate) fn pick(&self, random: &mut Random) -> Kind {
        let weights = self.weights.iter().map(|(_, weight)| u64::from(*weight));
        let mut at = random.below(weights.sum());
        for (kind, weight) in &self.weights {
            match at.checked_sub(u64::from(*weight)) {
                Some(rest) => at = rest,
                None => return *kind,
            }
        }
        // Unreachable: the random number is below the sum.
        self.weights.first().map_or(Kind::Get, |(kind, _)| *kind)
    }
}

impl FromStr for Mix {
    type Err = InvalidMix;

    fn from_str(text: &str) -> Result<Self, InvalidMix> {
        let mut weights: Vec<(Kind, u32)> = Vec::new();
        let parts = text.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
            let (name, weight) = (name.trim(), weight.trim());
            let kind = Kind::of_name(name).ok_or_else(|| InvalidMix::Kind(name.to_owned()))?;
            let number = weight.parse().ok();
            let number = number.filter(|number| (1..=WEIGHT_MAX).contains(number));
            let number = number.ok_or_else(|| InvalidMix::Weight(weight.to_owned()))?;
            if weights.iter().any(|(other, _)| *other == kind) {
                return Err(InvalidMix::Twice(kind));
            }
            weights.push((kind, number));
        }
        if weights.is_empty() {
            return Err(InvalidMix::Empty);
        }
        weights.sort_unstable();
        Ok(Self { weights })
    }
}

impl TryFrom<String> for Mix {
    type Error = InvalidMix;

    fn try_from(text: String) -> Result<Self, InvalidMix> {
        text.parse()
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        mix.to_string()
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = self.weights.iter();
        let parts: Vec<_> = weights
            .map(|(kind, weight)| format!("{kind}={weight}"))
            .collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_mixes_are_parsed_and_others_are_errors() {
        for (text, expected) in [
            ("get", "get=1"),
            (" insert = 20 , get=80,", "get=80,insert=20"),
            (
                "scan,batch=3,row-range=2,partition-range=7,upsert=1",
                "upsert=1,batch=3,row-range=2,partition-range=7,scan=1",
            ),
        ] {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(mix.to_string(), expected);
            assert_eq!(expected.parse::<Mix>().unwrap(), mix);
        }
        for (text, expected) in [
            ("", InvalidMix::Empty),
            (",", InvalidMix::Empty),
            ("delete", InvalidMix::Kind("delete".to_owned())),
            ("get=0", InvalidMix::Weight("0".to_owned())),
            ("get=1.5", InvalidMix::Weight("1.5".to_owned())),
            ("get=1,get=2", InvalidMix::Twice(Kind::Get)),
        ] {
            assert_eq!(text.parse::<Mix>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn operations_are_distributed_by_weight() {
        let mix: Mix = "get=70,insert=25,scan=5".parse().unwrap();
        let mut counts = [0_u32; 7];
        for number in 0..100_000 {
            counts[mix.pick(&mut Random::of(1, number)).index()] += 1;
        }
        let near = |count: u32, expected: u32| count.abs_diff(expected) < 700;
        assert!(
            near(counts[0], 70_000) && near(counts[1], 25_000) && near(counts[6], 5_000),
            "{counts:?}"
        );
        assert_eq!(counts[2..6], [0; 4]);
    }

    #[test]
    fn the_index_of_a_kind_is_its_place_in_all() {
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), at);
        }
    }
}
