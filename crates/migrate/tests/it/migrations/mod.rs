//! Tests migrations on a real server: the effect of each step, errors, and that only one runner runs at a time.

mod runners;

use crate::tables::{rows, started, table};
use partita_client::{
    DateTime, Entity, Filter, IfMatch, QueryOptions, TableClient, TableServiceClient, UpdateMode,
    Value,
};
use partita_migrate::{
    Event, LeaseOptions, MigrateError, Migration, Migrations, Migrator, MigratorOptions,
    PropertyChange, State, StepError, Steps, Transform, VERSIONS_TABLE, Watch,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// All tables with all rows, as text, without Timestamps. Of the version table, only the properties are included that
/// are the same after interrupted and uninterrupted runs.
pub(crate) async fn everything(service: &TableServiceClient) -> BTreeMap<String, Vec<String>> {
    use futures::TryStreamExt as _;
    let names: Vec<String> = service.list_tables().try_collect().await.unwrap();
    let mut all = BTreeMap::new();
    for name in names {
        let rows: Vec<Entity> = service
            .table_client(&name)
            .query_entities(QueryOptions::new())
            .try_collect()
            .await
            .unwrap();
        let is_kept = |row: &&Entity, property: &str| {
            let is_same = ["Id", "Version", "Checksum", "State", "StepsDone", "Steps"];
            name != VERSIONS_TABLE
                || row.partition_key() == "migration" && is_same.contains(&property)
        };
        let rows = rows
            .iter()
            .filter(|row| name != VERSIONS_TABLE || row.partition_key() == "migration");
        let text = rows.map(|row| {
            let mut properties: Vec<_> = row
                .iter()
                .filter(|(property, _)| is_kept(&row, property))
                .collect();
            properties.sort_by_key(|(name, _)| *name);
            format!(
                "{:?} {:?} {properties:?}",
                row.partition_key(),
                row.row_key()
            )
        });
        all.insert(name.clone(), text.collect());
    }
    all
}

pub(crate) fn options() -> MigratorOptions {
    MigratorOptions {
        who: "a test".to_owned(),
        page_rows: 7,
        pages_between_records: 1,
        jobs: 1,
        lease: LeaseOptions {
            // The lease expires immediately, so that the next run need not wait. It is renewed before every write.
            duration: Duration::ZERO,
            renew_after: Duration::ZERO,
            ..LeaseOptions::default()
        },
        // Tests renames as on a server without Partita's extensions.
        public_only: true,
        ..MigratorOptions::default()
    }
}

fn row(partition_key: &str, row_key: &str, properties: &[(&str, Value)]) -> Entity {
    let mut row = Entity::new(partition_key, row_key);
    for (name, value) in properties {
        row.insert(name, value.clone());
    }
    row
}

fn one(steps: impl FnOnce(Migration) -> Migration) -> Migrations {
    Migrations::new([steps(Migration::new(1, "one"))]).unwrap()
}

async fn keys(table: &TableClient) -> Vec<(String, String)> {
    use futures::TryStreamExt as _;
    let rows: Vec<Entity> = table
        .query_entities(QueryOptions::new())
        .try_collect()
        .await
        .unwrap();
    rows.iter()
        .map(|row| (row.partition_key().to_owned(), row.row_key().to_owned()))
        .collect()
}

fn step_failure(error: MigrateError) -> String {
    match error {
        MigrateError::Step { source, .. } => source.to_string(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn rows_are_inserted_changed_and_deleted() {
    let (server, service) = started().await;
    let migrator = Migrator::new(service.clone(), options());
    let many = (0..250).map(|n| row("many", &format!("{n:03}"), &[("N", n.into())]));
    let migrations = Migrations::new([
        Migration::new(1, "come")
            .create_and_insert(
                "people",
                [row("a", "1", &[("Age", 7.into())]), Entity::new("b", "1")],
            )
            .insert("people", many)
            .upsert(
                "people",
                [row("a", "1", &[("Name", "x".into())])],
                UpdateMode::Merge,
            )
            .upsert(
                "people",
                [row("b", "1", &[("Name", "y".into())])],
                UpdateMode::Replace,
            ),
        Migration::new(2, "go")
            .delete_row("people", "many", "000")
            .delete_row("people", "many", "not there")
            .delete_entities(
                "people",
                [Entity::new("many", "001"), Entity::new("b", "1")],
            ),
        Migration::new(3, "part").delete_partition("people", "many"),
        Migration::new(4, "all").clear("people"),
    ])
    .unwrap();
    let people = service.table_client("people");
    let done = migrator.up(&migrations, Some(1)).await.unwrap();
    assert_eq!((done.len(), done[0].steps), (1, 4));
    assert_eq!(keys(&people).await.len(), 252);
    let found = people.get_entity("a", "1").await.unwrap();
    assert_eq!(
        (found.get("Age"), found.get("Name")),
        (Some(&7.into()), Some(&"x".into()))
    );

    migrator.up(&migrations, Some(2)).await.unwrap();
    let left = keys(&people).await;
    assert_eq!(left.len(), 249);
    assert!(!left.contains(&("many".to_owned(), "001".to_owned())));
    migrator.up(&migrations, Some(3)).await.unwrap();
    assert_eq!(keys(&people).await, [("a".to_owned(), "1".to_owned())]);
    migrator.up(&migrations, None).await.unwrap();
    assert_eq!(keys(&people).await, []);
    assert!(migrator.up(&migrations, None).await.unwrap().is_empty());

    let records = migrator.records().await.unwrap();
    let states: Vec<_> = records
        .iter()
        .map(|record| (record.version, record.state, record.steps_done))
        .collect();
    assert_eq!(
        states,
        [
            (1, State::Applied, 4),
            (2, State::Applied, 3),
            (3, State::Applied, 1),
            (4, State::Applied, 1)
        ]
    );
    assert!(
        records
            .iter()
            .all(|record| record.who == "a test" && record.ended >= Some(record.begun))
    );
    server.stop().await;
}

#[tokio::test]
async fn tables_are_copied_and_renamed_completely() {
    let (server, service) = started().await;
    let sent = rows(300);
    table(&service, "source", &sent).await;
    let migrator = Migrator::new(service.clone(), MigratorOptions::default());
    let before = everything(&service).await.remove("source");
    let migrations = Migrations::new([
        Migration::new(1, "copy").copy_table("source", "copied"),
        Migration::new(2, "rename")
            .rename_table("source", "renamed")
            .down(|down: Steps| down.rename_table("renamed", "source")),
    ])
    .unwrap();
    migrator.up(&migrations, None).await.unwrap();
    let mut now = everything(&service).await;
    assert_eq!(now.remove("copied"), before);
    assert_eq!(now.remove("renamed"), before);
    assert_eq!(now.get("source"), None);

    migrator.down(&migrations, None).await.unwrap();
    let mut now = everything(&service).await;
    assert_eq!(now.remove("source"), before);
    assert_eq!(now.get("renamed"), None);
    let error = migrator.down(&migrations, None).await.unwrap_err();
    assert!(
        matches!(error, MigrateError::Irreversible { version: 1, .. }),
        "{error}"
    );
    // A reverted migration can be applied again, even with other steps.
    let other = Migrations::new([
        Migration::new(1, "copy").copy_table("source", "copied"),
        Migration::new(2, "rename").delete_table("source"),
    ])
    .unwrap();
    migrator.up(&other, None).await.unwrap();
    assert_eq!(everything(&service).await.get("source"), None);
    server.stop().await;
}

#[tokio::test]
async fn a_rename_on_the_server_keeps_the_etags() {
    let (server, service) = started().await;
    let source = table(&service, "source", &rows(3)).await;
    let Some(first) = keys(&source).await.into_iter().next() else {
        panic!("the table has no rows");
    };
    let before = source.get_entity(&first.0, &first.1).await.unwrap();
    let options = MigratorOptions {
        public_only: false,
        ..options()
    };
    let migrator = Migrator::new(service.clone(), options);
    let rename = one(|it| it.rename_table("source", "target"));
    migrator.up(&rename, None).await.unwrap();
    let after = service
        .table_client("target")
        .get_entity(&first.0, &first.1)
        .await
        .unwrap();
    assert_eq!(after.etag(), before.etag());
    assert_eq!(everything(&service).await.get("source"), None);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_differs_is_refused_and_the_source_kept() {
    let (server, service) = started().await;
    let source = table(&service, "source", &rows(20)).await;
    /// During the copy, writes a row into the source and deletes a copied row from the source.
    struct Meddler(TableClient, (String, String));
    impl Watch for Meddler {
        fn event(&self, event: &Event<'_>) {
            if matches!(event, Event::Rows(7)) {
                let late = row("", "0", &[]);
                let write = self.0.upsert_entity(&late, UpdateMode::Replace);
                tokio::task::block_in_place(|| Handle::current().block_on(write).unwrap());
                let first = self.1.clone();
                let delete = self.0.delete_entity(&first.0, &first.1, &IfMatch::Any);
                // The row may already be gone if the event occurs again.
                let _ = tokio::task::block_in_place(|| Handle::current().block_on(delete));
            }
        }
    }
    let first = keys(&source).await.remove(0);
    let meddler = Meddler(source.clone(), first.clone());
    let migrator = Migrator::new(service.clone(), options()).watched_by(Arc::new(meddler));
    let migrations = one(|it| it.rename_table("source", "target"));
    let error = step_failure(migrator.up(&migrations, None).await.unwrap_err());
    assert!(
        error.starts_with("target differs from source in 2 rows, the first with PartitionKey \"\""),
        "{error}"
    );
    let now = keys(&source).await;
    assert!(now.len() == 20 && !now.contains(&first), "{now:?}");
    let record = migrator.records().await.unwrap().remove(0);
    assert_eq!((record.state, record.steps_done), (State::Applying, 0));
    assert!(record.failure.unwrap().contains("differs from source"));

    // The next run repairs the differences: it copies the new row, and deletes the deleted one.
    let calm = Migrator::new(service.clone(), options());
    calm.up(&migrations, None).await.unwrap();
    assert_eq!(keys(&service.table_client("target")).await, now);
    assert_eq!(everything(&service).await.get("source"), None);
    server.stop().await;
}

#[tokio::test]
async fn rows_are_transformed() {
    let (server, service) = started().await;
    let people = (0..30).map(|n| {
        let mut it = row(
            &format!("p{}", n % 3),
            &format!("{n}"),
            &[("A", n.into()), ("C", "c".into())],
        );
        if n % 2 == 0 {
            it.insert("Extra", true);
        }
        it
    });
    let people: Vec<_> = people.collect();
    let table = table(&service, "people", &people).await;
    let rename = |from: &str, to: &str| PropertyChange::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let migrations = Migrations::new([
        Migration::new(1, "shift").transform(Transform {
            filter: Some("A ge 3".to_owned()),
            changes: vec![
                // Changes that would give another result if they ran twice.
                rename("A", "B"),
                rename("C", "A"),
                PropertyChange::Retype {
                    name: "B".to_owned(),
                    edm: partita_client::EdmType::Int64,
                },
                PropertyChange::Add {
                    name: "C".to_owned(),
                    value: "new".into(),
                },
                PropertyChange::Drop {
                    name: "Extra".to_owned(),
                },
            ],
            ..Transform::of("people")
        }),
        Migration::new(2, "keys").transform(Transform {
            to: Some("bykey".to_owned()),
            partition_key: Some("{PartitionKey}-x".parse().unwrap()),
            row_key: Some("{RowKey}-{A}".parse().unwrap()),
            changes: vec![PropertyChange::Drop {
                name: "A".to_owned(),
            }],
            ..Transform::of("people")
        }),
    ])
    .unwrap();
    let migrator = Migrator::new(service.clone(), options());
    migrator.up(&migrations, None).await.unwrap();
    let untouched = table.get_entity("p2", "2").await.unwrap();
    assert_eq!(untouched.get("A"), Some(&2.into()));
    assert_eq!(untouched.get("Extra"), Some(&true.into()));
    for n in 3..30 {
        let found = table
            .get_entity(&format!("p{}", n % 3), &n.to_string())
            .await
            .unwrap();
        let expected = row(
            found.partition_key(),
            found.row_key(),
            &[
                ("B", i64::from(n).into()),
                ("A", "c".into()),
                ("C", "new".into()),
            ],
        );
        assert!(
            partita_bulk::differences(&found, &expected).is_empty(),
            "{found:?}"
        );
    }
    let moved = service
        .table_client("bykey")
        .get_entity("p0-x", "3-c")
        .await
        .unwrap();
    assert_eq!(
        (moved.get("A"), moved.get("B")),
        (None, Some(&3_i64.into()))
    );
    assert_eq!(keys(&service.table_client("bykey")).await.len(), 30);

    // A transform that gives several rows the same key.
    let clash = Migrations::new([Migration::new(9, "clash").transform(Transform {
        to: Some("clash".to_owned()),
        row_key: Some("same".parse().unwrap()),
        ..Transform::of("people")
    })])
    .unwrap();
    let error = step_failure(migrator.up(&clash, None).await.unwrap_err());
    assert!(error.contains("RowKey \"same\" already exists"), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn errors_name_the_row_that_cannot_be_changed() {
    let (server, service) = started().await;
    let bad = row("p", "2", &[("Age", "old".into())]);
    let table = table(
        &service,
        "people",
        &[row("p", "1", &[("Age", "7".into())]), bad],
    )
    .await;
    let change = PropertyChange::Retype {
        name: "Age".to_owned(),
        edm: partita_client::EdmType::Int32,
    };
    let migrations = one(|it| {
        it.transform(Transform {
            changes: vec![change],
            ..Transform::of("people")
        })
    });
    let migrator = Migrator::new(service.clone(), options());
    let MigrateError::Step {
        source,
        done,
        steps,
        ..
    } = migrator.up(&migrations, None).await.unwrap_err()
    else {
        panic!("the error is not a failed step");
    };
    assert_eq!((&*done, steps), ("no step", 1));
    assert_eq!(
        source.to_string(),
        "cannot change the row with PartitionKey \"p\" and RowKey \"2\""
    );
    let cause = std::error::Error::source(&*source).unwrap();
    assert_eq!(
        cause.to_string(),
        "Age with the value \"old\" is not a valid Edm.Int32"
    );
    table
        .upsert_entity(&row("p", "2", &[("Age", "70".into())]), UpdateMode::Replace)
        .await
        .unwrap();
    migrator.up(&migrations, None).await.unwrap();
    for (key, age) in [("1", 7), ("2", 70)] {
        let found = table.get_entity("p", key).await.unwrap();
        assert_eq!(found.get("Age"), Some(&age.into()));
    }
    server.stop().await;
}

#[tokio::test]
async fn changes_of_other_clients_are_errors_and_own_changes_are_not() {
    let (server, service) = started().await;
    let migrator = Migrator::new(service.clone(), options());
    service.create_table("there").await.unwrap();
    // The table exists, and this step certainly did not create it. So the next run fails in the same way.
    let migrations = one(|it| it.create_table("first").create_table("there"));
    for _ in 0..2 {
        let error = migrator.up(&migrations, None).await.unwrap_err();
        let MigrateError::Step { step: 2, done, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(done, "1 step");
        assert!(step_failure(error).contains("TableAlreadyExists"));
    }
    service.delete_table("there").await.unwrap();
    migrator.up(&migrations, None).await.unwrap();

    let missing = Migrations::new([
        Migration::new(1, "one")
            .create_table("first")
            .create_table("there"),
        Migration::new(2, "two").delete_table("nothing"),
    ])
    .unwrap();
    for _ in 0..2 {
        let error = step_failure(migrator.up(&missing, None).await.unwrap_err());
        assert!(error.contains("ResourceNotFound"), "{error}");
    }
    service.create_table("nothing").await.unwrap();
    migrator.up(&missing, None).await.unwrap();

    // The first batch of 100 rows is inserted, then the batch with the existing row fails.
    let first = service.table_client("first");
    first
        .create_entity(&row("p", "150", &[("N", 5.into())]))
        .await
        .unwrap();
    let many = (0..200)
        .map(|n| Entity::new("p", format!("{n:03}")))
        .collect::<Vec<_>>();
    let [one_, two] = [1, 2].map(|version| missing.get(version).unwrap().clone());
    let inserts =
        Migrations::new([one_, two, Migration::new(3, "three").insert("first", many)]).unwrap();
    for _ in 0..2 {
        let error = step_failure(migrator.up(&inserts, None).await.unwrap_err());
        assert!(error.contains("RowKey \"150\" already exists"), "{error}");
        assert_eq!(keys(&first).await.len(), 101);
    }
    first
        .delete_entity("p", "150", &IfMatch::Any)
        .await
        .unwrap();
    migrator.up(&inserts, None).await.unwrap();
    assert_eq!(keys(&first).await.len(), 200);
    server.stop().await;
}

#[tokio::test]
async fn a_change_of_an_applied_migration_is_an_error() {
    let (server, service) = started().await;
    let migrator = Migrator::new(service.clone(), options());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("0001-first.toml");
    let write = |id: &str, table: &str| {
        let text = format!(
            "# {table}\nversion = 1\nid = {id:?}\n[[up]]\noperation = \"create_table\"\ntable = {table:?}\n"
        );
        std::fs::write(&path, text).unwrap();
        partita_migrate::read_directory(directory.path()).unwrap()
    };
    migrator.up(&write("first", "tab"), None).await.unwrap();
    migrator.up(&write("first", "tab"), None).await.unwrap();
    for (id, table) in [("first", "other"), ("second", "tab")] {
        let error = migrator
            .up(&write(id, table), None)
            .await
            .unwrap_err()
            .to_string();
        let file = Path::new("0001-first.toml");
        for expected in [
            &*format!("migration 1 {id:?}"),
            file.to_str().unwrap(),
            "its checksum is now",
            "\"first\" ran at",
        ] {
            assert!(error.contains(expected), "{error}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_damaged_record_is_reported() {
    let (server, service) = started().await;
    let migrator = Migrator::new(service.clone(), options());
    migrator
        .up(&one(|it| it.create_table("tab")), None)
        .await
        .unwrap();
    let versions = service.table_client(VERSIONS_TABLE);
    let key = format!("{:019}", 1);
    let mut found = versions.get_entity("migration", &key).await.unwrap();
    let of_partition = Filter::pk().eq("migration");
    let page = versions
        .query_page(&QueryOptions::new().filter(of_partition), None)
        .await
        .unwrap();
    assert_eq!(page.entities().unwrap().len(), 1);
    assert!(
        matches!(found.get("Begun"), Some(Value::DateTime(time)) if *time > DateTime::UNIX_EPOCH)
    );
    found.insert("State", "dancing");
    versions
        .upsert_entity(&found, UpdateMode::Replace)
        .await
        .unwrap();
    let error = migrator.records().await.unwrap_err().to_string();
    assert!(
        error.contains("State is missing or of another type"),
        "{error}"
    );
    server.stop().await;
}

#[test]
fn step_errors_have_their_causes() {
    fn is_error<T: std::error::Error + Send + Sync + 'static>() {}
    is_error::<MigrateError>();
    is_error::<StepError>();
}
