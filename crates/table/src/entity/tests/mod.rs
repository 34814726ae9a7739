mod heat;
mod page_memory;
mod properties;
mod targets;

use super::*;
use crate::{BatchError, Error, KeyName, Service, ServiceSettings, Table, TargetSettings};
use partita_cluster::{Epoch, PartitionMap, Served};
use partita_engine::memory::MemoryEngine;
use partita_model::{
    AccountName, Comparison, EntityBound, EntityPosition, EntityRange, Filter, Properties,
    PropertiesBuilder, Property, TableId, TableName, TableSpace, Value, ValueRef,
};
use partita_range::{Bounds, Range, RangeId};
use partita_rt::{Clock, SystemClock};
use partita_service::{MemoryBudget, Storage};
use std::sync::Arc;

/// A service over a first range and ranges with these start keys.
fn service_split_at(starts: Vec<bytes::Bytes>) -> Service {
    let (map, clock) = (map_split_at(starts), Arc::new(SystemClock));
    service_over(map, clock, TargetSettings::default())
}

fn map_split_at(mut starts: Vec<bytes::Bytes>) -> PartitionMap {
    starts.sort();
    starts.dedup();
    let ends = starts.clone().into_iter().map(Some).chain([None]);
    let starts = std::iter::once(bytes::Bytes::new()).chain(starts);
    let served = |(id, (start, end)): (u64, (bytes::Bytes, Option<bytes::Bytes>))| {
        let (bounds, engine) = (Bounds { start, end }, Arc::new(MemoryEngine::new()));
        let range = Range::new(RangeId(id), bounds, engine, Arc::default());
        Served {
            tenure: 0,
            epoch: Epoch(1),
            range: Arc::new(range),
        }
    };
    PartitionMap::new((1..).zip(starts.zip(ends)).map(served).collect()).unwrap()
}

fn service_over(map: PartitionMap, clock: Arc<dyn Clock>, targets: TargetSettings) -> Service {
    service_in(MemoryBudget::unlimited(), map, clock, targets)
}

fn service_in(
    memory: Arc<MemoryBudget>,
    map: PartitionMap,
    clock: Arc<dyn Clock>,
    targets: TargetSettings,
) -> Service {
    let mut storage = Storage::new(Arc::new(map), clock).with_memory(memory);
    if !targets.is_off() {
        storage = storage.with_targets(targets.account);
    }
    Service::new(Arc::new(storage), ServiceSettings::default(), targets)
}

fn service() -> Service {
    service_split_at(Vec::new())
}

fn account() -> AccountName {
    AccountName::new("account").unwrap()
}

async fn table(service: &Service) -> Arc<Table> {
    let name = TableName::new("People").unwrap();
    service.create_table(&account(), &name).await.unwrap();
    service.table(&account(), &name).await.unwrap()
}

fn properties(value: i32) -> Properties {
    let mut builder = PropertiesBuilder::new(16);
    builder.push("n", ValueRef::Int32(value)).unwrap();
    builder.finish()
}

fn change(keys: (&str, &str), kind: ChangeKind, condition: Condition) -> Change {
    Change {
        partition_key: keys.0.into(),
        row_key: keys.1.into(),
        kind,
        condition,
    }
}

fn insert(keys: (&str, &str), value: i32) -> Change {
    change(keys, ChangeKind::Insert(properties(value)), Condition::None)
}

/// A service whose table has one row.
async fn service_with(keys: (&str, &str)) -> (Service, Arc<Table>) {
    let service = service();
    let table = table(&service).await;
    let inserted = service.change_entity(&table, insert(keys, 1)).await;
    inserted.unwrap();
    (service, table)
}

async fn value_of(service: &Service, table: &Table, keys: (&str, &str)) -> Option<i32> {
    let row = service.entity(table, keys.0, keys.1).await.ok()?;
    match row.entity(&table.space).unwrap().stored.get("n").unwrap() {
        Some(ValueRef::Int32(value)) => Some(value),
        _ => None,
    }
}

#[tokio::test]
async fn conditions_are_those_of_the_protocol() {
    let (service, keys) = (service(), ("p", "r"));
    let table = table(&service).await;
    let run =
        |kind: ChangeKind, condition| service.change_entity(&table, change(keys, kind, condition));
    let replace = |value| ChangeKind::Replace(properties(value));
    let merge = |value| ChangeKind::Merge(properties(value));
    for kind in [replace(0), merge(0), ChangeKind::Delete] {
        let missing = run(kind, Condition::Exists).await.unwrap_err();
        assert!(matches!(missing, Error::EntityNotFound), "{missing:?}");
    }
    let first = run(ChangeKind::Insert(properties(1)), Condition::None)
        .await
        .unwrap()
        .etag
        .unwrap();
    let again = run(ChangeKind::Insert(properties(2)), Condition::None)
        .await
        .unwrap_err();
    assert!(matches!(again, Error::EntityAlreadyExists), "{again:?}");
    let second = run(replace(3), Condition::Version(first))
        .await
        .unwrap()
        .etag
        .unwrap();
    assert!(second.0 > first.0);
    for kind in [replace(4), merge(4), ChangeKind::Delete] {
        for stale in [Condition::Version(first), Condition::NoVersion] {
            let stale = run(kind.clone(), stale).await.unwrap_err();
            assert!(matches!(stale, Error::ConditionNotMet), "{stale:?}");
        }
    }
    assert_eq!(value_of(&service, &table, keys).await, Some(3));
    run(merge(5), Condition::None).await.unwrap();
    run(replace(6), Condition::Exists).await.unwrap();
    assert_eq!(value_of(&service, &table, keys).await, Some(6));
    run(ChangeKind::Delete, Condition::Exists).await.unwrap();
    assert_eq!(value_of(&service, &table, keys).await, None);
}

#[tokio::test]
async fn keys_that_cannot_be_stored_are_refused_or_not_found() {
    let service = service();
    let table = table(&service).await;
    let refused = service
        .change_entity(&table, insert(("a/b", "r"), 1))
        .await
        .unwrap_err();
    assert!(
        matches!(
            refused,
            Error::KeyCharacters {
                key: KeyName::PartitionKey,
                ..
            }
        ),
        "{refused:?}"
    );
    let long = "x".repeat(513);
    let refused = service
        .change_entity(&table, insert(("p", &long), 1))
        .await
        .unwrap_err();
    assert!(
        matches!(refused, Error::KeyTooLong(KeyName::RowKey)),
        "{refused:?}"
    );
    let delete = change(("p", &long), ChangeKind::Delete, Condition::Exists);
    let missing = service.change_entity(&table, delete).await.unwrap_err();
    assert!(matches!(missing, Error::EntityNotFound), "{missing:?}");
}

#[tokio::test]
async fn a_transaction_is_all_or_nothing() {
    let (service, table) = service_with(("p", "old")).await;
    let fails = |changes: Vec<Change>| async {
        let BatchError { index, error } =
            service.change_entities(&table, changes).await.unwrap_err();
        (index, error)
    };
    let (index, error) = fails(vec![insert(("p", "a"), 1), insert(("p", "old"), 2)]).await;
    assert!(
        index == 1 && matches!(error, Error::EntityAlreadyExists),
        "{error:?}"
    );
    let (index, error) = fails(vec![insert(("p", "a"), 1), insert(("q", "b"), 2)]).await;
    assert!(
        index == 1 && matches!(error, Error::DifferentPartitions),
        "{error:?}"
    );
    let twice = vec![
        insert(("p", "a"), 1),
        insert(("p", "b"), 2),
        insert(("p", "a"), 2),
    ];
    let (index, error) = fails(twice).await;
    assert!(
        index == 2 && matches!(error, Error::DuplicateEntity),
        "{error:?}"
    );
    assert_eq!(value_of(&service, &table, ("p", "a")).await, None);
    let changes = vec![
        insert(("p", "a"), 1),
        change(("p", "old"), ChangeKind::Delete, Condition::Exists),
        change(
            ("p", "b"),
            ChangeKind::Merge(properties(7)),
            Condition::None,
        ),
    ];
    let changed = service.change_entities(&table, changes).await.unwrap();
    assert_eq!(
        changed
            .iter()
            .filter(|changed| changed.etag.is_some())
            .count(),
        2
    );
    assert_eq!(value_of(&service, &table, ("p", "old")).await, None);
    assert_eq!(value_of(&service, &table, ("p", "b")).await, Some(7));
}

#[tokio::test]
async fn a_new_table_with_a_deleted_name_is_empty() {
    let (service, old) = service_with(("p", "r")).await;
    let name = TableName::new("PEOPLE").unwrap();
    let exists = service.create_table(&account(), &name).await.unwrap_err();
    assert!(matches!(exists, Error::TableAlreadyExists));
    service.delete_table(&account(), &name).await.unwrap();
    let gone = service.table(&account(), &name).await.unwrap_err();
    assert!(matches!(gone, Error::TableNotFound));
    assert!(matches!(
        service.delete_table(&account(), &name).await,
        Err(Error::NoSuchTable)
    ));
    let new = table(&service).await;
    assert_ne!(new.id, old.id);
    assert_eq!(value_of(&service, &new, ("p", "r")).await, None);
}

#[tokio::test]
async fn an_empty_list_of_tables_has_one_page() {
    let service = service();
    table(&service).await;
    let page = service.query_tables(&account(), None, 0, None).await;
    let page = page.unwrap();
    assert_eq!((page.names.len(), page.next), (0, None));
}

/// Each patch writes a whole entity, of nearly 1 MiB by the service's formula and 1.5 MiB in stored form. So the two
/// transactions are long, and run one after the other.
#[tokio::test]
async fn small_patches_of_large_entities_are_accepted() {
    let service = service();
    let table = table(&service).await;
    let rows: Vec<String> = (0..20).map(|number| format!("{number:03}")).collect();
    let mut large = PropertiesBuilder::new(1 << 20);
    for number in 0..15 {
        let text = "あ".repeat(32 << 10);
        large
            .push(&format!("p{number}"), ValueRef::String(&text))
            .unwrap();
    }
    let large = large.finish();
    for row in &rows {
        let kind = ChangeKind::Insert(large.clone());
        let insert = change(("p", row), kind, Condition::None);
        service.change_entity(&table, insert).await.unwrap();
    }
    let patch = |row: &String| {
        let kind = ChangeKind::Merge(properties(7));
        change(("p", row), kind, Condition::Exists)
    };
    let (first, second) = tokio::join!(
        service.change_entities(&table, rows.iter().map(patch).collect()),
        service.change_entities(&table, rows.iter().map(patch).collect()),
    );
    assert_eq!((first.unwrap().len(), second.unwrap().len()), (20, 20));
    for row in &rows {
        assert_eq!(value_of(&service, &table, ("p", row)).await, Some(7));
    }
}

#[tokio::test]
async fn tables_are_listed_by_folded_name_page_by_page() {
    let service = service();
    for name in ["bravo", "Alpha", "CHARLIE", "alphaTwo"] {
        service
            .create_table(&account(), &TableName::new(name).unwrap())
            .await
            .unwrap();
    }
    let other = AccountName::new("other").unwrap();
    service
        .create_table(&other, &TableName::new("Hidden").unwrap())
        .await
        .unwrap();
    let mut names = Vec::new();
    let mut from: Option<String> = None;
    loop {
        let page = service
            .query_tables(&account(), None, 1, from.as_deref())
            .await
            .unwrap();
        names.extend(page.names);
        match page.next {
            Some(token) => from = Some(token.folded),
            None => break,
        }
    }
    assert_eq!(names, ["Alpha", "alphaTwo", "bravo", "CHARLIE"]);
    let filter = Filter::Compare {
        property: Property::Named("TableName".into()),
        op: Comparison::Equal,
        literal: Value::String("bravo".into()),
    };
    let page = service
        .query_tables(&account(), Some(&filter), 1000, None)
        .await
        .unwrap();
    assert_eq!((page.names, page.next), (vec!["bravo".to_owned()], None));
}

fn page_query<'a>(
    filter: Option<&'a Filter>,
    top: usize,
    from: Option<&'a EntityPosition>,
) -> Query<'a> {
    Query {
        filter,
        top,
        from,
        allowed: None,
        row_bytes_more: 0,
    }
}

#[tokio::test]
async fn response_overhead_counts_towards_the_page() {
    let service = service();
    let table = table(&service).await;
    for row in ["a", "b", "c", "d", "e"] {
        let inserted = service.change_entity(&table, insert(("p", row), 0)).await;
        inserted.unwrap();
    }
    let bytes_max = service.settings.page_bytes_max;
    for (row_bytes_more, rows) in [
        (0, 5),
        (bytes_max / 3, 2),
        (bytes_max, 1),
        (usize::MAX / 4, 1),
    ] {
        let query = Query {
            row_bytes_more,
            ..page_query(None, 1000, None)
        };
        let page = service.query_entities(&table, query).await.unwrap();
        assert_eq!(page.rows.len(), rows, "{row_bytes_more}");
        assert_eq!(page.next.is_some(), rows < 5);
    }
}

/// All rows of a query, and the number of its pages.
async fn read_all(
    service: &Service,
    table: &Table,
    filter: Option<&Filter>,
    top: usize,
) -> (Vec<(String, String)>, usize) {
    let (mut rows, mut pages, mut from) = (Vec::new(), 0, None);
    loop {
        let page = service
            .query_entities(table, page_query(filter, top, from.as_ref()))
            .await
            .unwrap();
        pages += 1;
        for row in &page.rows {
            let entity = row.entity(&table.space).unwrap();
            rows.push((
                entity.partition_key.into_owned(),
                entity.row_key.into_owned(),
            ));
        }
        match page.next {
            Some(next) => from = Some(next),
            None => return (rows, pages),
        }
    }
}

#[tokio::test]
async fn a_full_page_continues_only_if_another_row_matches() {
    let service = service();
    let table = table(&service).await;
    for at in 0..4 {
        service
            .change_entity(&table, insert(("p", &at.to_string()), at % 2))
            .await
            .unwrap();
    }
    let even = Filter::Compare {
        property: Property::Named("n".into()),
        op: Comparison::Equal,
        literal: Value::Int32(0),
    };
    let page = service
        .query_entities(&table, page_query(Some(&even), 1, None))
        .await
        .unwrap();
    let next = EntityPosition {
        partition_key: "p".into(),
        row_key: Some("2".into()),
    };
    assert_eq!(page.next, Some(next.clone()));
    let page = service
        .query_entities(&table, page_query(Some(&even), 1, Some(&next)))
        .await
        .unwrap();
    assert_eq!(
        (page.rows.len(), page.next),
        (1, None),
        "rows follow, but none of them match"
    );
    let page = service
        .query_entities(&table, page_query(None, 4, None))
        .await
        .unwrap();
    assert_eq!((page.rows.len(), page.next), (4, None));
    let page = service
        .query_entities(&table, page_query(None, 0, None))
        .await
        .unwrap();
    assert_eq!((page.rows.len(), page.next), (0, None));
}

#[tokio::test]
async fn a_row_key_prefix_reads_only_its_rows() {
    let service = service();
    let table = table(&service).await;
    for hundred in 0..30 {
        let rows = (0..100).map(|at| format!("{hundred:02}-{at:02}"));
        let changes: Vec<Change> = rows.map(|row| insert(("p", &row), 0)).collect();
        service.change_entities(&table, changes).await.unwrap();
    }
    let key = |property: Property, op, literal: &str| Filter::Compare {
        property,
        op,
        literal: Value::String(literal.into()),
    };
    let filter = Filter::And(vec![
        key(Property::PartitionKey, Comparison::Equal, "p"),
        key(Property::RowKey, Comparison::GreaterOrEqual, "17-"),
        key(Property::RowKey, Comparison::Less, "17."),
    ]);
    let page = service
        .query_entities(&table, page_query(Some(&filter), 1000, None))
        .await
        .unwrap();
    assert_eq!(page.report.class, crate::QueryClass::RowRangeScan);
    assert_eq!((page.rows.len(), page.report.rows_read), (100, 100));
}

#[tokio::test]
async fn a_page_ends_at_a_range_boundary() {
    // The id of a table is unknown before its creation, so split the key space of a table made by hand.
    let space = TableSpace::new("account", TableId(7));
    let service = service_split_at(vec![space.partition("b"), space.partition("c")]);
    let table = Table {
        name: "T".into(),
        id: TableId(7),
        created: partita_model::DateTime::UNIX_EPOCH,
        space,
        policies: Vec::new(),
        ttl: None,
    };
    for partition in ["a", "b", "c"] {
        for row in ["1", "2"] {
            service
                .change_entity(&table, insert((partition, row), 0))
                .await
                .unwrap();
        }
    }
    let (rows, pages) = read_all(&service, &table, None, 1000).await;
    assert_eq!((rows.len(), pages), (6, 3));
    let plan = crate::Plan::new(None);
    assert_eq!(service.ranges_touched(&table, &plan), 3);
    let one = Filter::Compare {
        property: Property::PartitionKey,
        op: Comparison::Equal,
        literal: Value::String("b".into()),
    };
    assert_eq!(
        service.ranges_touched(&table, &crate::Plan::new(Some(&one))),
        1
    );
}

#[tokio::test]
async fn a_signature_hides_rows_outside_its_key_range() {
    let service = service();
    let table = table(&service).await;
    for row in ["a", "b", "c"] {
        service
            .change_entity(&table, insert(("p", row), 0))
            .await
            .unwrap();
    }
    let allowed = EntityRange {
        start: EntityBound::Before("p".into(), "b".into()),
        end: EntityBound::After("p".into(), "b".into()),
    };
    let query = Query {
        allowed: Some(&allowed),
        ..page_query(None, 1000, None)
    };
    let page = service.query_entities(&table, query).await.unwrap();
    assert_eq!((page.rows.len(), page.next), (1, None));
}
