//! Helpers of the tests: servers with a filled table, and comparison of tables.

pub(crate) use crate::test_rows::{rows, started, table};

use partita_client::{TableClient, TableServiceClient};
use partita_server::Server;
use partita_tools::scan::{Bounds, Order, Query, QueryOptions, Strategy};
use partita_tools::source::EntitySource;
use partita_tools::transfer::{Diff, DiffCounts, Difference, Observer, TableReader};
use std::sync::Arc;
use tempfile::TempDir;

/// A server with a table of `count` rows, and a directory for exports.
pub(crate) async fn filled(count: usize) -> (Server, TableServiceClient, TableClient, TempDir) {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(count)).await;
    (server, client, source, tempfile::tempdir().unwrap())
}

/// A reader of all rows of a table, with this page size.
pub(crate) fn reader(table: &TableClient, page_rows: usize) -> TableReader<EntitySource> {
    let options = QueryOptions {
        page_rows,
        ..QueryOptions::default()
    };
    TableReader {
        table: Arc::new(EntitySource(table.clone())),
        endpoint: table.endpoint().to_string(),
        name: table.name().to_owned(),
        query: Query::new(options).unwrap(),
        bounds: Bounds::default(),
        steps: Strategy::Prefix.plan(&Bounds::default(), &[], 4),
        jobs: 4,
    }
}

/// Compares two tables. Returns the differences and the counts.
pub(crate) async fn diff(left: &TableClient, right: &TableClient) -> (Vec<Difference>, DiffCounts) {
    let [left, right] =
        [left, right].map(|table| reader(table, 1000).scan(Order::Table, None).unwrap());
    let mut diff = Diff::new(left, right);
    let mut found = Vec::new();
    while let Some(difference) = diff.next().await {
        found.push(difference.unwrap());
    }
    (found, diff.counts())
}

pub(crate) async fn assert_same(left: &TableClient, right: &TableClient, rows: usize) {
    let (found, counts) = diff(left, right).await;
    assert_eq!(found, []);
    assert_eq!(
        counts,
        DiffCounts {
            same: rows as u64,
            ..DiffCounts::default()
        }
    );
}

pub(crate) fn silent() -> Arc<dyn Observer> {
    Arc::new(())
}
