use super::*;
use crate::{Change, ChangeKind, Condition, ServiceSettings, Table};
use parking_lot::Mutex;
use partita_cluster::{Manager, ObjectMapStore, SnapshotName};
use partita_engine::memory::MemoryDatabases;
use partita_engine::{KeyRange, ScanHint};
use partita_model::{ETag, Guid, Properties, PropertiesBuilder, SignedIdentifier, ValueRef};
use partita_rt::object_store::memory::InMemory;
use partita_rt::{SystemClock, Tasks};
use std::collections::BTreeMap;
use std::sync::Arc;

struct World {
    manager: Arc<Manager>,
    service: Arc<Service>,
}

impl World {
    async fn new() -> Self {
        let databases = Arc::new(MemoryDatabases::new());
        let map = Arc::new(ObjectMapStore::new(Arc::new(InMemory::new())));
        let opened = Manager::open(databases, Arc::default(), map, Tasks::new()).await;
        let manager = opened.unwrap();
        let settings = ServiceSettings {
            drop_grace: Duration::ZERO,
            ..ServiceSettings::default()
        };
        let service = Service::new(Arc::clone(manager.map()), Arc::new(SystemClock), settings);
        let service = Arc::new(service);
        Self { manager, service }
    }

    async fn create(&self, table: &str) -> Arc<Table> {
        self.service
            .create_table(&account(), &name(table))
            .await
            .unwrap();
        self.table(table).await.unwrap()
    }

    async fn table(&self, table: &str) -> Result<Arc<Table>, Error> {
        self.service.table(&account(), &name(table)).await
    }

    async fn put(&self, table: &Table, keys: (&str, &str), properties: Properties) {
        let change = Change {
            partition_key: keys.0.into(),
            row_key: keys.1.into(),
            kind: ChangeKind::Replace(properties),
            condition: Condition::None,
        };
        self.service.change_entity(table, change).await.unwrap();
    }

    async fn snapshot(&self) -> SnapshotReader {
        self.snapshot_of(DateTime::MIN).await
    }

    async fn snapshot_of(&self, created: DateTime) -> SnapshotReader {
        let name: SnapshotName = "s".parse().unwrap();
        self.manager
            .create_snapshot(name.clone(), created)
            .await
            .unwrap();
        self.manager.read_snapshot(&name).await.unwrap()
    }

    async fn restore(
        &self,
        from: &SnapshotReader,
        table: &str,
        into: &str,
    ) -> Result<Restored, Error> {
        let (table, into) = (name(table), name(into));
        self.service
            .restore_table(from, &account(), &table, &into, &|_| {})
            .await
    }

    /// All rows of the store, whatever they are.
    async fn all(&self) -> Vec<(Bytes, Bytes)> {
        let mut all = Vec::new();
        for served in self.manager.map().ranges().iter() {
            let mut scan = served
                .range
                .scan(KeyRange::all(), ScanHint::walk())
                .await
                .unwrap();
            all.extend(scan.next(usize::MAX, usize::MAX).await.unwrap());
        }
        all
    }

    /// The entities of a table by their keys: what is stored but the Timestamp, and the ETag.
    async fn entities(&self, table: &Table) -> BTreeMap<(String, String), (Bytes, ETag)> {
        let rows = self.all().await.into_iter();
        let rows = rows.filter(|(key, _)| key.starts_with(table.space.prefix()));
        rows.map(|(key, row)| {
            let (partition, row_key) = table.space.decode(&key).unwrap();
            let keys = (partition.into_owned(), row_key.into_owned());
            let etag = partita_model::Stored::open(&row).unwrap().etag();
            (keys, (restamped(&row, DateTime::UNIX_EPOCH).unwrap(), etag))
        })
        .collect()
    }
}

fn account() -> AccountName {
    AccountName::new("account").unwrap()
}

fn name(text: &str) -> TableName {
    TableName::new(text).unwrap()
}

fn every_type(number: i32) -> Properties {
    let mut builder = PropertiesBuilder::new(256);
    for (name, value) in [
        ("S", ValueRef::String("\"ä\u{1F600}")),
        ("Empty", ValueRef::String("")),
        ("B", ValueRef::Binary(&[0, 255])),
        ("T", ValueRef::Boolean(true)),
        ("F", ValueRef::Boolean(false)),
        ("N", ValueRef::Int32(number)),
        ("L", ValueRef::Int64(i64::MIN)),
        ("D", ValueRef::Double(f64::NAN)),
        ("Whole", ValueRef::Double(1.0)),
        ("At", ValueRef::DateTime(DateTime::MAX)),
        (
            "G",
            ValueRef::Guid(Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap()),
        ),
    ] {
        builder.push(name, value).unwrap();
    }
    builder.finish()
}

#[tokio::test]
async fn a_table_comes_back_exactly_with_new_versions() {
    let world = World::new().await;
    let table = world.create("People").await;
    let other = world.create("Other").await;
    for number in 0..700 {
        let keys = (format!("p{}", number % 7), format!("r{number}"));
        world
            .put(&table, (&keys.0, &keys.1), every_type(number))
            .await;
    }
    world.put(&table, ("", ""), Properties::empty()).await;
    world.put(&other, ("p", "r"), every_type(-1)).await;
    let policy = SignedIdentifier {
        id: "readers".to_owned(),
        policy: partita_model::AccessPolicy::default(),
    };
    let policies = std::slice::from_ref(&policy);
    let (mine, people) = (account(), name("People"));
    let set = world.service.set_access_policies(&mine, &people, policies);
    set.await.unwrap();
    let before = world.entities(&table).await;
    let cut = table.space.partition("p3");
    world
        .manager
        .split(partita_range::RangeId(1), Some(cut))
        .await
        .unwrap();
    let snapshot = world.snapshot().await;

    world.put(&table, ("p0", "r0"), every_type(-1)).await;
    world.put(&table, ("new", "new"), every_type(-1)).await;
    let refused = world.restore(&snapshot, "people", "PEOPLE").await;
    assert!(
        matches!(refused, Err(Error::TableAlreadyExists)),
        "{refused:?}"
    );
    let absent = world.restore(&snapshot, "Nobody", "Somebody").await;
    assert!(matches!(absent, Err(Error::NoSuchTable)), "{absent:?}");

    let noted = Mutex::new(Vec::new());
    let note = |restored: Restored| noted.lock().push(restored.rows);
    let (from, into) = (name("people"), name("Again"));
    let restored = world
        .service
        .restore_table(&snapshot, &account(), &from, &into, &note)
        .await;
    assert_eq!(restored.unwrap().rows, 701);
    assert!(noted.lock().is_sorted() && noted.lock().len() > 2);
    let again = world.table("again").await.unwrap();
    assert_eq!(
        (again.name.as_str(), &again.policies),
        ("Again", &vec![policy])
    );
    let after = world.entities(&again).await;
    let latest = before.values().map(|(_, etag)| etag.0).max().unwrap();
    assert_eq!(after.len(), before.len());
    for (keys, (stored, etag)) in &after {
        assert_eq!(stored, &before[keys].0, "{keys:?}");
        assert!(etag.0 > latest, "{keys:?}");
    }

    // Under its own name, once that is free.
    world
        .service
        .delete_table(&account(), &name("People"))
        .await
        .unwrap();
    world.restore(&snapshot, "People", "People").await.unwrap();
    let people = world.table("People").await.unwrap();
    assert_eq!(world.entities(&people).await.len(), 701);
    assert_eq!(world.entities(&other).await.len(), 1);
}

/// A restore that is broken off shows nothing, and what it wrote is removed; one that goes on meanwhile keeps its rows.
#[tokio::test]
async fn a_restore_that_is_broken_off_leaves_nothing() {
    let world = World::new().await;
    let table = world.create("People").await;
    for number in 0..600 {
        world
            .put(&table, ("p", &number.to_string()), every_type(number))
            .await;
    }
    let snapshot = world.snapshot().await;
    let before = world.all().await.len();
    let (service, from) = (Arc::clone(&world.service), snapshot.clone());
    let mut broken_off = tokio::task::JoinSet::new();
    broken_off.spawn(async move {
        let (table, into) = (name("People"), name("Again"));
        let break_off = |restored: Restored| assert!(restored.rows < 300, "broken off");
        let account = account();
        let restoring = service.restore_table(&from, &account, &table, &into, &break_off);
        restoring.await.map(|_| ())
    });
    assert!(
        broken_off
            .join_next()
            .await
            .unwrap()
            .unwrap_err()
            .is_panic()
    );
    let missing = world.table("Again").await;
    assert!(matches!(missing, Err(Error::TableNotFound)));
    assert!(world.all().await.len() > before, "some rows were written");

    let tasks = Tasks::new();
    world.service.start(&tasks);
    let restored = world.restore(&snapshot, "People", "Second").await.unwrap();
    assert_eq!(restored.rows, 600);
    while world.all().await.len() > before + 601 {
        tokio::task::yield_now().await;
    }
    let second = world.table("Second").await.unwrap();
    assert_eq!(world.entities(&second).await.len(), 600);
    tasks.shut_down();
}

#[tokio::test]
async fn what_had_expired_stays_away() {
    let world = World::new().await;
    let table = world.create("People").await;
    world.put(&table, ("p", "r"), every_type(1)).await;
    let ttl = partita_model::TimeToLive::from_seconds(3600).unwrap();
    let (mine, people) = (account(), name("People"));
    let set = world.service.set_time_to_live(&mine, &people, Some(ttl));
    set.await.unwrap();
    let snapshot = world.snapshot_of(DateTime::MAX).await;
    let restored = world.restore(&snapshot, "People", "Again").await.unwrap();
    assert_eq!(restored, Restored::default());
    assert_eq!(world.table("Again").await.unwrap().ttl, Some(ttl));
}
