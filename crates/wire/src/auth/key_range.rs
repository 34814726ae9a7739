//! The keys that a table SAS reaches.

use partita_model::compare_utf16;
use std::cmp::Ordering;

/// One end of a range: a PartitionKey, and maybe a RowKey within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyBound {
    /// The PartitionKey.
    pub partition_key: String,
    /// The RowKey; without it the whole partition is in the range.
    pub row_key: Option<String>,
}

/// A range of entities, both ends included, in the order of keys (PartitionKey, then RowKey, by UTF-16 code unit).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRange {
    /// Where it begins: at `spk` and `srk`.
    pub low: Option<KeyBound>,
    /// Where it ends: at `epk` and `erk`.
    pub high: Option<KeyBound>,
}

impl KeyRange {
    /// Whether it holds every entity of the table.
    #[must_use]
    pub const fn is_everything(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    /// Whether the entity is in the range.
    #[must_use]
    pub fn contains(&self, partition_key: &str, row_key: &str) -> bool {
        let order = |bound: &KeyBound| {
            compare_utf16(partition_key, &bound.partition_key).then_with(|| match &bound.row_key {
                Some(bound) => compare_utf16(row_key, bound),
                None => Ordering::Equal,
            })
        };
        self.low.as_ref().is_none_or(|low| order(low).is_ge())
            && self.high.as_ref().is_none_or(|high| order(high).is_le())
    }
}
