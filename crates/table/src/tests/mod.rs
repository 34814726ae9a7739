//! Services of several servers, each with a part of the ranges, in virtual time.

mod background;
mod catalog_changes;
mod pages;

use crate::{
    Change, ChangeKind, Changed, Condition, Error, Query, Service, ServiceSettings, Table,
    TargetSettings,
};
use bytes::Bytes;
use partita_model::{
    AccountName, EntityPosition, Filter, KeyKind, Properties, PropertiesBuilder, ServiceProperties,
    TableName, TimeToLive, ValueRef,
};
use partita_range::Bounds;
use partita_rt::{Clock, TokioClock};
use partita_service::BusyReason;
use partita_service::testing::{FarFault, TestRange, TestServers};
use std::sync::Arc;
use std::time::Duration;

fn account() -> AccountName {
    AccountName::new("account").unwrap()
}

fn name(text: &str) -> TableName {
    TableName::new(text).unwrap()
}

fn properties(value: i32) -> Properties {
    let mut builder = PropertiesBuilder::new(16);
    builder.push("n", ValueRef::Int32(value)).unwrap();
    builder.finish()
}

fn is_in_transit<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Busy(busy)) if busy.reason == BusyReason::RangeInTransit)
}

/// A server that has the catalog only, and two that have the rest. The table `People` is cut before its partitions `m`
/// and `t`: the first of the two has its beginning and its end.
struct Rig {
    servers: Arc<TestServers>,
    catalog: TestRange,
    home: Arc<Service>,
    others: [Arc<Service>; 2],
}

impl Rig {
    async fn new() -> Self {
        let servers = TestServers::new();
        let rows_start = KeyKind::ENTITY.start();
        let catalog = TestRange {
            bounds: Bounds {
                start: Bytes::new(),
                end: Some(rows_start.clone()),
            },
            engine: Arc::default(),
        };
        let home = start(&servers, &[&catalog]);
        home.create_table(&account(), &name("People"))
            .await
            .unwrap();
        let people = home.table(&account(), &name("People")).await.unwrap();
        let cuts = ["m", "t"].map(|partition| people.space.partition(partition));
        let [m, t] = cuts;
        let ranges = TestRange::cut_at(&[rows_start, m, t]);
        let [_, a, m, t] = &ranges[..] else {
            panic!("four ranges");
        };
        let others = [start(&servers, &[a, t]), start(&servers, &[m])];
        Self {
            servers,
            catalog,
            home,
            others,
        }
    }

    /// Another server takes over the catalog.
    fn move_catalog(&mut self) {
        self.home = start(&self.servers, &[&self.catalog]);
        self.home.storage().catalog_taken_over();
    }

    /// The service that has a key.
    fn of(&self, key: &Bytes) -> &Service {
        let all = self.others.iter().chain([&self.home]);
        let mut all = all.filter(|service| service.storage().is_here(key));
        all.next().expect("each key has a server")
    }

    async fn change(
        &self,
        table: &Table,
        keys: (&str, &str),
        kind: ChangeKind,
    ) -> Result<Changed, Error> {
        let service = self.of(&table.space.entity(keys.0, keys.1));
        service.change_entity(table, change(keys, kind)).await
    }

    async fn insert(&self, table: &Table, keys: (&str, &str)) {
        let kind = ChangeKind::Insert(properties(1));
        self.change(table, keys, kind).await.unwrap();
    }

    /// The keys that a query returns, page by page, each from the server that has the place of the query.
    async fn listed(&self, table: &Table, filter: Option<&Filter>, top: usize) -> Vec<String> {
        let (mut listed, mut from) = (Vec::new(), None::<EntityPosition>);
        loop {
            let query = Query {
                filter,
                top,
                from: from.as_ref(),
                allowed: None,
                row_bytes_more: 0,
            };
            let service = self.of(&Service::place_of_query(table, &query));
            let page = service.query_entities(table, query).await.unwrap();
            for row in &page.rows {
                let entity = row.entity(&table.space).unwrap();
                listed.push(format!("{}/{}", entity.partition_key, entity.row_key));
            }
            match page.next {
                Some(next) => from = Some(next),
                None => return listed,
            }
        }
    }
}

fn start(servers: &Arc<TestServers>, ranges: &[&TestRange]) -> Arc<Service> {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::with_rate(1.0));
    let storage = servers.start(ranges, clock);
    let settings = ServiceSettings {
        drop_grace: Duration::from_secs(5),
        ..ServiceSettings::default()
    };
    let service = Service::new(storage, settings, TargetSettings::default());
    Arc::new(service)
}

fn change(keys: (&str, &str), kind: ChangeKind) -> Change {
    let condition = match kind {
        ChangeKind::Delete => Condition::Exists,
        _ => Condition::None,
    };
    Change {
        partition_key: keys.0.into(),
        row_key: keys.1.into(),
        kind,
        condition,
    }
}

#[tokio::test(start_paused = true)]
async fn each_operation_on_entities_works_where_the_catalog_is_far() {
    let rig = Rig::new().await;
    for (partition, service) in [
        ("a", &rig.others[0]),
        ("m", &rig.others[1]),
        ("z", &rig.others[0]),
    ] {
        let table = service.table(&account(), &name("people")).await.unwrap();
        let keys = (partition, "1");
        for kind in [
            ChangeKind::Insert(properties(1)),
            ChangeKind::Merge(properties(2)),
            ChangeKind::Replace(properties(3)),
        ] {
            let changed = service.change_entity(&table, change(keys, kind)).await;
            assert!(changed.unwrap().etag.is_some());
        }
        let batch =
            ["2", "3"].map(|row| change((partition, row), ChangeKind::Insert(properties(1))));
        let changed = service.change_entities(&table, batch.into()).await;
        assert_eq!(changed.unwrap().len(), 2);
        let row = service.entity(&table, partition, "1").await.unwrap();
        let entity = row.entity(&table.space).unwrap();
        assert_eq!(entity.stored.get("n").unwrap(), Some(ValueRef::Int32(3)));
        let delete = change(keys, ChangeKind::Delete);
        service.change_entity(&table, delete).await.unwrap();
        let gone = service.entity(&table, partition, "1").await;
        assert!(matches!(gone, Err(Error::EntityNotFound)), "{gone:?}");
    }
    let table = rig.home.table(&account(), &name("People")).await.unwrap();
    let listed = rig.listed(&table, None, 1000).await;
    assert_eq!(listed, ["a/2", "a/3", "m/2", "m/3", "z/2", "z/3"]);
    let missing = rig.others[0].table(&account(), &name("missing")).await;
    assert!(matches!(missing, Err(Error::TableNotFound)), "{missing:?}");
    // An entity of another server is not read through this one.
    let elsewhere = rig.others[1].entity(&table, "a", "2").await;
    assert!(is_in_transit(&elsewhere), "{elsewhere:?}");
}

#[tokio::test(start_paused = true)]
async fn listings_and_properties_are_read_from_any_server() {
    let rig = Rig::new().await;
    for number in 0..300 {
        let table = name(&format!("t{number:03}"));
        rig.home.create_table(&account(), &table).await.unwrap();
    }
    let change = |properties: &mut ServiceProperties| properties.logging.read = true;
    let (account, people) = (account(), name("People"));
    let properties = rig.home.properties();
    properties.change(&account, change).await.unwrap();
    for service in rig.others.iter().chain([&rig.home]) {
        let page = service.query_tables(&account, None, 299, Some("t"));
        let page = page.await.unwrap();
        assert_eq!((page.names.len(), page.names[298].as_str()), (299, "t298"));
        assert_eq!(page.next.unwrap().folded, "t299");
        let (mut tables, names) = (0, service.table_names().await.unwrap());
        let counting = service.each_table(|_, _| {
            tables += 1;
            true
        });
        counting.await.unwrap();
        assert_eq!((tables, names.find(None, "T007").len()), (301, 1));
        let properties = service.properties().get(&account).await.unwrap();
        assert!(properties.logging.read);
        let start = service.partition_start(&account, &people, "m");
        assert!(start.await.is_ok());
    }
    rig.servers.set_fault(Some(FarFault::Unreachable));
    let failed = rig.others[0].query_tables(&account, None, 1, None).await;
    assert!(is_in_transit(&failed), "{failed:?}");
    rig.home.table_names().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn operations_on_tables_are_executed_only_where_the_catalog_is() {
    let rig = Rig::new().await;
    assert!(rig.home.storage().is_here(&Service::place_of_catalog()));
    let (account, people, ttl) = (account(), name("People"), TimeToLive::from_seconds(9));
    for service in &rig.others {
        let properties = service.properties().change(&account, |_| ()).await;
        for refused in [
            service.create_table(&account, &name("New")).await,
            service.delete_table(&account, &people).await,
            service.truncate_table(&account, &people).await,
            service.rename_table(&account, &people, &name("New")).await,
            service.set_access_policies(&account, &people, &[]).await,
            service.set_time_to_live(&account, &people, ttl.ok()).await,
            properties.map_err(Error::from),
        ] {
            assert!(is_in_transit(&refused), "{refused:?}");
        }
    }
    rig.home.table(&account, &people).await.unwrap();
}
