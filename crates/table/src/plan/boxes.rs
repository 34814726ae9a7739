//! Boxes: an interval of PartitionKeys by an interval of RowKeys.

use super::interval::Interval;
use super::span::Span;
use partita_model::{Comparison, Filter, Property, Value};
use std::cmp::Ordering;

/// A filter made of this many key intervals is still read in pieces; past it the planner takes a wider net.
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
}

/// Boxes that hold every row that passes a filter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cover {
    boxes: Vec<KeyBox>,
    /// And no other row.
    pub(crate) exact: bool,
    /// For a conjunction: the boxes are the intersection of all its parts, none was left out.
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

    /// Of the filter, or of its negation: `not` is pushed down to the comparisons, where keys, never missing and of one
    /// type, negate exactly.
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

    /// The boxes as disjoint spans in key order, and whether the spans hold no row that the boxes do not.
    pub(crate) fn spans(&self) -> (Vec<Span>, bool) {
        let exact = self
            .boxes
            .iter()
            .all(|key_box| key_box.row.is_all() || key_box.partition.point().is_some());
        let mut spans: Vec<Span> = self.boxes.iter().map(Span::of).collect();
        spans.sort_by_cached_key(|span| span.start.relative());
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start.relative() <= last.end.relative() => {
                    if span.end.relative() > last.end.relative() {
                        last.end = span.end;
                    }
                }
                _ => merged.push(span),
            }
        }
        merged.retain(|span| span.start.relative() < span.end.relative());
        (merged, exact)
    }
}
