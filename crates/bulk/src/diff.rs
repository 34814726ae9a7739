//! Compares two tables row by row. Both are read in the table's order.
//!
//! Timestamps and ETags are not compared, because every table has its own. Numbers of different types differ. NaN
//! equals NaN, and minus zero equals zero, as the service stores them.

use crate::Keys;
use crate::scan::{Keyed, PageSource, Scan, ScanError, compare_keys};
use partita_client::Entity;
use partita_model::Value;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use thiserror::Error;

/// A row in which two tables differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// Only the left table has the row.
    LeftOnly(Entity),
    /// Only the right table has the row.
    RightOnly(Entity),
    /// Both tables have the row, with different properties.
    Differs {
        /// Its PartitionKey.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
        /// The properties that differ, at least one.
        properties: Vec<PropertyDifference>,
    },
}

impl Difference {
    /// PartitionKey and RowKey of the row.
    pub fn keys(&self) -> (String, String) {
        let (partition_key, row_key) = match self {
            Self::LeftOnly(row) | Self::RightOnly(row) => keys(row),
            Self::Differs {
                partition_key,
                row_key,
                ..
            } => (&**partition_key, &**row_key),
        };
        (partition_key.to_owned(), row_key.to_owned())
    }
}

/// A property in which two rows differ.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyDifference {
    /// The name of the property.
    pub name: String,
    /// The value in the left row; `None` if the row lacks the property.
    pub left: Option<Value>,
    /// The value in the right row; `None` if the row lacks the property.
    pub right: Option<Value>,
}

/// One of two compared tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableSide {
    /// The first table.
    Left,
    /// The second table.
    Right,
}

impl fmt::Display for TableSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "left",
            Self::Right => "right",
        })
    }
}

/// One of two compared tables cannot be read.
#[derive(Debug, Error)]
#[error("cannot read the {side} table")]
pub struct DiffError {
    /// Which table.
    pub side: TableSide,
    /// Why not.
    pub source: ScanError,
}

/// Counts of compared rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiffCounts {
    /// Rows that are equal in both tables.
    pub same: u64,
    /// Rows that both tables have, with different properties.
    pub differ: u64,
    /// Rows that only the left table has.
    pub left_only: u64,
    /// Rows that only the right table has.
    pub right_only: u64,
}

/// A running comparison of two tables. Only the rows that the scans read ahead are in memory.
pub struct Diff<L: PageSource, R: PageSource> {
    left: Side<L>,
    right: Side<R>,
    counts: DiffCounts,
    /// The last row compared: with its properties if it is equal in both tables, else only its keys.
    reached: Option<Entity>,
}

struct Side<S: PageSource> {
    scan: Scan<S>,
    /// Rows up to these keys are skipped, because an earlier run has compared them.
    behind: Option<Keys>,
    rows: std::vec::IntoIter<S::Row>,
    next: Option<Entity>,
    is_ended: bool,
}

impl<L: PageSource<Row = Entity>, R: PageSource<Row = Entity>> Diff<L, R> {
    /// Compares the rows of two scans, which must be in [`crate::scan::Order::Table`].
    pub fn new(left: Scan<L>, right: Scan<R>) -> Self {
        Self {
            left: Side::new(left),
            right: Side::new(right),
            counts: DiffCounts::default(),
            reached: None,
        }
    }

    /// Resumes a stopped comparison: skips the rows up to these keys, from the earlier [`Self::reached`].
    #[must_use]
    pub fn behind(mut self, keys: &Keys) -> Self {
        self.left.behind = Some(keys.clone());
        self.right.behind = Some(keys.clone());
        self
    }

    /// The keys of the last row compared; `None` at the start.
    pub fn reached(&self) -> Option<Keys> {
        self.reached
            .as_ref()
            .map(Keys::of)
            .or_else(|| self.left.behind.clone())
    }

    /// The next difference; `None` when all rows are compared. The future may be dropped without losing a difference.
    ///
    /// # Errors
    /// [`DiffError`]. The next call retries the failed request.
    pub async fn next(&mut self) -> Option<Result<Difference, DiffError>> {
        loop {
            let (left, right) = tokio::join!(self.left.fill(), self.right.fill());
            let failed = |side| move |source| DiffError { side, source };
            let left = left.map_err(failed(TableSide::Left));
            if let Err(error) = left.and(right.map_err(failed(TableSide::Right))) {
                return Some(Err(error));
            }
            let order = match (&self.left.next, &self.right.next) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(left), Some(right)) => compare_keys(keys(left), keys(right)),
            };
            let left = self.left.next.take_if(|_| order.is_le());
            let right = self.right.next.take_if(|_| order.is_ge());
            if let Some(difference) = self.compared(left, right) {
                return Some(Ok(difference));
            }
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> DiffCounts {
        self.counts
    }

    /// Compares a row of both tables, or takes a row of one. Counts it, and returns the difference, if there is one.
    fn compared(&mut self, left: Option<Entity>, right: Option<Entity>) -> Option<Difference> {
        let counts = &mut self.counts;
        match (left, right) {
            (Some(left), Some(right)) => {
                let properties = differences(&left, &right);
                if properties.is_empty() {
                    counts.same += 1;
                    self.reached = Some(left);
                    return None;
                }
                counts.differ += 1;
                self.reached = Some(keys_of(&left));
                Some(Difference::Differs {
                    partition_key: left.partition_key().to_owned(),
                    row_key: left.row_key().to_owned(),
                    properties,
                })
            }
            (Some(left), None) => {
                counts.left_only += 1;
                self.reached = Some(keys_of(&left));
                Some(Difference::LeftOnly(left))
            }
            (None, right) => {
                let right = right?;
                counts.right_only += 1;
                self.reached = Some(keys_of(&right));
                Some(Difference::RightOnly(right))
            }
        }
    }
}

impl<S: PageSource<Row = Entity>> Side<S> {
    fn new(scan: Scan<S>) -> Self {
        Self {
            scan,
            behind: None,
            rows: Vec::new().into_iter(),
            next: None,
            is_ended: false,
        }
    }

    /// Sets `next` to the next row, if it is empty and rows remain.
    async fn fill(&mut self) -> Result<(), ScanError> {
        while self.next.is_none() && !self.is_ended {
            if let Some(row) = self.rows.next() {
                let is_behind = self.behind.as_ref().is_none_or(|reached| {
                    let reached = (&*reached.partition_key, &*reached.row_key);
                    compare_keys(keys(&row), reached).is_gt()
                });
                self.next = is_behind.then_some(row);
                continue;
            }
            match self.scan.next().await.transpose()? {
                Some(batch) => self.rows = batch.rows.into_iter(),
                None => self.is_ended = true,
            }
        }
        Ok(())
    }
}

/// The properties in which two rows differ. Those of the left row come first, in its order; then those that only the
/// right row has.
pub fn differences(left: &Entity, right: &Entity) -> Vec<PropertyDifference> {
    // Fast path: most rows are equal, with properties in the same order.
    let same = |(left, right): ((&str, &Value), (&str, &Value))| {
        left.0 == right.0 && left.1.is_same(right.1)
    };
    if left.len() == right.len() && left.iter().zip(right.iter()).all(same) {
        return Vec::new();
    }
    let mut differences = Vec::new();
    let mut add = |name: &str, left: Option<&Value>, right: Option<&Value>| {
        differences.push(PropertyDifference {
            name: name.to_owned(),
            left: left.cloned(),
            right: right.cloned(),
        });
    };
    for (name, value) in left.iter() {
        let other = right.get(name);
        if !other.is_some_and(|other| value.is_same(other)) {
            add(name, Some(value), other);
        }
    }
    for (name, value) in right.iter() {
        if left.get(name).is_none() {
            add(name, None, Some(value));
        }
    }
    differences
}

fn keys_of(row: &Entity) -> Entity {
    Entity::new(row.partition_key(), row.row_key())
}

fn keys(row: &impl Keyed) -> (&str, &str) {
    (row.partition_key(), row.row_key())
}
