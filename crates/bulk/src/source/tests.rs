//! Tests of scans on a real server, over HTTP.

use super::{TableRow, TableSource, Traffic};
use crate::scan::tests::MemoryRow;
use crate::scan::tests::property::{Case, case, expected};
use crate::scan::{Keyed as _, Order, RunOptions, Scan};
use crate::server;
use partita_client::{
    ClientOptions, Entity, TableClient, TableServiceClient, TransactionAction, UpdateMode,
};
use partita_model::compare_utf16;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Like the keys in the scan's property tests, but without NUL, which a stored key cannot contain.
const KEY: &str = "['ab\u{D7FF}\u{E000}\u{FFFD}\u{10000}\u{10001}\u{10FFFF}]{0,4}";

fn on_a_server(test: impl AsyncFnOnce(TableServiceClient, Arc<Traffic>)) {
    server::on_a_server(async |connection_string| {
        let traffic = Arc::new(Traffic::default());
        let options = ClientOptions {
            observer: Some(Arc::<Traffic>::clone(&traffic)),
            ..ClientOptions::default()
        };
        let service = TableServiceClient::from_connection_string_with(&connection_string, options)?;
        test(service, traffic).await;
        Ok(())
    });
}

async fn fill(table: &TableClient, rows: &[MemoryRow]) {
    let mut partitions: BTreeMap<&str, BTreeMap<&str, TransactionAction>> = BTreeMap::new();
    for row in rows {
        let mut entity = Entity::new(&row.partition_key, &row.row_key);
        for (name, value) in &row.properties {
            entity.insert(name, value.clone());
        }
        let action = TransactionAction::Upsert(entity, UpdateMode::Replace);
        let partition = partitions.entry(&row.partition_key).or_default();
        // As in `MemoryTable`, only the first of several rows with the same keys is kept.
        partition.entry(&row.row_key).or_insert(action);
    }
    for actions in partitions.into_values() {
        let actions: Vec<_> = actions.into_values().collect();
        table.submit_transaction(&actions).await.unwrap();
    }
}

fn plain(row: &TableRow) -> MemoryRow {
    let entity = row.entity().unwrap();
    assert_eq!(
        (entity.partition_key(), entity.row_key()),
        (row.partition_key(), row.row_key())
    );
    MemoryRow {
        partition_key: entity.partition_key().to_owned(),
        row_key: entity.row_key().to_owned(),
        properties: entity
            .iter()
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect(),
    }
}

async fn scanned(table: TableClient, case: &Case) -> Vec<MemoryRow> {
    let jobs = case.frontier.jobs;
    let steps = case.strategy.plan(&case.bounds, &case.split_points, jobs);
    let options = RunOptions {
        jobs,
        order: case.frontier.order,
    };
    let source = Arc::new(TableSource(table));
    let mut scan = Scan::new(source, case.query.clone(), steps, options);
    let mut found = Vec::new();
    while let Some(batch) = scan.next().await {
        found.extend(batch.unwrap().rows.iter().map(plain));
    }
    found
}

proptest! {
    // Each case creates a table and sends some hundred requests, so there are fewer cases.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_row_of_a_server_is_found_once(case in case(KEY)) {
        on_a_server(async |service, _| {
            let table = service.create_table("scanned").await.unwrap();
            fill(&table, &case.rows).await;
            let mut found = scanned(table, &case).await;
            if case.frontier.order == Order::Any {
                found.sort_by(|a, b| {
                    compare_utf16(&a.partition_key, &b.partition_key)
                        .then_with(|| compare_utf16(&a.row_key, &b.row_key))
                });
            }
            assert_eq!(found, expected(&case));
        });
    }
}

#[test]
fn rows_borrow_from_their_page_and_traffic_is_counted() {
    on_a_server(async |service, traffic| {
        let table = service.create_table("people").await.unwrap();
        let key = "O'Brien \"é\"";
        for name in ["Keiko", "Miles"] {
            let mut entity = Entity::new(key, name);
            entity.insert("Age", 43_i64);
            table.create_entity(&entity).await.unwrap();
        }
        let before = traffic.counts();
        let source = Arc::new(TableSource(table));
        let query = crate::scan::Query::new(crate::scan::QueryOptions::default()).unwrap();
        let steps = crate::scan::Strategy::Serial.plan(&crate::scan::Bounds::default(), &[], 1);
        let mut scan = Scan::new(source, query, steps, RunOptions::default());
        let batch = scan.next().await.unwrap().unwrap();
        let keys: Vec<_> = batch
            .rows
            .iter()
            .map(|row| (row.partition_key(), row.row_key()))
            .collect();
        assert_eq!(keys, [(key, "Keiko"), (key, "Miles")]);
        assert!(batch.rows[0].json().starts_with(b"{\"odata.etag\":"));
        let etag = batch.rows[1].read(|row| Ok(row.etag()?.is_some()));
        assert_eq!(etag, Ok(true));
        assert!(scan.next().await.is_none());

        let after = traffic.counts();
        assert_eq!(after.requests - before.requests, 1);
        assert_eq!(after.retries, 0);
        assert!(after.bytes > before.bytes);
    });
}
