//! Ranges of entities: parts of a table in key order, between two bounds.
//!
//! [`EntityRange`] is used for the key range of a shared access signature, for the spans that the query planner reads,
//! and for the remaining rows of a resumed query. A range compares keys in the order of their encoding by
//! [`crate::TableSpace`], without encoding them.

use crate::{EntityPosition, TableSpace, compare_utf16};
use bytes::Bytes;
use std::cmp::Ordering;

/// A bound between the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityBound {
    /// Before every row.
    TableStart,
    /// Before every row of the partition.
    BeforePartition(String),
    /// After every row of the partition.
    AfterPartition(String),
    /// Before the row with this PartitionKey and RowKey.
    Before(String, String),
    /// After the row with this PartitionKey and RowKey.
    After(String, String),
    /// After every row.
    TableEnd,
}

/// The position of a bound or a row; the fields are in the order of comparison.
struct Place<'a> {
    /// `Less` for a position before every partition, `Greater` after every partition, otherwise `Equal`.
    table: Ordering,
    partition_key: &'a str,
    after_partition: bool,
    row_key: &'a str,
    after_row: bool,
}

impl Place<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        self.table
            .cmp(&other.table)
            .then_with(|| compare_utf16(self.partition_key, other.partition_key))
            .then(self.after_partition.cmp(&other.after_partition))
            .then_with(|| compare_utf16(self.row_key, other.row_key))
            .then(self.after_row.cmp(&other.after_row))
    }
}

impl EntityBound {
    /// The bound before the row of the position; without a RowKey, before its partition.
    pub fn before(position: EntityPosition) -> Self {
        match position.row_key {
            None => Self::BeforePartition(position.partition_key),
            Some(row_key) => Self::Before(position.partition_key, row_key),
        }
    }

    /// The bound after the row of the position; without a RowKey, after its partition.
    pub fn after(position: EntityPosition) -> Self {
        match position.row_key {
            None => Self::AfterPartition(position.partition_key),
            Some(row_key) => Self::After(position.partition_key, row_key),
        }
    }

    /// The key of the bound in a table: rows before the bound have smaller keys, rows after it equal or greater ones.
    pub fn key(&self, table: &TableSpace) -> Bytes {
        match self {
            Self::TableStart => table.prefix().clone(),
            Self::BeforePartition(partition) => table.partition(partition),
            Self::AfterPartition(partition) => table.partition_end(partition),
            Self::Before(partition, row) => table.entity(partition, row),
            Self::After(partition, row) => table.after_entity(partition, row),
            Self::TableEnd => table.end(),
        }
    }

    /// The order of two bounds of one table. The start of a partition equals the bound before its empty RowKey, because
    /// no row is between them.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.place().compare(&other.place())
    }

    fn place(&self) -> Place<'_> {
        let (table, partition_key, row_key) = match self {
            Self::TableStart => (Ordering::Less, "", ""),
            Self::BeforePartition(partition) | Self::AfterPartition(partition) => {
                (Ordering::Equal, partition.as_str(), "")
            }
            Self::Before(partition, row) | Self::After(partition, row) => {
                (Ordering::Equal, partition.as_str(), row.as_str())
            }
            Self::TableEnd => (Ordering::Greater, "", ""),
        };
        Place {
            table,
            partition_key,
            after_partition: matches!(self, Self::AfterPartition(_)),
            row_key,
            after_row: matches!(self, Self::After(..)),
        }
    }
}

/// The rows of a table between two bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRange {
    /// The bound before its first row.
    pub start: EntityBound,
    /// The bound after its last row.
    pub end: EntityBound,
}

impl EntityRange {
    /// Every row of a table.
    pub const fn whole_table() -> Self {
        Self {
            start: EntityBound::TableStart,
            end: EntityBound::TableEnd,
        }
    }

    /// The rows from `low` to `high`, both included. A position without a RowKey includes its whole partition.
    pub fn inclusive(low: Option<EntityPosition>, high: Option<EntityPosition>) -> Self {
        Self {
            start: low.map_or(EntityBound::TableStart, EntityBound::before),
            end: high.map_or(EntityBound::TableEnd, EntityBound::after),
        }
    }

    /// Whether the range has no bounds.
    pub const fn is_whole_table(&self) -> bool {
        matches!(
            (&self.start, &self.end),
            (EntityBound::TableStart, EntityBound::TableEnd)
        )
    }

    /// Whether no row can be in the range.
    pub fn is_empty(&self) -> bool {
        self.start.compare(&self.end).is_ge()
    }

    /// Whether the row with these keys is in the range.
    pub fn contains(&self, partition_key: &str, row_key: &str) -> bool {
        let row = Place {
            table: Ordering::Equal,
            partition_key,
            after_partition: false,
            row_key,
            after_row: false,
        };
        self.start.place().compare(&row).is_le() && row.compare(&self.end.place()).is_lt()
    }

    /// The rows in both ranges; `None` if the intersection is empty.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let start = std::cmp::max_by(&self.start, &other.start, |one, two| one.compare(two));
        let end = std::cmp::min_by(&self.end, &other.end, |one, two| one.compare(two));
        start.compare(end).is_lt().then(|| Self {
            start: start.clone(),
            end: end.clone(),
        })
    }

    /// PartitionKey and RowKey, if the range is a single row.
    pub fn point(&self) -> Option<(&str, &str)> {
        match (&self.start, &self.end) {
            (EntityBound::Before(partition, row), EntityBound::After(end_partition, end_row))
                if partition == end_partition && row == end_row =>
            {
                Some((partition, row))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableId;
    use proptest::prelude::*;

    /// A small set of keys, so that equal keys and prefixes are frequent.
    fn key() -> impl Strategy<Value = String> {
        "[\u{0}\u{1}a\u{FFFF}\u{10000}]{0,2}"
    }

    fn bound() -> impl Strategy<Value = EntityBound> {
        use EntityBound as B;
        prop_oneof![
            Just(B::TableStart),
            key().prop_map(B::BeforePartition),
            key().prop_map(B::AfterPartition),
            (key(), key()).prop_map(|(partition, row)| B::Before(partition, row)),
            (key(), key()).prop_map(|(partition, row)| B::After(partition, row)),
            Just(B::TableEnd),
        ]
    }

    fn range() -> impl Strategy<Value = EntityRange> {
        (bound(), bound()).prop_map(|(start, end)| EntityRange { start, end })
    }

    fn space() -> TableSpace {
        TableSpace::new("acc", TableId(7))
    }

    #[test]
    fn positions_without_a_row_key_include_their_partition() {
        let position = |partition: &str, row: Option<&str>| EntityPosition {
            partition_key: partition.to_owned(),
            row_key: row.map(str::to_owned),
        };
        let range =
            EntityRange::inclusive(Some(position("b", None)), Some(position("d", Some("5"))));
        for (partition, row) in [("b", ""), ("c", "z"), ("d", "5")] {
            assert!(range.contains(partition, row), "{partition} {row}");
        }
        for (partition, row) in [("a", "z"), ("d", "50"), ("da", "")] {
            assert!(!range.contains(partition, row), "{partition} {row}");
        }
        assert!(EntityRange::inclusive(None, None).is_whole_table());
        let point = EntityRange::inclusive(
            Some(position("p", Some("r"))),
            Some(position("p", Some("r"))),
        );
        assert_eq!(point.point(), Some(("p", "r")));
    }

    proptest! {
        #[test]
        fn bounds_are_ordered_as_their_keys(a in bound(), b in bound()) {
            prop_assert_eq!(a.compare(&b), a.key(&space()).cmp(&b.key(&space())));
        }

        #[test]
        fn a_range_contains_the_rows_between_its_encoded_bounds(range in range(), partition in key(), row in key()) {
            let space = space();
            let encoded = space.entity(&partition, &row);
            let inside = range.start.key(&space) <= encoded && encoded < range.end.key(&space);
            prop_assert_eq!(range.contains(&partition, &row), inside);
            prop_assert!(!(inside && range.is_empty()));
        }

        #[test]
        fn an_intersection_contains_the_common_rows(a in range(), b in range(), partition in key(), row in key()) {
            let inside = |range: &EntityRange| range.contains(&partition, &row);
            let both = a.intersection(&b);
            prop_assert_eq!(both.as_ref().is_some_and(inside), inside(&a) && inside(&b));
        }
    }
}
