//! Rename, truncation and expiry of tables, over two ranges and with a manual clock.

use super::expire::Expiring;
use crate::{
    Change, ChangeKind, Condition, Error, Query, Service, ServiceSettings, Table, TargetSettings,
};
use partita_cluster::{Epoch, PartitionMap, Served};
use partita_engine::memory::MemoryEngine;
use partita_engine::{Batch, ReadError};
use partita_model::{
    AccessPolicy, AccountName, DateTime, ETag, Properties, PropertiesBuilder, SignedIdentifier,
    TableId, TableName, TableSpace, TimeToLive, ValueRef,
};
use partita_range::{Bounds, Range, RangeId};
use partita_rt::{Clock as _, ManualClock, Shutdown, Tasks};
use partita_service::{RowWalk, Storage};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

async fn sweep_once(
    service: &Service,
    shutdown: &Shutdown,
) -> Result<bool, partita_service::Error> {
    service
        .dropped
        .sweep_once(service.storage(), shutdown)
        .await
}

fn account() -> AccountName {
    AccountName::new("account").unwrap()
}

fn name(text: &str) -> TableName {
    TableName::new(text).unwrap()
}

/// A service with the table `People`, split before its partition `m`.
struct Rig {
    service: Service,
    clock: ManualClock,
    tasks: Tasks,
    engines: [Arc<MemoryEngine>; 2],
}

impl Rig {
    async fn new() -> Self {
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
        // First one range for all keys, in which the table is created: the keys of its entities depend on its random
        // id.
        let engines = [Arc::new(MemoryEngine::new()), Arc::new(MemoryEngine::new())];
        let [catalog, behind] = &engines;
        let ranges = |cut: Option<bytes::Bytes>| {
            let first = Bounds {
                start: bytes::Bytes::new(),
                end: cut.clone(),
            };
            let mut served = vec![(1, first, Arc::clone(catalog))];
            if let Some(start) = cut {
                let second = Bounds { start, end: None };
                served.push((2, second, Arc::clone(behind)));
            }
            let served = served.into_iter().map(|(id, bounds, engine)| Served {
                tenure: 0,
                epoch: Epoch(1),
                range: Arc::new(Range::new(RangeId(id), bounds, engine, Arc::default())),
            });
            PartitionMap::new(served.collect()).unwrap()
        };
        let service = |map| {
            let settings = ServiceSettings {
                drop_grace: Duration::from_secs(5),
                ..ServiceSettings::default()
            };
            let storage = Storage::new(Arc::new(map), Arc::new(clock.clone()));
            Service::new(Arc::new(storage), settings, TargetSettings::default())
        };
        let before = service(ranges(None));
        before
            .create_table(&account(), &name("People"))
            .await
            .unwrap();
        let table = before.table(&account(), &name("People")).await.unwrap();
        Self {
            service: service(ranges(Some(table.space.partition("m")))),
            clock,
            tasks: Tasks::new(),
            engines,
        }
    }

    async fn table(&self, text: &str) -> Arc<Table> {
        self.service.table(&account(), &name(text)).await.unwrap()
    }

    async fn change(
        &self,
        table: &Table,
        keys: (&str, &str),
        kind: ChangeKind,
    ) -> Result<ETag, Error> {
        let condition = match kind {
            ChangeKind::Delete => Condition::Exists,
            _ => Condition::None,
        };
        let change = Change {
            partition_key: keys.0.into(),
            row_key: keys.1.into(),
            kind,
            condition,
        };
        let changed = self.service.change_entity(table, change).await?;
        Ok(changed.etag.unwrap_or(ETag(partita_model::DateTime::MIN)))
    }

    async fn insert(&self, table: &Table, keys: (&str, &str)) -> ETag {
        let kind = ChangeKind::Insert(properties("a"));
        self.change(table, keys, kind).await.unwrap()
    }

    /// The keys that a query returns, over all pages.
    async fn listed(&self, table: &Table) -> Vec<String> {
        let (mut listed, mut from) = (Vec::new(), None);
        loop {
            let query = Query {
                filter: None,
                top: 2,
                from: from.as_ref(),
                allowed: None,
                row_bytes_more: 0,
            };
            let page = self.service.query_entities(table, query).await.unwrap();
            for row in &page.rows {
                let entity = row.entity(&table.space).unwrap();
                listed.push(format!("{}/{}", entity.partition_key, entity.row_key));
            }
            from = page.next;
            if from.is_none() {
                return listed;
            }
        }
    }

    /// Writes a row directly to the engine, without checks.
    async fn store(&self, key: bytes::Bytes, value: impl Into<bytes::Bytes>) {
        let range = self.service.route(&key).unwrap().range;
        let mut batch = Batch::new();
        batch.put(key, value.into());
        let permit = range.engine().reserve(batch.bytes()).await.unwrap();
        permit.submit(batch, Box::new(|stored| stored.unwrap()));
    }

    /// Makes reads of a table's rows fail as damaged.
    fn damage(&self, space: &TableSpace) {
        for engine in &self.engines {
            let prefix = space.prefix().clone();
            engine.faults().of_scans(move |range| {
                let (Bound::Included(start) | Bound::Excluded(start)) = &range.start else {
                    return None;
                };
                let damaged = || ReadError::Corrupt(Arc::new(std::io::Error::other("damaged")));
                start.starts_with(&prefix).then(damaged)
            });
        }
    }

    /// Creates the table `Aged`, which is before `People` in the catalog, and gives both a time to live of 600 s.
    async fn aged(&self) -> Arc<Table> {
        let aged = name("Aged");
        self.service.create_table(&account(), &aged).await.unwrap();
        for name in [aged, name("People")] {
            self.service
                .set_time_to_live(&account(), &name, seconds(600))
                .await
                .unwrap();
        }
        self.table("Aged").await
    }

    /// The number of rows stored under the id of a table.
    async fn stored(&self, table: &Table) -> usize {
        let mut walk = RowWalk::new(
            self.service.storage(),
            table.space.prefix().clone(),
            table.space.end(),
        );
        let mut stored = 0;
        while let Some(rows) = walk.next().await.unwrap() {
            stored += rows.len();
        }
        stored
    }
}

fn properties(property: &str) -> Properties {
    let mut builder = PropertiesBuilder::new(16);
    builder.push(property, ValueRef::Int32(1)).unwrap();
    builder.finish()
}

fn seconds(seconds: u64) -> Option<TimeToLive> {
    Some(TimeToLive::from_seconds(seconds).unwrap())
}

#[tokio::test]
async fn a_renamed_table_is_the_same_table() {
    let rig = Rig::new().await;
    let policies = [SignedIdentifier {
        id: "p".into(),
        policy: AccessPolicy::default(),
    }];
    rig.service
        .set_access_policies(&account(), &name("People"), &policies)
        .await
        .unwrap();
    let old = rig.table("People").await;
    let etags = [
        rig.insert(&old, ("a", "1")).await,
        rig.insert(&old, ("z", "2")).await,
    ];
    rig.service
        .rename_table(&account(), &name("people"), &name("Folk"))
        .await
        .unwrap();

    let gone = rig.service.table(&account(), &name("People")).await;
    assert!(matches!(gone, Err(Error::TableNotFound)), "{gone:?}");
    let new = rig.table("FOLK").await;
    assert_eq!(
        (new.name.as_str(), new.policies.as_slice()),
        ("Folk", &policies[..])
    );
    assert_eq!(rig.listed(&new).await, ["a/1", "z/2"]);
    for (keys, etag) in [("a", "1"), ("z", "2")].into_iter().zip(etags) {
        let row = rig.service.entity(&new, keys.0, keys.1).await.unwrap();
        assert_eq!(row.etag().unwrap(), etag);
    }
    // The old name is free for a new table.
    rig.service
        .create_table(&account(), &name("People"))
        .await
        .unwrap();
    assert_eq!(rig.listed(&*rig.table("People").await).await, [""; 0]);
}

#[tokio::test]
async fn a_rename_may_change_the_case_but_not_take_an_existing_name() {
    let rig = Rig::new().await;
    let rename = async |from: &str, to: &str| {
        rig.service
            .rename_table(&account(), &name(from), &name(to))
            .await
    };
    rename("People", "PEOPLE").await.unwrap();
    assert_eq!(rig.table("people").await.name, "PEOPLE");
    rig.service
        .create_table(&account(), &name("Other"))
        .await
        .unwrap();
    let taken = rename("people", "oTHER").await;
    assert!(matches!(taken, Err(Error::TableAlreadyExists)), "{taken:?}");
    let missing = rename("missing", "other").await;
    assert!(matches!(missing, Err(Error::TableNotFound)), "{missing:?}");
    assert_eq!(rig.table("people").await.name, "PEOPLE");
    assert_eq!(rig.table("other").await.name, "Other");
}

#[tokio::test]
async fn a_truncated_table_is_empty_and_its_rows_are_removed_later() {
    let rig = Rig::new().await;
    let (people, ttl) = (name("People"), seconds(3600));
    rig.service
        .set_time_to_live(&account(), &people, ttl)
        .await
        .unwrap();
    let old = rig.table("People").await;
    for keys in [("a", "1"), ("a", "2"), ("z", "1")] {
        rig.insert(&old, keys).await;
    }
    rig.service
        .truncate_table(&account(), &people)
        .await
        .unwrap();
    let new = rig.table("People").await;
    assert_eq!(rig.listed(&new).await, [""; 0]);
    assert_eq!((new.ttl, new.created), (ttl, old.created));
    rig.insert(&new, ("a", "1")).await;

    // A write that looked up the table before the truncation: its row has the old id, and the sweep removes it.
    rig.insert(&old, ("z", "9")).await;
    assert_eq!(rig.stored(&old).await, 4);
    assert!(
        sweep_once(&rig.service, &rig.tasks.shutdown())
            .await
            .unwrap()
    );
    assert_eq!(rig.stored(&old).await, 0);
    rig.clock.advance(Duration::from_secs(6));
    assert!(
        !sweep_once(&rig.service, &rig.tasks.shutdown())
            .await
            .unwrap()
    );
    assert_eq!(rig.listed(&new).await, ["a/1"]);
    let missing = rig
        .service
        .truncate_table(&account(), &name("missing"))
        .await;
    assert!(matches!(missing, Err(Error::TableNotFound)), "{missing:?}");
}

#[tokio::test]
async fn every_operation_treats_an_expired_entity_as_missing() {
    let rig = Rig::new().await;
    rig.service
        .set_time_to_live(&account(), &name("People"), seconds(10))
        .await
        .unwrap();
    let table = rig.table("People").await;
    for row_key in ["1", "2", "3", "4", "5"] {
        rig.insert(&table, ("p", row_key)).await;
    }
    rig.clock.advance(Duration::from_secs(5));
    rig.insert(&table, ("p", "6")).await;
    assert_eq!(rig.listed(&table).await.len(), 6);
    rig.clock.advance(Duration::from_secs(6));

    assert_eq!(rig.listed(&table).await, ["p/6"]);
    let gone = rig.service.entity(&table, "p", "1").await;
    assert!(matches!(gone, Err(Error::EntityNotFound)), "{gone:?}");
    let deleted = rig.change(&table, ("p", "1"), ChangeKind::Delete).await;
    assert!(matches!(deleted, Err(Error::EntityNotFound)), "{deleted:?}");
    rig.insert(&table, ("p", "2")).await;
    // The merge creates a new entity: it does not find the expired one, so `a` is absent.
    rig.change(&table, ("p", "3"), ChangeKind::Merge(properties("b")))
        .await
        .unwrap();
    let row = rig.service.entity(&table, "p", "3").await.unwrap();
    let entity = row.entity(&table.space).unwrap();
    assert_eq!(entity.stored.get("a").unwrap(), None);
    let batch = |row_key: &str, kind| Change {
        partition_key: "p".into(),
        row_key: row_key.into(),
        kind,
        condition: Condition::None,
    };
    let insert = batch("4", ChangeKind::Insert(properties("a")));
    let update = Change {
        condition: Condition::Exists,
        ..batch("5", ChangeKind::Replace(properties("a")))
    };
    let refused = rig
        .service
        .change_entities(&table, vec![insert.clone(), update])
        .await;
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused.error, Error::EntityNotFound) && refused.index == 1,
        "{refused:?}"
    );
    rig.service
        .change_entities(&table, vec![insert])
        .await
        .unwrap();
    assert_eq!(rig.listed(&table).await, ["p/2", "p/3", "p/4", "p/6"]);
}

#[tokio::test]
async fn expired_entities_are_removed_in_the_background() {
    let rig = Rig::new().await;
    let people = name("People");
    rig.service
        .set_time_to_live(&account(), &people, seconds(600))
        .await
        .unwrap();
    let table = rig.table("People").await;
    let (shutdown, mut expiring) = (rig.tasks.shutdown(), Expiring::default());
    for row in 0..700 {
        rig.insert(
            &table,
            (if row % 2 == 0 { "a" } else { "z" }, &row.to_string()),
        )
        .await;
    }
    rig.clock.advance(Duration::from_secs(300));
    rig.insert(&table, ("a", "young")).await;
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 0);
    // No walk is due before the oldest entity expires.
    rig.clock.advance(Duration::from_secs(299));
    let [(_, (_, due))] = expiring.0.iter().collect::<Vec<_>>()[..] else {
        panic!("one table ages");
    };
    assert!(*due > rig.service.wall_time());
    // With a longer time to live, expired entities that are not removed yet become visible again.
    rig.clock.advance(Duration::from_secs(2));
    assert_eq!(rig.listed(&table).await, ["a/young"]);
    rig.service
        .set_time_to_live(&account(), &people, seconds(900))
        .await
        .unwrap();
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 0);
    assert_eq!(rig.listed(&*rig.table("People").await).await.len(), 701);

    rig.service
        .set_time_to_live(&account(), &people, seconds(600))
        .await
        .unwrap();
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 700);
    assert_eq!(rig.stored(&table).await, 1);
    rig.service
        .set_time_to_live(&account(), &people, None)
        .await
        .unwrap();
    rig.clock.advance(Duration::from_secs(86_400));
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 0);
    assert_eq!(rig.listed(&*rig.table("People").await).await, ["a/young"]);
}

/// The wall clock decides about expiry, not the newest Timestamp. So a row that was written while the clock was ahead
/// does not make others expire.
#[tokio::test]
async fn a_row_from_the_future_does_not_make_others_expire() {
    let rig = Rig::new().await;
    let (aged, shutdown) = (rig.aged().await, rig.tasks.shutdown());
    rig.insert(&aged, ("a", "1")).await;
    let now = rig.clock.now();
    rig.clock.set_wall(now + Duration::from_secs(86_400));
    let future = rig.insert(&aged, ("a", "2")).await;
    rig.clock.set_wall(now);
    assert!(rig.insert(&aged, ("a", "3")).await.0 > future.0);
    assert_eq!(rig.listed(&aged).await, ["a/1", "a/2", "a/3"]);
    let mut expiring = Expiring::default();
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 0);
    rig.clock.advance(Duration::from_secs(601));
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 1);
    assert_eq!(rig.listed(&aged).await, ["a/2", "a/3"]);
}

#[tokio::test]
async fn a_clock_that_is_set_back_neither_ends_nor_extends_the_grace_period_of_a_dropped_table() {
    let rig = Rig::new().await;
    let now = rig.clock.now();
    rig.clock.set_wall(now + Duration::from_secs(86_400));
    let people = name("People");
    rig.service
        .truncate_table(&account(), &people)
        .await
        .unwrap();
    rig.clock.set_wall(now);
    let shutdown = rig.tasks.shutdown();
    for _ in 0..2 {
        assert!(sweep_once(&rig.service, &shutdown).await.unwrap());
        rig.clock.advance(Duration::from_secs(3));
        assert!(rig.clock.now() < now + Duration::from_secs(60));
    }
    assert!(!sweep_once(&rig.service, &shutdown).await.unwrap());
}

#[tokio::test]
async fn an_unreadable_row_does_not_block_the_expiry_of_others() {
    let rig = Rig::new().await;
    let (aged, shutdown) = (rig.aged().await, rig.tasks.shutdown());
    let people = rig.table("People").await;
    for table in [&aged, &people] {
        for keys in [("a", "1"), ("z", "2")] {
            rig.insert(table, keys).await;
        }
    }
    rig.store(aged.space.entity("b", "bad"), "\u{7f}").await;
    rig.clock.advance(Duration::from_secs(601));
    let mut expiring = Expiring::default();
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 4);
    assert_eq!(
        (rig.stored(&aged).await, rig.stored(&people).await),
        (1, 0),
        "unreadable rows stay"
    );
}

#[tokio::test]
async fn a_damaged_table_does_not_block_the_expiry_of_others() {
    let rig = Rig::new().await;
    let (aged, shutdown) = (rig.aged().await, rig.tasks.shutdown());
    let people = rig.table("People").await;
    rig.insert(&aged, ("a", "1")).await;
    rig.insert(&people, ("a", "1")).await;
    rig.damage(&aged.space);
    rig.clock.advance(Duration::from_secs(601));
    let mut expiring = Expiring::default();
    assert_eq!(expiring.round(&rig.service, &shutdown).await.unwrap(), 1);
    assert_eq!(rig.stored(&people).await, 0);
    let (_, due) = expiring.0[&aged.id];
    assert!(due > rig.service.wall_time(), "walks have a pause");
}

#[tokio::test]
async fn a_damaged_dropped_table_does_not_block_the_sweep() {
    let rig = Rig::new().await;
    let dropped = &rig.service.dropped;
    let dropped_key = |id| dropped.key(&account(), id);
    let (_, record) = dropped.row(&account(), 0, "Gone", DateTime::MIN);
    // An unreadable record, unreadable rows, and more records than one read returns.
    rig.store(dropped_key(0), "\u{7f}").await;
    for id in 1..=600 {
        rig.store(dropped_key(id), record.clone()).await;
    }
    let unread = TableSpace::new(account().as_str(), TableId(1));
    rig.store(unread.entity("p", "r"), "row").await;
    rig.damage(&unread);
    let last = TableSpace::new(account().as_str(), TableId(600));
    rig.store(last.entity("p", "r"), "row").await;

    let shutdown = rig.tasks.shutdown();
    assert!(sweep_once(&rig.service, &shutdown).await.unwrap());
    rig.clock.advance(Duration::from_secs(6));
    let left = sweep_once(&rig.service, &shutdown).await.unwrap();
    assert!(left, "two tables are retried");
    let mut stays = Vec::new();
    for id in 0..=600 {
        let key = dropped_key(id);
        if rig.service.get(&key).await.unwrap().is_some() {
            stays.push(id);
        }
    }
    assert_eq!(stays, [0, 1]);
    let row = rig.service.get(&last.entity("p", "r")).await.unwrap();
    assert_eq!(row, None);
}
