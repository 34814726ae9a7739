//! Pages of queries over ranges of several servers.

use super::{Rig, account, change, name, properties, start};
use crate::{ChangeKind, Query, Service, Table};
use partita_model::{
    Comparison, DateTime, EntityBound, EntityPosition, EntityRange, Filter, KeyKind, Property,
    TableId, TableSpace, Value,
};
use partita_service::testing::{TestRange, TestServers};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn partition_is(partition: &str) -> Filter {
    Filter::Compare {
        property: Property::PartitionKey,
        op: Comparison::Equal,
        literal: Value::String(partition.into()),
    }
}

fn query<'a>(filter: Option<&'a Filter>, from: Option<&'a EntityPosition>) -> Query<'a> {
    Query {
        filter,
        top: 1000,
        from,
        allowed: None,
        row_bytes_more: 0,
    }
}

#[tokio::test(start_paused = true)]
async fn the_place_of_a_query_is_the_first_key_that_it_reads() {
    let rig = Rig::new().await;
    let table = rig.home.table(&account(), &name("People")).await.unwrap();
    let place = |query: Query<'_>| Service::place_of_query(&table, &query);
    let space = &table.space;
    assert_eq!(place(query(None, None)), *space.prefix());
    let of_m = partition_is("m");
    assert_eq!(place(query(Some(&of_m), None)), space.partition("m"));
    let from = EntityPosition {
        partition_key: "q".into(),
        row_key: Some("7".into()),
    };
    assert_eq!(place(query(None, Some(&from))), space.entity("q", "7"));
    let allowed = EntityRange {
        start: EntityBound::Before("r".into(), "1".into()),
        end: EntityBound::AfterPartition("r".into()),
    };
    let of_signature = Query {
        allowed: Some(&allowed),
        ..query(None, Some(&from))
    };
    assert_eq!(place(of_signature), space.entity("r", "1"));
    // Nothing can pass: any server that has a part of the table answers.
    assert_eq!(place(query(Some(&of_m), Some(&from))), *space.prefix());
}

#[tokio::test(start_paused = true)]
async fn a_page_ends_before_a_span_of_another_server() {
    let rig = Rig::new().await;
    let table = rig.home.table(&account(), &name("People")).await.unwrap();
    for partition in ["a", "m", "z"] {
        rig.insert(&table, (partition, "1")).await;
    }
    let filter = Filter::Or(["a", "m", "z"].map(partition_is).into());
    let page = rig.others[0].query_entities(&table, query(Some(&filter), None));
    let page = page.await.unwrap();
    assert_eq!(
        (page.rows.len(), page.next.unwrap().partition_key),
        (1, "m".into())
    );
    let all = ["a/1", "m/1", "z/1"];
    assert_eq!(rig.listed(&table, Some(&filter), 1000).await, all);
    assert_eq!(rig.listed(&table, None, 1000).await, all);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A query over any ranges on any servers returns each row once, in order.
    #[test]
    fn pages_are_complete(
        keys in prop::collection::btree_set(("[a-e]", "[a-c]"), 0..20),
        cuts in prop::collection::btree_set("[a-f]", 0..5),
        homes in prop::collection::vec(0..3_usize, 7),
        wanted in prop::option::of(prop::collection::btree_set("[a-e]", 0..4)),
        top in 1..8_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(check(keys, cuts, homes, wanted, top))?;
    }
}

async fn check(
    keys: BTreeSet<(String, String)>,
    cuts: BTreeSet<String>,
    homes: Vec<usize>,
    wanted: Option<BTreeSet<String>>,
    top: usize,
) -> Result<(), TestCaseError> {
    let table = Table {
        name: "T".into(),
        id: TableId(7),
        created: DateTime::UNIX_EPOCH,
        space: TableSpace::new("account", TableId(7)),
        policies: Vec::new(),
        ttl: None,
    };
    let cuts = cuts.iter().map(|cut| table.space.partition(cut));
    let cuts: Vec<_> = std::iter::once(KeyKind::ENTITY.start())
        .chain(cuts)
        .collect();
    let (servers, ranges) = (TestServers::new(), TestRange::cut_at(&cuts));
    let service = |number: usize| {
        let mine = ranges
            .iter()
            .zip(&homes)
            .filter(|(_, home)| **home == number);
        let mine: Vec<&TestRange> = mine.map(|(range, _)| range).collect();
        start(&servers, &mine)
    };
    let rig = Rig {
        catalog: ranges[0].clone(),
        home: service(0),
        others: [service(1), service(2)],
        servers: servers.clone(),
    };
    for (partition, row) in &keys {
        let kind = ChangeKind::Insert(properties(1));
        let key = table.space.entity(partition, row);
        let change = change((partition, row), kind);
        rig.of(&key).change_entity(&table, change).await.unwrap();
    }
    let filter = wanted.as_ref().map(|wanted| {
        Filter::Or(
            wanted
                .iter()
                .map(|partition| partition_is(partition))
                .collect(),
        )
    });
    let is_wanted = |partition: &String| {
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.contains(partition))
    };
    let expected: Vec<String> = keys
        .iter()
        .filter(|(partition, _)| is_wanted(partition))
        .map(|(partition, row)| format!("{partition}/{row}"))
        .collect();
    prop_assert_eq!(rig.listed(&table, filter.as_ref(), top).await, expected);
    Ok(())
}
