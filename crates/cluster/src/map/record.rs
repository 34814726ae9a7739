//! The partition map as it is stored. `docs/format/map.md` describes the bytes.

use super::key_text;
use super::partition_map::Epoch;
use bytes::Bytes;
use partita_range::{Bounds, RangeId};
use serde::{Deserialize, Serialize};

/// The format this version writes and reads.
pub(crate) const FORMAT: u32 = 1;

/// One state of the map: what ranges there are, what is being changed, and what is left to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapRecord {
    /// The format of the record.
    pub format: u32,
    /// Counts the changes: each is one more than the one before.
    pub version: u64,
    /// The id that the next new range gets. Ids are never used again.
    pub next_range: u64,
    /// The epoch that the next new range gets.
    pub next_epoch: Epoch,
    /// The ranges in key order: the first begins with the empty key, each ends where the next begins.
    pub ranges: Vec<RangeRecord>,
    /// A change that was begun. It is finished when the record that follows has its outcome; otherwise it is undone.
    pub change: Option<ChangeRecord>,
    /// EngineSet of ranges that are no more; each is removed once nobody reads its files.
    pub orphans: Vec<u64>,
}

/// A range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRecord {
    /// Its id, and its database's.
    pub id: u64,
    /// Under which epoch it is served.
    pub epoch: Epoch,
    /// Its first key.
    #[serde(with = "key_text")]
    pub start: Bytes,
}

/// A change that was begun, and the ids it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ChangeRecord {
    /// A range becomes two.
    Split {
        /// The range.
        range: u64,
        /// The first key of the right one.
        #[serde(with = "key_text")]
        at: Bytes,
        /// The new range before it.
        left: u64,
        /// The new range from it on.
        right: u64,
    },
    /// Two neighbours become one.
    Merge {
        /// The range before.
        left: u64,
        /// The range behind.
        right: u64,
        /// The new range.
        into: u64,
    },
}

impl ChangeRecord {
    /// The ranges that it makes.
    pub(crate) fn makes(&self) -> Vec<RangeId> {
        match *self {
            Self::Split { left, right, .. } => vec![RangeId(left), RangeId(right)],
            Self::Merge { into, .. } => vec![RangeId(into)],
        }
    }
}

impl MapRecord {
    /// A new store: one range, the whole key space.
    #[must_use]
    pub fn first() -> Self {
        Self {
            format: FORMAT,
            version: 1,
            next_range: 2,
            next_epoch: Epoch(2),
            ranges: vec![RangeRecord {
                id: 1,
                epoch: Epoch(1),
                start: Bytes::new(),
            }],
            change: None,
            orphans: Vec::new(),
        }
    }

    /// Where the range at `at` lies.
    pub(crate) fn bounds(&self, at: usize) -> Bounds {
        let start = self.ranges.get(at).map(|range| range.start.clone());
        Bounds {
            start: start.unwrap_or_default(),
            end: self.ranges.get(at + 1).map(|next| next.start.clone()),
        }
    }

    /// Whether it is one that this version can work with: of its format, covering the key space, with ids and epochs that were
    /// given out.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.format != FORMAT {
            return Err("it has a format that this version does not know");
        }
        if self
            .ranges
            .first()
            .is_none_or(|first| !first.start.is_empty())
        {
            return Err("no range begins with the first key");
        }
        let ascending = |pair: &[RangeRecord]| matches!(pair, [a, b] if a.start < b.start);
        if !self.ranges.windows(2).all(ascending) {
            return Err("its ranges are not in order");
        }
        let mut ids: Vec<u64> = self.ranges.iter().map(|range| range.id).collect();
        ids.extend(&self.orphans);
        ids.extend(
            self.change
                .iter()
                .flat_map(ChangeRecord::makes)
                .map(|id| id.0),
        );
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() < count || ids.last().is_some_and(|last| *last >= self.next_range) {
            return Err("an id is used twice, or was never given out");
        }
        if self
            .ranges
            .iter()
            .any(|range| range.epoch >= self.next_epoch)
        {
            return Err("an epoch was never given out");
        }
        Ok(())
    }
}
