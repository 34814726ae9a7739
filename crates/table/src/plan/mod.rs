//! The planner: turns a filter into the ranges of the table to read and a residual to test on each row.
//!
//! A filter becomes *boxes*, each an interval of PartitionKeys by an interval of RowKeys, whose union contains every
//! row that can pass. Boxes become *spans*: ranges of the table, disjoint and in key order. Parts of the filter that
//! the spans express exactly are not tested again.
//!
//! Invariants:
//! - every row that passes the filter is in a span;
//! - a row in a span passes the filter if and only if it passes the residual.

mod boxes;
mod interval;

use boxes::Cover;
use partita_model::{EntityBound, EntityRange, Filter};

/// The cost class of a query, in the terms of the service's design guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryClass {
    /// Reads single entities by both keys.
    Point,
    /// Reads a range of rows within single partitions.
    RowRangeScan,
    /// Reads a range of partitions.
    PartitionRangeScan,
    /// Reads the whole table.
    FullTableScan,
}

impl QueryClass {
    /// The class of reading a range.
    #[must_use]
    pub fn of(range: &EntityRange) -> Self {
        use EntityBound as B;
        if range.point().is_some() {
            return Self::Point;
        }
        match (&range.start, &range.end) {
            (B::TableStart, B::TableEnd) => Self::FullTableScan,
            (
                B::BeforePartition(start) | B::Before(start, _) | B::After(start, _),
                B::AfterPartition(end) | B::Before(end, _) | B::After(end, _),
            ) if start == end => Self::RowRangeScan,
            _ => Self::PartitionRangeScan,
        }
    }

    /// The name of the class.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::RowRangeScan => "row range scan",
            Self::PartitionRangeScan => "partition range scan",
            Self::FullTableScan => "full table scan",
        }
    }
}

/// How a query is executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The ranges of the table to read: disjoint, in key order. Empty if no row can pass.
    pub spans: Vec<EntityRange>,
    /// The filter to test on each row read; `None`: every row in a span passes.
    pub residual: Option<Filter>,
}

impl Plan {
    /// Plans a filter; without one the whole table is read.
    #[must_use]
    pub fn new(filter: Option<&Filter>) -> Self {
        let Some(filter) = filter else {
            return Self {
                spans: vec![EntityRange::whole_table()],
                residual: None,
            };
        };
        let cover = Cover::of(filter);
        let (spans, spans_exact) = cover.spans();
        let residual = match (spans_exact, filter) {
            (true, _) if cover.exact => None,
            // The spans contain only rows that pass the conjuncts with exact boxes, so only the others are tested.
            (true, Filter::And(parts)) if cover.whole_conjunction => residual_of(parts),
            _ => Some(filter.clone()),
        };
        Self { spans, residual }
    }

    /// Restricts the plan to `allowed`, the range of a shared access signature.
    pub fn restrict(&mut self, allowed: &EntityRange) {
        self.spans = self
            .spans
            .iter()
            .filter_map(|span| span.intersection(allowed))
            .collect();
    }

    /// Restricts the plan to the rows after the bound of a continuation token.
    pub fn resume(&mut self, from: &EntityBound) {
        self.restrict(&EntityRange {
            start: from.clone(),
            end: EntityBound::TableEnd,
        });
    }

    /// The most expensive class of the spans; `Point` without spans.
    #[must_use]
    pub fn class(&self) -> QueryClass {
        let classes = self.spans.iter().map(QueryClass::of);
        classes
            .max_by_key(|class| *class as u8)
            .unwrap_or(QueryClass::Point)
    }
}

/// The conjuncts that the boxes do not express exactly, most often because they depend on more than the keys.
fn residual_of(parts: &[Filter]) -> Option<Filter> {
    let mut residual: Vec<Filter> = parts
        .iter()
        .filter(|part| !Cover::of(part).exact)
        .cloned()
        .collect();
    match residual.len() {
        0 => None,
        1 => residual.pop(),
        _ => Some(Filter::And(residual)),
    }
}

#[cfg(test)]
mod tests;
