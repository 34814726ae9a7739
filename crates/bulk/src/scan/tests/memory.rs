//! A table in memory that answers as the service does, for tests and examples.
//!
//! The table parses `$filter` with the parser of `partita-wire` and evaluates it row by row, so that tests cover the
//! text that a scan sends. Continuation tokens have the service's form and contain the keys of the next row. A page
//! with a token may be empty.

use super::{Keyed, Page, PageRequest, PageSource, SourceError};
use partita_model::{
    Comparison, ContinuationToken, EntityPosition, Filter, Property, Row, StoredError, Value,
    ValueRef, compare_utf16,
};
use partita_wire::table::{parse_filter, read_entity_token, write_entity_token};
use std::collections::BTreeMap;

/// A row of a [`MemoryTable`]. Any text can be a key, even a text that the service would refuse.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MemoryRow {
    /// Its PartitionKey.
    pub(crate) partition_key: String,
    /// Its RowKey.
    pub(crate) row_key: String,
    /// Its other properties.
    pub(crate) properties: BTreeMap<String, Value>,
}

impl Keyed for MemoryRow {
    fn partition_key(&self) -> &str {
        &self.partition_key
    }

    fn row_key(&self) -> &str {
        &self.row_key
    }
}

impl Row for MemoryRow {
    fn property(&self, property: &Property) -> Result<Option<ValueRef<'_>>, StoredError> {
        Ok(match property {
            Property::PartitionKey => Some(ValueRef::String(&self.partition_key)),
            Property::RowKey => Some(ValueRef::String(&self.row_key)),
            Property::Timestamp => None,
            Property::Named(name) => self.properties.get(name).map(Value::as_ref),
        })
    }
}

/// A table in memory.
#[derive(Debug, Clone)]
pub(crate) struct MemoryTable {
    rows: Vec<MemoryRow>,
    examined_max: usize,
}

impl MemoryTable {
    /// A table with these rows; of rows with the same keys only the first is kept. A page ends after it has examined
    /// `examined_max` rows (at least 1) within its bounds, including rows that do not pass the filter. This simulates
    /// the service, whose pages end after a time.
    pub(crate) fn new(mut rows: Vec<MemoryRow>, examined_max: usize) -> Self {
        rows.sort_by(|a, b| {
            let partitions = compare_utf16(&a.partition_key, &b.partition_key);
            partitions.then_with(|| compare_utf16(&a.row_key, &b.row_key))
        });
        let same = |a: &mut MemoryRow, b: &mut MemoryRow| {
            a.partition_key == b.partition_key && a.row_key == b.row_key
        };
        rows.dedup_by(same);
        Self {
            rows,
            examined_max: examined_max.max(1),
        }
    }

    /// The rows, in order.
    pub(crate) fn rows(&self) -> &[MemoryRow] {
        &self.rows
    }

    /// Answers a request for a page. Like the service, returns an error for an invalid filter, token or page size.
    pub(crate) fn answer(&self, request: &PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        if !(1..=partita_model::limits::PAGE_ENTITIES_MAX).contains(&request.top) {
            return Err("the page size is out of range".into());
        }
        let filter = parse_filter(request.filter.as_deref().unwrap_or_default())?;
        let mut rows = Vec::new();
        let candidates = self.candidates(&filter, request.continuation.as_ref())?;
        for (examined, row) in candidates.enumerate() {
            let passes = filter.matches(row)?;
            if examined >= self.examined_max || passes && rows.len() == request.top {
                let continuation = Some(token_of(row));
                return Ok(Page { rows, continuation });
            }
            if passes {
                rows.push(selected(row, &request.select));
            }
        }
        Ok(Page {
            rows,
            continuation: None,
        })
    }

    /// The rows that a server would examine: from the token on, and within the bounds that the filter sets on the
    /// PartitionKey.
    fn candidates<'a>(
        &'a self,
        filter: &Filter,
        continuation: Option<&ContinuationToken>,
    ) -> Result<impl Iterator<Item = &'a MemoryRow>, SourceError> {
        let (mut from, mut to) = (0, self.rows.len());
        let conjuncts = match filter {
            Filter::And(filters) => &filters[..],
            single => std::slice::from_ref(single),
        };
        for conjunct in conjuncts {
            if let Filter::Compare {
                property: Property::PartitionKey,
                op,
                literal: Value::String(key),
            } = conjunct
            {
                let before = self
                    .rows
                    .partition_point(|row| compare_utf16(&row.partition_key, key).is_lt());
                let through = self
                    .rows
                    .partition_point(|row| compare_utf16(&row.partition_key, key).is_le());
                match op {
                    Comparison::Greater => from = from.max(through),
                    Comparison::GreaterOrEqual => from = from.max(before),
                    Comparison::Less => to = to.min(before),
                    Comparison::LessOrEqual => to = to.min(through),
                    Comparison::Equal => (from, to) = (from.max(before), to.min(through)),
                    Comparison::NotEqual => {}
                }
            }
        }
        if let Some(continuation) = continuation {
            let (key, row_key) = (&continuation.next_partition_key, &continuation.next_row_key);
            if let Some(position) = read_entity_token(Some(key), row_key.as_deref())? {
                from = from.max(self.place_of(&position));
            }
        }
        Ok(self.rows.iter().take(to).skip(from))
    }

    fn place_of(&self, position: &EntityPosition) -> usize {
        let row_key = position.row_key.as_deref().unwrap_or_default();
        self.rows.partition_point(|row| {
            let partitions = compare_utf16(&row.partition_key, &position.partition_key);
            partitions
                .then_with(|| compare_utf16(&row.row_key, row_key))
                .is_lt()
        })
    }
}

fn token_of(row: &MemoryRow) -> ContinuationToken {
    write_entity_token(&EntityPosition {
        partition_key: row.partition_key.clone(),
        row_key: Some(row.row_key.clone()),
    })
}

fn selected(row: &MemoryRow, names: &[String]) -> MemoryRow {
    let mut row = row.clone();
    if !names.is_empty() {
        row.properties.retain(|name, _| names.contains(name));
    }
    row
}

impl PageSource for MemoryTable {
    type Row = MemoryRow;

    async fn page(&self, request: PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        self.answer(&request)
    }
}
