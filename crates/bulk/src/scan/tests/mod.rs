//! Tests of complete scans, and their helpers.

mod memory;
mod odd_servers;
pub(crate) mod property;
mod running;
mod worked_example;

pub(crate) use memory::{MemoryRow, MemoryTable};

use super::{Keyed, Page, PageRequest, PageSource, Query, QueryOptions, SourceError};
use partita_model::{TableId, TableSpace};

/// A table of rows with these keys.
fn table(keys: &[(&str, &str)], examined_max: usize) -> MemoryTable {
    let rows = keys.iter().map(|(key, row_key)| row(key, row_key));
    MemoryTable::new(rows.collect(), examined_max)
}

fn row(partition_key: &str, row_key: &str) -> MemoryRow {
    MemoryRow {
        partition_key: partition_key.to_owned(),
        row_key: row_key.to_owned(),
        ..MemoryRow::default()
    }
}

/// A query with changed options.
fn query(change: impl FnOnce(&mut QueryOptions)) -> Query {
    let mut options = QueryOptions::default();
    change(&mut options);
    Query::new(options).unwrap()
}

fn keys(rows: &[MemoryRow]) -> Vec<(&str, &str)> {
    rows.iter()
        .map(|row| (&*row.partition_key, &*row.row_key))
        .collect()
}

/// Sorts rows in the server's order: by the bytes of their stored keys.
fn sort(rows: &mut [MemoryRow]) {
    let space = TableSpace::new("account", TableId(1));
    rows.sort_by_cached_key(|row| space.entity(&row.partition_key, &row.row_key));
}
