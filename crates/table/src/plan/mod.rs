//! The planner: what a filter says about keys, as pieces of the table to read, and what is left to test on each row.
//!
//! A filter is turned into *boxes*, each an interval of PartitionKeys by an interval of RowKeys, whose union holds every
//! row that can pass; boxes become *spans*, contiguous pieces of the table in key order, disjoint and sorted. Where
//! spans say exactly what a part of the filter says, that part is not tested again.
//!
//! Invariants:
//! - every row that passes the filter lies in a span;
//! - a row in a span passes the filter exactly if it passes the residual.

mod boxes;
mod interval;
mod span;

use boxes::Cover;
use partita_model::Filter;
pub use span::{Cut, Span};
use std::fmt;

/// What a query costs, in the words of the service's design guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryClass {
    /// Single entities by their whole keys.
    Point,
    /// A range of rows within single partitions.
    RowRangeScan,
    /// A range of partitions.
    PartitionRangeScan,
    /// Everything.
    FullTableScan,
}

impl QueryClass {
    /// The class's name.
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

impl fmt::Display for QueryClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a query is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The pieces of the table to read: disjoint, in key order. None: nothing can pass.
    pub spans: Vec<Span>,
    /// What is tested on each row read; `None`: every row in a span passes.
    pub residual: Option<Filter>,
}

impl Plan {
    /// Plans a filter; without one everything is read.
    #[must_use]
    pub fn new(filter: Option<&Filter>) -> Self {
        let Some(filter) = filter else {
            return Self {
                spans: vec![Span::whole_table()],
                residual: None,
            };
        };
        let cover = Cover::of(filter);
        let (spans, spans_exact) = cover.spans();
        let residual = match (spans_exact, filter) {
            (true, _) if cover.exact => None,
            // Every conjunct that the boxes express is kept by the spans.
            (true, Filter::And(parts)) if cover.whole_conjunction => left_of(parts),
            _ => Some(filter.clone()),
        };
        Self { spans, residual }
    }

    /// Leaves only what lies in `allowed`, the key range of a shared access signature.
    pub fn restrict(&mut self, allowed: &Span) {
        self.spans = self
            .spans
            .iter()
            .filter_map(|span| span.intersection(allowed))
            .collect();
    }

    /// Leaves only what lies at or behind a continuation.
    pub fn resume(&mut self, from: &Cut) {
        self.restrict(&Span {
            start: from.clone(),
            end: Cut::TableEnd,
        });
    }

    /// The class of the query.
    #[must_use]
    pub fn class(&self) -> QueryClass {
        let classes = self.spans.iter().map(Span::class);
        classes
            .max_by_key(|class| *class as u8)
            .unwrap_or(QueryClass::Point)
    }
}

/// The conjuncts that keys alone do not decide.
fn left_of(parts: &[Filter]) -> Option<Filter> {
    let mut left: Vec<Filter> = parts
        .iter()
        .filter(|part| !Cover::of(part).exact)
        .cloned()
        .collect();
    match left.len() {
        0 => None,
        1 => left.pop(),
        _ => Some(Filter::And(left)),
    }
}

#[cfg(test)]
mod tests;
