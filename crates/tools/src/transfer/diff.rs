//! What two tables differ in: both are read in the table's order, row by row beside each other.
//!
//! Timestamps and ETags are not compared: no two tables share them. A number is another value in another type; NaN is NaN, and minus
//! zero is zero, as the service stores it.

use super::manifest::Keys;
use super::rows::IntoEntity;
use crate::scan::{Keyed, PageSource, Scan, ScanError};
use partita_client::Entity;
use partita_model::{Value, compare_utf16};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A row in which two tables differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// Only the left one has it.
    LeftOnly(Entity),
    /// Only the right one has it.
    RightOnly(Entity),
    /// Both have it, with other properties.
    Differs {
        /// Its PartitionKey.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
        /// What differs, at least one property.
        properties: Vec<PropertyDifference>,
    },
}

/// A property in which two rows differ.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyDifference {
    /// Its name.
    pub name: String,
    /// What the left row has; none if it lacks it.
    pub left: Option<Value>,
    /// What the right row has.
    pub right: Option<Value>,
}

/// What has been compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiffCounts {
    /// Rows that are the same on both sides.
    pub same: u64,
    /// Rows that both have, with other properties.
    pub differ: u64,
    /// Rows that only the left one has.
    pub left_only: u64,
    /// Rows that only the right one has.
    pub right_only: u64,
}

/// Two tables being compared. In memory are what their scans read ahead.
pub struct Diff<L: PageSource, R: PageSource> {
    left: Side<L>,
    right: Side<R>,
    counts: DiffCounts,
    /// A row up to which all rows are compared; of one that differs, its keys only.
    reached: Option<Entity>,
}

struct Side<S: PageSource> {
    scan: Scan<S>,
    /// Rows up to these keys are passed over.
    behind: Option<Keys>,
    rows: std::vec::IntoIter<S::Row>,
    next: Option<Entity>,
    is_ended: bool,
}

impl<L: PageSource, R: PageSource> Diff<L, R>
where
    L::Row: IntoEntity,
    R::Row: IntoEntity,
{
    /// Compares what two scans return, which must be in [`crate::scan::Order::Table`].
    #[must_use]
    pub fn new(left: Scan<L>, right: Scan<R>) -> Self {
        Self {
            left: Side::new(left),
            right: Side::new(right),
            counts: DiffCounts::default(),
            reached: None,
        }
    }

    /// The same, passing over the rows up to these keys: those of [`Self::reached`] of a comparison that was stopped.
    #[must_use]
    pub fn behind(mut self, keys: &Keys) -> Self {
        self.left.behind = Some(keys.clone());
        self.right.behind = Some(keys.clone());
        self
    }

    /// The keys up to which all rows are compared; none at the beginning.
    #[must_use]
    pub fn reached(&self) -> Option<Keys> {
        self.reached
            .as_ref()
            .map(Keys::of)
            .or_else(|| self.left.behind.clone())
    }

    /// The next difference; none when all is compared. The future may be dropped without losing any.
    ///
    /// # Errors
    /// [`ScanError`]; the next call tries again.
    pub async fn next(&mut self) -> Option<Result<Difference, ScanError>> {
        loop {
            let (left, right) = tokio::join!(self.left.fill(), self.right.fill());
            if let Err(error) = left.and(right) {
                return Some(Err(error));
            }
            let order = match (&self.left.next, &self.right.next) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(left), Some(right)) => compare(left, right),
            };
            let left = self.left.next.take_if(|_| order.is_le());
            let right = self.right.next.take_if(|_| order.is_ge());
            if let Some(difference) = self.compared(left, right) {
                return Some(Ok(difference));
            }
        }
    }

    /// What has been compared so far.
    #[must_use]
    pub fn counts(&self) -> DiffCounts {
        self.counts
    }

    /// Counts what was compared, and says if it differs.
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

impl<S: PageSource> Side<S>
where
    S::Row: IntoEntity,
{
    fn new(scan: Scan<S>) -> Self {
        Self {
            scan,
            behind: None,
            rows: Vec::new().into_iter(),
            next: None,
            is_ended: false,
        }
    }

    /// Makes sure that the next row is there, if there is one.
    async fn fill(&mut self) -> Result<(), ScanError> {
        while self.next.is_none() && !self.is_ended {
            if let Some(row) = self.rows.next() {
                let is_behind = self
                    .behind
                    .as_ref()
                    .is_none_or(|keys| is_behind(&row, keys));
                self.next = is_behind.then(|| row.into_entity());
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

/// The properties in which two rows differ, in the order of the left one, then of the right one.
#[must_use]
pub fn differences(left: &Entity, right: &Entity) -> Vec<PropertyDifference> {
    // Mostly rows are the same, property by property.
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

fn is_behind(row: &impl Keyed, keys: &Keys) -> bool {
    let order = compare_utf16(row.partition_key(), &keys.partition_key)
        .then_with(|| compare_utf16(row.row_key(), &keys.row_key));
    order.is_gt()
}

fn compare(left: &Entity, right: &Entity) -> Ordering {
    compare_utf16(left.partition_key(), right.partition_key())
        .then_with(|| compare_utf16(left.row_key(), right.row_key()))
}

impl<L: PageSource, R: PageSource> std::fmt::Debug for Diff<L, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Diff")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
