use super::*;
use crate::{Change, ChangeKind, Condition, ServiceSettings, Table, TargetSettings};
use object_store::memory::InMemory;
use parking_lot::Mutex;
use partita_cluster::{Cluster, ClusterParts, ObjectMapStore};
use partita_engine::memory::{Fault, MemoryEngineSet};
use partita_engine::{KeyRange, ReadError, ScanHint};
use partita_model::{ETag, Guid, Properties, PropertiesBuilder, SignedIdentifier, ValueRef};
use partita_rt::{SystemClock, Tasks};
use partita_service::Storage;
use partita_snapshot::{ObjectSnapshotStore, SnapshotName, SnapshotPins, Snapshots};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::pin::pin;
use std::sync::Arc;

struct World {
    databases: Arc<MemoryEngineSet>,
    cluster: Arc<Cluster>,
    snapshots: Arc<Snapshots>,
    service: Arc<Service>,
}

impl World {
    async fn new() -> Self {
        let databases = Arc::new(MemoryEngineSet::new());
        let objects = Arc::new(InMemory::new());
        let records = Arc::new(ObjectSnapshotStore::new(objects.clone()));
        let parts = ClusterParts {
            engines: databases.clone(),
            memory: Arc::default(),
            map: Arc::new(ObjectMapStore::new(objects)),
            pins: Arc::new(SnapshotPins::new(records.clone())),
            clock: Arc::new(SystemClock),
            tasks: Tasks::new(),
        };
        let cluster = Cluster::open(parts).await.unwrap();
        let snapshots = Snapshots::start(Arc::clone(&cluster), records);
        let settings = ServiceSettings {
            drop_grace: Duration::ZERO,
            ..ServiceSettings::default()
        };
        let storage = Storage::new(Arc::clone(cluster.map()), Arc::new(SystemClock));
        let service = Service::new(Arc::new(storage), settings, TargetSettings::default());
        let service = Arc::new(service);
        Self {
            databases,
            cluster,
            snapshots,
            service,
        }
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

    /// A snapshot of the table `People` with `rows` rows.
    async fn snapshot_with(&self, rows: i32) -> (SnapshotReader, Arc<Table>) {
        let table = self.create("People").await;
        for number in 0..rows {
            let row_key = format!("{number:03}");
            self.put(&table, ("p", &row_key), every_type(number)).await;
        }
        (self.snapshot().await, table)
    }

    /// Injects `fault` into the next `times` writes that publish a table.
    fn fail_showing(&self, fault: Fault, mut times: u32) {
        self.databases.faults().of_writes(move |batch| {
            let is_dropped = |key: &Bytes| key.first() == Some(&KeyKind::DROPPED_TABLE.byte());
            let mut writes = batch.writes().iter();
            let shows = writes.any(|write| write.value.is_none() && is_dropped(&write.key));
            let fails = shows && times > 0;
            times -= u32::from(fails);
            fails.then_some(fault)
        });
    }

    async fn snapshot(&self) -> SnapshotReader {
        self.snapshot_of(DateTime::MIN).await
    }

    async fn snapshot_of(&self, created: DateTime) -> SnapshotReader {
        let name: SnapshotName = "s".parse().unwrap();
        self.snapshots.create(name.clone(), created).await.unwrap();
        self.snapshots.read(&name).await.unwrap()
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

    /// All rows of the store, of every kind.
    async fn all(&self) -> Vec<(Bytes, Bytes)> {
        let mut all = Vec::new();
        for served in self.cluster.map().ranges().iter() {
            let mut scan = served
                .range
                .scan(KeyRange::all(), ScanHint::walk())
                .await
                .unwrap();
            all.extend(scan.next(usize::MAX, usize::MAX).await.unwrap());
        }
        all
    }

    /// The entities of a table by their keys: the stored form without Timestamp, and the ETag.
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
async fn a_restored_table_is_identical_except_for_its_versions() {
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
        .cluster
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
    let absent = world.restore(&snapshot, "Missing", "Other").await;
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

    // Restores under the original name after that name is free.
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

/// An interrupted restore publishes no table, and its rows are removed; a running restore keeps its rows.
#[tokio::test]
async fn an_interrupted_restore_leaves_no_rows() {
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
async fn expired_entities_are_not_restored() {
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

/// The last write, which publishes the restored table, is retried. Otherwise a single failure would waste the whole
/// copy.
#[tokio::test(start_paused = true)]
async fn the_write_that_publishes_the_table_is_retried() {
    let world = World::new().await;
    let (snapshot, people) = world.snapshot_with(3).await;
    for (fault, into) in [
        (Fault::Refused, "First"),
        (Fault::Lost, "Second"),
        (Fault::Unanswered, "Third"),
    ] {
        world.fail_showing(fault, 3);
        let restored = world.restore(&snapshot, "People", into).await;
        assert_eq!(restored.unwrap().rows, 3, "{fault:?}");
        let table = world.table(into).await.unwrap();
        let rows = world.entities(&table).await;
        assert!(rows.keys().eq(world.entities(&people).await.keys()));
        let mut all = world.all().await.into_iter();
        assert!(!all.any(|(key, _)| key.first() == Some(&KeyKind::DROPPED_TABLE.byte())));
    }
    // Retries end after `PATIENCE`.
    world.fail_showing(Fault::Refused, u32::MAX);
    let began = Instant::now();
    let given_up = world.restore(&snapshot, "People", "Fourth").await;
    assert!(matches!(given_up, Err(Error::Busy(_))), "{given_up:?}");
    assert!(began.elapsed() >= PATIENCE && began.elapsed() < PATIENCE * 2);
}

#[tokio::test(start_paused = true)]
async fn publishing_waits_for_a_range_in_transit() {
    let world = World::new().await;
    let (snapshot, _) = world.snapshot_with(3).await;
    let range = world.cluster.map().route(b"").unwrap().range;
    // All rows are written, and the table is about to be published.
    let freeze = |_: Restored| {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(pin!(range.freeze()).poll(&mut context).is_ready());
    };
    let (account, table, into) = (account(), name("People"), name("Again"));
    let restoring = world
        .service
        .restore_table(&snapshot, &account, &table, &into, &freeze);
    let thaw = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        range.thaw();
    };
    let (restored, ()) = tokio::join!(restoring, thaw);
    assert_eq!(restored.unwrap().rows, 3);
    world.table("Again").await.unwrap();
}

/// A commit with an unknown outcome publishes the table, and a client drops the table. The retry of the commit does not
/// publish it again.
#[tokio::test(start_paused = true)]
async fn a_table_dropped_during_a_retry_is_not_published_again() {
    let world = World::new().await;
    let (snapshot, _) = world.snapshot_with(3).await;
    world.fail_showing(Fault::Unanswered, 1);
    let drop_it = async {
        while world.table("Again").await.is_err() {
            tokio::task::yield_now().await;
        }
        let (account, again) = (account(), name("Again"));
        world.service.delete_table(&account, &again).await.unwrap();
    };
    let (restored, ()) = tokio::join!(world.restore(&snapshot, "People", "Again"), drop_it);
    assert_eq!(restored.unwrap().rows, 3);
    let gone = world.table("Again").await;
    assert!(matches!(gone, Err(Error::TableNotFound)), "{gone:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_read_resumes_after_the_last_row() {
    let world = World::new().await;
    let (snapshot, people) = world.snapshot_with(600).await;
    let prefix = people.space.prefix().clone();
    let mut reads = 0;
    world.databases.faults().of_scans(move |range| {
        let (Bound::Included(start) | Bound::Excluded(start)) = &range.start else {
            return None;
        };
        reads += i32::from(start.starts_with(&prefix));
        let fails = start.starts_with(&prefix) && reads % 2 == 0;
        fails.then(|| ReadError::Unavailable("slow".into()))
    });
    let restored = world.restore(&snapshot, "People", "Again").await.unwrap();
    assert_eq!(restored.rows, 600);
    let again = world.table("Again").await.unwrap();
    let rows = world.entities(&again).await;
    assert!(rows.keys().eq(world.entities(&people).await.keys()));

    let damaged = |_: &KeyRange| {
        let cause = std::io::Error::other("damaged");
        Some(ReadError::Corrupt(Arc::new(cause)))
    };
    world.databases.faults().of_scans(damaged);
    let began = Instant::now();
    let refused = world.restore(&snapshot, "People", "Never").await;
    assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
    assert_eq!(began.elapsed(), Duration::ZERO, "a retry does not help");
}
