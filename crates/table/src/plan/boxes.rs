//! Boxes: a box is an interval of PartitionKeys and an interval of RowKeys; it contains the rows with both keys inside.

use super::interval::Interval;
use partita_model::{Comparison, EntityBound, EntityRange, Filter, Property, Value};
use std::cmp::Ordering;
use std::ops::Bound;

/// The maximum number of boxes of a filter. An operand of `and` that would exceed it adds no bounds and is tested on
/// each row. An `or` that would exceed it reads the whole table.
const BOXES_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyBox {
    pub(crate) partition: Interval,
    pub(crate) row: Interval,
}

impl KeyBox {
    const ALL: Self = Self {
        partition: Interval::ALL,
        row: Interval::ALL,
    };

    fn intersection(&self, other: &Self) -> Option<Self> {
        let partition = self.partition.intersection(&other.partition)?;
        let row = self.row.intersection(&other.row)?;
        Some(Self { partition, row })
    }

    /// The smallest range that contains the box.
    fn range(&self) -> EntityRange {
        let (partition, row) = (&self.partition, &self.row);
        let low = bound(&partition.low, &row.low, [Side::Before, Side::After]);
        let high = bound(&partition.high, &row.high, [Side::After, Side::Before]);
        EntityRange {
            start: low.unwrap_or(EntityBound::TableStart),
            end: high.unwrap_or(EntityBound::TableEnd),
        }
    }
}

/// A position immediately before or after a key.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

/// A bound of a box; `None` if it has none. The bound is on the side `included` of an included key, and on the side
/// `excluded` of an excluded one.
fn bound(
    partition: &Bound<String>,
    row: &Bound<String>,
    [included, excluded]: [Side; 2],
) -> Option<EntityBound> {
    let at_partition = |key: &String, side| match side {
        Side::Before => EntityBound::BeforePartition(key.clone()),
        Side::After => EntityBound::AfterPartition(key.clone()),
    };
    let at_row = |partition: &String, row: &String, side| match side {
        Side::Before => EntityBound::Before(partition.clone(), row.clone()),
        Side::After => EntityBound::After(partition.clone(), row.clone()),
    };
    Some(match (partition, row) {
        (Bound::Unbounded, _) => return None,
        (Bound::Excluded(partition), _) => at_partition(partition, excluded),
        (Bound::Included(partition), Bound::Unbounded) => at_partition(partition, included),
        (Bound::Included(partition), Bound::Included(row)) => at_row(partition, row, included),
        (Bound::Included(partition), Bound::Excluded(row)) => at_row(partition, row, excluded),
    })
}

/// Boxes that contain every row that passes a filter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cover {
    boxes: Vec<KeyBox>,
    /// Whether the boxes contain no other rows.
    pub(crate) exact: bool,
    /// For a conjunction: whether the boxes are the intersection of all its parts.
    pub(crate) whole_conjunction: bool,
}

impl Cover {
    pub(crate) fn of(filter: &Filter) -> Self {
        Self::of_signed(filter, false)
    }

    fn all(exact: bool) -> Self {
        Self {
            boxes: vec![KeyBox::ALL],
            exact,
            whole_conjunction: true,
        }
    }

    fn none() -> Self {
        Self {
            boxes: Vec::new(),
            exact: true,
            whole_conjunction: true,
        }
    }

    fn constant(value: bool) -> Self {
        if value { Self::all(true) } else { Self::none() }
    }

    /// The cover of the filter or of its negation. `not` is pushed down to the comparisons: keys are never missing and
    /// have one type, so their comparisons negate exactly.
    fn of_signed(filter: &Filter, negated: bool) -> Self {
        match filter {
            Filter::Constant(value) => Self::constant(*value != negated),
            Filter::Not(inner) => Self::of_signed(inner, !negated),
            Filter::And(parts) if !negated => Self::conjunction(parts, negated),
            Filter::Or(parts) if negated => Self::conjunction(parts, negated),
            Filter::And(parts) | Filter::Or(parts) => Self::disjunction(parts, negated),
            // Keys are strings: a bare key is never Boolean true.
            Filter::IsTrue(Property::PartitionKey | Property::RowKey) => Self::constant(negated),
            Filter::IsTrue(_) => Self::all(false),
            Filter::Compare {
                property,
                op,
                literal,
            } => Self::comparison(property, if negated { op.negated() } else { *op }, literal),
        }
    }

    fn comparison(property: &Property, op: Comparison, literal: &Value) -> Self {
        let is_key = matches!(property, Property::PartitionKey | Property::RowKey);
        let literal = match literal {
            _ if !is_key => return Self::all(false),
            Value::String(literal) => literal,
            // A string counts as less than a literal of any other type.
            _ => return Self::constant(op.holds(Some(Ordering::Less))),
        };
        let to_box = |interval| match property {
            Property::PartitionKey => KeyBox {
                partition: interval,
                row: Interval::ALL,
            },
            _ => KeyBox {
                partition: Interval::ALL,
                row: interval,
            },
        };
        let boxes = Interval::of(op, literal).into_iter().map(to_box).collect();
        Self {
            boxes,
            exact: true,
            whole_conjunction: true,
        }
    }

    fn conjunction(parts: &[Filter], negated: bool) -> Self {
        let mut cover = Self::all(true);
        for part in parts {
            let next = Self::of_signed(part, negated);
            cover.exact &= next.exact;
            if cover.boxes.len() * next.boxes.len() > BOXES_MAX {
                cover.exact = false;
                cover.whole_conjunction = false;
                continue;
            }
            cover.boxes = cover
                .boxes
                .iter()
                .flat_map(|a| next.boxes.iter().filter_map(move |b| a.intersection(b)))
                .collect();
        }
        cover
    }

    fn disjunction(parts: &[Filter], negated: bool) -> Self {
        let mut cover = Self::none();
        for part in parts {
            let next = Self::of_signed(part, negated);
            cover.exact &= next.exact;
            cover.boxes.extend(next.boxes);
            if cover.boxes.len() > BOXES_MAX {
                return Self::all(false);
            }
        }
        cover
    }

    /// The boxes as disjoint spans in key order, and whether the spans contain no rows outside the boxes.
    pub(crate) fn spans(&self) -> (Vec<EntityRange>, bool) {
        let exact = self
            .boxes
            .iter()
            .all(|key_box| key_box.row.is_all() || key_box.partition.point().is_some());
        let mut spans: Vec<EntityRange> = self.boxes.iter().map(KeyBox::range).collect();
        spans.sort_by(|a, b| a.start.compare(&b.start));
        let mut merged: Vec<EntityRange> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start.compare(&last.end).is_le() => {
                    if span.end.compare(&last.end).is_gt() {
                        last.end = span.end;
                    }
                }
                _ => merged.push(span),
            }
        }
        merged.retain(|span| !span.is_empty());
        (merged, exact)
    }
}
