//! All operations against a real server.

use futures::{StreamExt as _, TryStreamExt as _};
use partita_client::{
    Continuation, DateTime, Entity, ErrorCode, ErrorKind, Filter, Guid, IfMatch, QueryOptions,
    ServiceProperties, TableClient, TableServiceClient, TransactionAction, UpdateMode, Value,
};
use partita_server::Server;
use serde::{Deserialize, Serialize};

use crate::{samples, server};

pub(crate) async fn started() -> (Server, TableServiceClient) {
    let server = server::start(&[]).await;
    let client =
        TableServiceClient::from_connection_string(&server::connection_string(&server)).unwrap();
    (server, client)
}

async fn with_table() -> (Server, TableClient) {
    let (server, client) = started().await;
    let table = client.create_table("MyTable").await.unwrap();
    (server, table)
}

/// An entity with each type of property, with values at the ends of their ranges.
pub(crate) fn everything(row_key: &str) -> Entity {
    let mut entity = Entity::new("O'Brien é%+ \u{1F600}", row_key);
    entity
        .insert("Text", "\"\\\u{1}\u{FFFF}\u{1F600}")
        .insert("Empty", "")
        .insert("Bytes", vec![0_u8, 255])
        .insert("Truth", true)
        .insert("Int", i32::MIN)
        .insert("Long", i64::MAX)
        .insert("Whole", 5.0)
        .insert("Tiny", f64::MIN_POSITIVE)
        .insert("Endless", f64::NEG_INFINITY)
        .insert(
            "At",
            DateTime::parse("1601-01-01T00:00:00.0000001Z").unwrap(),
        )
        .insert("Id", Guid([0xAB; 16]));
    entity
}

pub(crate) fn properties(entity: &Entity) -> Vec<(String, Value)> {
    entity
        .iter()
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

#[tokio::test]
async fn entities_are_written_and_read() {
    let (server, table) = with_table().await;
    let sent = everything("r'1");
    let first = table.create_entity(&sent).await.unwrap();
    let (partition_key, row_key) = (sent.partition_key(), sent.row_key());
    let read = table.get_entity(partition_key, row_key).await.unwrap();
    assert_eq!(properties(&read), properties(&sent));
    assert_eq!(
        (read.partition_key(), read.row_key()),
        (partition_key, row_key)
    );
    assert_eq!(read.etag(), Some(&first));
    assert!(read.timestamp().is_some());

    let mut change = Entity::new(partition_key, row_key);
    change.insert("Int", 7_i64).insert("New", f64::NAN);
    let second = table
        .update_entity(&change, UpdateMode::Merge, &IfMatch::from(&first))
        .await
        .unwrap();
    let error = table
        .update_entity(&change, UpdateMode::Merge, &IfMatch::from(&first))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UpdateConditionNotSatisfied));
    let merged = table.get_entity(partition_key, row_key).await.unwrap();
    assert_eq!(
        (merged.len(), merged.get("Int")),
        (12, Some(&Value::Int64(7)))
    );
    assert!(matches!(merged.get("New"), Some(Value::Double(value)) if value.is_nan()));
    assert_eq!(merged.etag(), Some(&second));

    table
        .upsert_entity(&change, UpdateMode::Replace)
        .await
        .unwrap();
    let selected = table
        .get_entity_selected(partition_key, row_key, &["Int", "Missing"])
        .await
        .unwrap();
    assert_eq!(properties(&selected), [("Int".to_owned(), Value::Int64(7))]);
    assert_eq!(selected.row_key(), row_key);
    assert_eq!(
        table
            .get_entity(partition_key, row_key)
            .await
            .unwrap()
            .len(),
        2
    );

    table
        .delete_entity(partition_key, row_key, &IfMatch::Any)
        .await
        .unwrap();
    assert_eq!(
        table
            .get_entity_if_exists(partition_key, row_key)
            .await
            .unwrap(),
        None
    );
    let error = table.get_entity(partition_key, row_key).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::ResourceNotFound));
    let error = table
        .update_entity(&change, UpdateMode::Replace, &IfMatch::Any)
        .await
        .unwrap_err();
    assert!(error.is_not_found());
    table
        .upsert_entity(&Entity::new("", ""), UpdateMode::Merge)
        .await
        .unwrap();
    assert!(table.get_entity("", "").await.unwrap().is_empty());
    server.stop().await;
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
#[serde(rename_all = "PascalCase")]
struct Reading {
    partition_key: String,
    row_key: String,
    count: i64,
    at: DateTime,
    note: Option<String>,
}

#[tokio::test]
async fn structs_are_stored_as_entities() {
    let (server, table) = with_table().await;
    let reading = Reading {
        partition_key: "p".to_owned(),
        row_key: "1".to_owned(),
        count: i64::MIN,
        at: DateTime::parse("2024-01-02T03:04:05.0000001Z").unwrap(),
        note: None,
    };
    table
        .create_entity(&Entity::from_serialize(&reading).unwrap())
        .await
        .unwrap();
    assert_eq!(
        table.get_entity_as::<Reading>("p", "1").await.unwrap(),
        reading
    );
    let all: Vec<Reading> = table
        .query_entities_as(QueryOptions::new())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all, [reading]);
    table.create_entity(&Entity::new("p", "2")).await.unwrap();
    let error = table.get_entity_as::<Reading>("p", "2").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    server.stop().await;
}

/// 25 entities over 5 partitions.
pub(crate) async fn filled(table: &TableClient) {
    for partition in 0..5 {
        let row = |row| {
            let mut entity = Entity::new(format!("p{partition}"), format!("r{row}"));
            entity
                .insert("N", partition * 5 + row)
                .insert("Even", row % 2 == 0);
            TransactionAction::Create(entity)
        };
        let done = table
            .submit_transaction(&[0, 1, 2, 3, 4].map(row))
            .await
            .unwrap();
        assert!(done.etags.iter().all(Option::is_some));
    }
}

fn keys(entities: &[Entity]) -> Vec<String> {
    entities
        .iter()
        .map(|entity| format!("{}{}", entity.partition_key(), entity.row_key()))
        .collect()
}

#[tokio::test]
async fn queries_return_pages_and_resume() {
    let (server, table) = with_table().await;
    filled(&table).await;
    let all: Vec<Entity> = table
        .query_entities(QueryOptions::new())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all.len(), 25);
    let by_sevens: Vec<Entity> = table
        .query_entities(QueryOptions::new().page_size(7))
        .try_collect()
        .await
        .unwrap();
    assert_eq!(keys(&by_sevens), keys(&all));

    let ahead = QueryOptions::new().page_size(7).read_ahead();
    let ahead: Vec<Entity> = table.query_entities(ahead).try_collect().await.unwrap();
    assert_eq!(keys(&ahead), keys(&all));

    let mut pages = table
        .query_entities(QueryOptions::new().page_size(7))
        .by_page();
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!(keys(&first.entities().unwrap()), keys(&all[..7]));
    assert!(first.bytes().starts_with(b"{\"odata.metadata\""));
    let mut rows = first.rows().unwrap();
    let row = rows.next_row().unwrap().unwrap();
    assert_eq!(row.partition_key().unwrap().unwrap(), "p0");

    // Another run of the program resumes here.
    let kept = first.continuation().unwrap().to_string();
    let from: Continuation = kept.parse().unwrap();
    let rest: Vec<Entity> = table
        .query_entities(QueryOptions::new().page_size(10).from(from))
        .try_collect()
        .await
        .unwrap();
    assert_eq!(keys(&rest), keys(&all[7..]));
    let sizes: Vec<usize> = pages
        .map_ok(|page| page.entities().unwrap().len())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(sizes, [7, 7, 4]);

    let filter = Filter::pk()
        .starts_with("p3")
        .or(Filter::property("N").lt(2))
        .and(Filter::property("Even").is_true());
    let some: Vec<Entity> = table
        .query_entities(QueryOptions::new().filter(filter).select(["N"]))
        .try_collect()
        .await
        .unwrap();
    assert_eq!(keys(&some), ["p0r0", "p3r0", "p3r2", "p3r4"]);
    assert_eq!(properties(&some[1]), [("N".to_owned(), Value::Int32(15))]);

    let broken = table
        .query_entities(QueryOptions::new().filter(Filter::raw("N eq")))
        .try_next()
        .await;
    assert_eq!(broken.unwrap_err().code(), Some(ErrorCode::InvalidInput));
    server.stop().await;
}

#[tokio::test]
async fn r6_pages_after_an_entity_have_the_rest() {
    let (server, table) = with_table().await;
    filled(&table).await;
    let mut stream = table.query_entities(QueryOptions::new().page_size(7));
    let mut seen = Vec::new();
    for _ in 0..9 {
        seen.push(stream.try_next().await.unwrap().unwrap());
    }
    let mut sizes = Vec::new();
    let mut pages = stream.by_page();
    while let Some(page) = pages.try_next().await.unwrap() {
        let entities = page.entities().unwrap();
        let mut rows = page.rows().unwrap();
        let first = rows.next_row().unwrap().unwrap();
        assert_eq!(first.row_key().unwrap().unwrap(), entities[0].row_key());
        sizes.push(entities.len());
        seen.extend(entities);
    }
    assert_eq!(sizes, [5, 7, 4]);
    let all = table.query_entities(QueryOptions::new());
    let all: Vec<Entity> = all.try_collect().await.unwrap();
    assert_eq!(keys(&seen), keys(&all));
    server.stop().await;
}

#[tokio::test]
async fn r6_a_limit_bounds_the_result_and_a_page_size_of_zero_is_an_error() {
    let (server, table) = with_table().await;
    filled(&table).await;
    let ten = || QueryOptions::new().page_size(4).limit(10);
    for options in [ten(), ten().read_ahead()] {
        let found: Vec<Entity> = table
            .query_entities(options.clone())
            .try_collect()
            .await
            .unwrap();
        assert_eq!(found.len(), 10);
        let sizes = table.query_entities(options).by_page();
        let sizes = sizes.map_ok(|page| page.entities().unwrap().len());
        assert_eq!(sizes.try_collect::<Vec<_>>().await.unwrap(), [4, 4, 2]);
    }
    for (limit, count) in [(0, 0), (1, 1), (25, 25), (5_000, 25)] {
        let found = table.query_entities(QueryOptions::new().limit(limit));
        assert_eq!(found.try_collect::<Vec<_>>().await.unwrap().len(), count);
    }
    for size in [0, 1_001] {
        let mut found = table.query_entities(QueryOptions::new().page_size(size));
        let error = found.try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    }
    server.stop().await;
}

#[tokio::test]
async fn structs_are_written() {
    let (server, table) = with_table().await;
    let reading = |row_key: &str, note: Option<&str>| Reading {
        partition_key: "p".to_owned(),
        row_key: row_key.to_owned(),
        count: 7,
        at: DateTime::UNIX_EPOCH,
        note: note.map(str::to_owned),
    };
    let etag = table
        .create_entity_from(&reading("1", Some("a")))
        .await
        .unwrap();
    let version = IfMatch::from(etag);
    let less = reading("1", None);
    let merged = table.update_entity_from(&less, UpdateMode::Merge, &version);
    let etag = merged.await.unwrap();
    let read: Reading = table.get_entity_as("p", "1").await.unwrap();
    assert_eq!(read, reading("1", Some("a")));
    table
        .upsert_entity_from(&reading("2", None), UpdateMode::Replace)
        .await
        .unwrap();
    let actions = [
        TransactionAction::create_from(&reading("3", None)).unwrap(),
        TransactionAction::upsert_from(&reading("2", Some("b")), UpdateMode::Replace).unwrap(),
        TransactionAction::update_from(&reading("1", None), UpdateMode::Replace, etag.into())
            .unwrap(),
    ];
    table.submit_transaction(&actions).await.unwrap();
    let all = table.query_entities_as(QueryOptions::new());
    let all: Vec<Reading> = all.try_collect().await.unwrap();
    assert_eq!(
        all,
        [
            reading("1", None),
            reading("2", Some("b")),
            reading("3", None)
        ]
    );
    let error = table
        .submit_transaction(&actions)
        .await
        .unwrap_err()
        .to_string();
    let begin = "EntityGroupTransaction MyTable(PartitionKey='p',RowKey='3'): operation 0: 409 ";
    assert!(error.starts_with(begin), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn transactions_are_atomic() {
    let (server, table) = with_table().await;
    let etag = table.create_entity(&Entity::new("p", "old")).await.unwrap();
    let mut changed = Entity::new("p", "old");
    changed.insert("A", 1);
    let delete = |row_key: &str, if_match| TransactionAction::Delete {
        partition_key: "p".to_owned(),
        row_key: row_key.to_owned(),
        if_match,
    };
    let refused = [
        TransactionAction::Create(Entity::new("p", "new")),
        TransactionAction::Upsert(changed.clone(), UpdateMode::Merge),
        delete("none", IfMatch::Any),
    ];
    let error = table.submit_transaction(&refused).await.unwrap_err();
    assert_eq!(
        (error.status(), error.operation_index()),
        (Some(404), Some(2))
    );
    assert_eq!(table.get_entity_if_exists("p", "new").await.unwrap(), None);

    let done = [
        TransactionAction::Create(everything("x").with_keys("p", "new")),
        TransactionAction::Update(changed, UpdateMode::Replace, IfMatch::from(&etag)),
        TransactionAction::Upsert(Entity::new("p", "it's"), UpdateMode::Replace),
    ];
    let outcome = table.submit_transaction(&done).await.unwrap();
    let new = table.get_entity("p", "new").await.unwrap();
    assert_eq!(new.etag(), outcome.etags[0].as_ref());
    assert_eq!(new.get("Long"), Some(&Value::Int64(i64::MAX)));
    assert_eq!(
        table.get_entity("p", "old").await.unwrap().etag(),
        outcome.etags[1].as_ref()
    );
    let etag = outcome.etags[2].clone().unwrap();
    let gone = table
        .submit_transaction(&[delete("it's", IfMatch::ETag(etag))])
        .await
        .unwrap();
    assert_eq!(gone.etags, [None]);
    server.stop().await;
}

#[tokio::test]
async fn tables_are_created_listed_and_deleted() {
    let (server, client) = started().await;
    for name in ["Bees", "ants", "Cats"] {
        client.create_table(name).await.unwrap();
    }
    let error = client.create_table("bees").await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_conflict()),
        (Some(ErrorCode::TableAlreadyExists), true)
    );
    client.create_table_if_not_exists("bees").await.unwrap();
    client.create_table_if_not_exists("Dogs").await.unwrap();
    let names: Vec<String> = client.list_tables().try_collect().await.unwrap();
    assert_eq!(names, ["ants", "Bees", "Cats", "Dogs"]);
    let some = Filter::property("TableName").ge("C");
    let names: Vec<String> = client.query_tables(some).try_collect().await.unwrap();
    assert_eq!(names, ["ants", "Cats", "Dogs"]);
    client.delete_table("BEES").await.unwrap();
    assert!(
        client
            .delete_table("Bees")
            .await
            .unwrap_err()
            .is_not_found()
    );
    let error = client
        .table_client("Bees")
        .get_entity("p", "r")
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TableNotFound));
    for name in ["a/b", "x?y", "it's", "é"] {
        assert!(client.create_table(name).await.is_err(), "{name}");
        assert!(
            client
                .table_client(name)
                .get_entity("p", "r")
                .await
                .is_err(),
            "{name}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn lists_of_tables_have_pages() {
    let (server, client) = started().await;
    for number in 0..1_003 {
        client
            .create_table(&format!("table{number:04}"))
            .await
            .unwrap();
    }
    let names: Vec<String> = client.list_tables().try_collect().await.unwrap();
    assert_eq!((names.len(), names[1_002].as_str()), (1_003, "table1002"));
    server.stop().await;
}

#[tokio::test]
async fn service_properties_and_policies_round_trip() {
    let (server, client) = started().await;
    let defaults = client.get_service_properties().await.unwrap();
    assert_eq!(defaults, ServiceProperties::default());
    let properties = samples::properties();
    client.set_service_properties(&properties).await.unwrap();
    assert_eq!(client.get_service_properties().await.unwrap(), properties);
    assert_eq!(client.get_service_stats().await.unwrap().status, "live");

    let table = client.create_table("policed").await.unwrap();
    assert_eq!(table.get_access_policy().await.unwrap(), []);
    let policy = samples::policy("r");
    table
        .set_access_policy(std::slice::from_ref(&policy))
        .await
        .unwrap();
    assert_eq!(table.get_access_policy().await.unwrap(), [policy]);
    server.stop().await;
}

#[tokio::test]
async fn concurrent_requests_share_connections() {
    let (server, table) = with_table().await;
    let writes = futures::stream::iter(0..500).map(|number| {
        let table = table.clone();
        async move {
            table
                .create_entity(&Entity::new(
                    format!("p{}", number % 7),
                    format!("r{number}"),
                ))
                .await
        }
    });
    let etags: Vec<_> = writes.buffer_unordered(32).try_collect().await.unwrap();
    assert_eq!(etags.len(), 500);
    let pages = table.query_entities(QueryOptions::new().page_size(100));
    let all: Vec<Entity> = pages.try_collect().await.unwrap();
    assert_eq!(all.len(), 500);
    server.stop().await;
}
