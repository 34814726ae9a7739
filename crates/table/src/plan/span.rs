//! Cuts between the rows of a table, and the spans between two cuts.

use super::QueryClass;
use super::boxes::KeyBox;
use bytes::Bytes;
use partita_model::{TableId, TableSpace};
use std::ops::Bound;
use std::sync::LazyLock;

/// A place between the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// Before every row.
    TableStart,
    /// Before every row of the partition.
    BeforePartition(String),
    /// Behind every row of the partition.
    AfterPartition(String),
    /// Before the row.
    Before(String, String),
    /// Behind the row.
    After(String, String),
    /// Behind every row.
    TableEnd,
}

/// Cuts compare by their keys in any one table; this one stands for all.
static ANY_TABLE: LazyLock<TableSpace> = LazyLock::new(|| TableSpace::new("", TableId(0)));

impl Cut {
    /// The least key behind the cut, in a table.
    #[must_use]
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

    /// For comparing cuts of one table.
    pub(crate) fn relative(&self) -> Bytes {
        self.key(&ANY_TABLE)
    }
}

/// A contiguous piece of a table: what lies between two cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub start: Cut,
    /// Where it ends; behind `start`.
    pub end: Cut,
}

impl Span {
    /// Everything.
    #[must_use]
    pub const fn whole_table() -> Self {
        Self {
            start: Cut::TableStart,
            end: Cut::TableEnd,
        }
    }

    /// The smallest span around a box.
    pub(crate) fn of(key_box: &KeyBox) -> Self {
        let row = &key_box.row;
        let start = match &key_box.partition.low {
            Bound::Unbounded => Cut::TableStart,
            Bound::Excluded(partition) => Cut::AfterPartition(partition.clone()),
            Bound::Included(partition) => match &row.low {
                Bound::Unbounded => Cut::BeforePartition(partition.clone()),
                Bound::Included(row) => Cut::Before(partition.clone(), row.clone()),
                Bound::Excluded(row) => Cut::After(partition.clone(), row.clone()),
            },
        };
        let end = match &key_box.partition.high {
            Bound::Unbounded => Cut::TableEnd,
            Bound::Excluded(partition) => Cut::BeforePartition(partition.clone()),
            Bound::Included(partition) => match &row.high {
                Bound::Unbounded => Cut::AfterPartition(partition.clone()),
                Bound::Included(row) => Cut::After(partition.clone(), row.clone()),
                Bound::Excluded(row) => Cut::Before(partition.clone(), row.clone()),
            },
        };
        Self { start, end }
    }

    /// What lies in both; `None` when nothing can.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let later = self.start.relative() < other.start.relative();
        let start = if later { &other.start } else { &self.start };
        let earlier = self.end.relative() > other.end.relative();
        let end = if earlier { &other.end } else { &self.end };
        let both = Self {
            start: start.clone(),
            end: end.clone(),
        };
        (both.start.relative() < both.end.relative()).then_some(both)
    }

    /// PartitionKey and RowKey, when the span is around a single row.
    #[must_use]
    pub fn point(&self) -> Option<(&str, &str)> {
        match (&self.start, &self.end) {
            (Cut::Before(partition, row), Cut::After(end_partition, end_row))
                if partition == end_partition && row == end_row =>
            {
                Some((partition, row))
            }
            _ => None,
        }
    }

    /// The class of reading it.
    #[must_use]
    pub fn class(&self) -> QueryClass {
        if self.point().is_some() {
            return QueryClass::Point;
        }
        match (&self.start, &self.end) {
            (Cut::TableStart, Cut::TableEnd) => QueryClass::FullTableScan,
            (
                Cut::BeforePartition(start) | Cut::Before(start, _) | Cut::After(start, _),
                Cut::AfterPartition(end) | Cut::Before(end, _) | Cut::After(end, _),
            ) if start == end => QueryClass::RowRangeScan,
            _ => QueryClass::PartitionRangeScan,
        }
    }
}
