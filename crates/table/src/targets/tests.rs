//! Targets as the table service keeps them: what counts, what is refused, and that nothing is done then.

use super::buckets::Buckets;
use super::*;
use crate::{Change, ChangeKind, Condition, Query, Service, ServiceSettings};
use partita_cluster::{Epoch, PartitionMap, Served};
use partita_engine::memory::MemoryEngine;
use partita_model::{
    AccountName, Comparison, EntityPosition, Filter, Properties, PropertiesBuilder, Property,
    TableName, Value, ValueRef,
};
use partita_range::{Bounds, Range, RangeId};
use partita_rt::ManualClock;
use std::sync::Arc;
use std::time::SystemTime;

/// A service with targets, its clock and a table.
struct World {
    service: Service,
    clock: ManualClock,
    table: Arc<Table>,
}

async fn world(settings: TargetSettings) -> World {
    let range = Range::new(
        RangeId(1),
        Bounds::all(),
        Arc::new(MemoryEngine::new()),
        Arc::default(),
    );
    let served = Served {
        epoch: Epoch(1),
        range: Arc::new(range),
    };
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let service = Service::new(
        Arc::new(PartitionMap::new(vec![served]).unwrap()),
        Arc::new(clock.clone()),
        ServiceSettings::default(),
    );
    let service = service.with_targets(settings);
    let (account, name) = (
        AccountName::new("account").unwrap(),
        TableName::new("People").unwrap(),
    );
    service.create_table(&account, &name).await.unwrap();
    let table = service.table(&account, &name).await.unwrap();
    World {
        service,
        clock,
        table,
    }
}

fn properties(text: usize) -> Properties {
    let mut builder = PropertiesBuilder::new(16);
    let text = "x".repeat(text);
    builder.push("text", ValueRef::String(&text)).unwrap();
    builder.finish()
}

fn insert(partition: &str, row: usize) -> Change {
    Change {
        partition_key: partition.into(),
        row_key: format!("{row:06}"),
        kind: ChangeKind::Insert(properties(10)),
        condition: Condition::None,
    }
}

fn reason(error: &Error) -> (BusyReason, u128) {
    match error {
        Error::Busy {
            reason,
            retry_after,
            ..
        } => (*reason, retry_after.as_millis()),
        other => panic!("{other:?}"),
    }
}

impl World {
    async fn insert(&self, partition: &str, row: usize) -> Result<(), Error> {
        let change = insert(partition, row);
        self.service
            .change_entity(&self.table, change)
            .await
            .map(drop)
    }

    async fn batch(&self, partition: &str, rows: std::ops::Range<usize>) -> Result<(), Error> {
        let changes = rows.map(|row| insert(partition, row)).collect();
        let done = self.service.change_entities(&self.table, changes).await;
        done.map(drop).map_err(|failed| failed.error)
    }

    /// A page: rows on it, rows looked at, whether there is more.
    async fn page(
        &self,
        filter: Option<&Filter>,
        from: Option<&EntityPosition>,
    ) -> Result<crate::Page, Error> {
        let query = Query {
            filter,
            top: 1_000,
            from,
            allowed: None,
            row_bytes_more: 0,
        };
        self.service.query_entities(&self.table, query).await
    }

    fn pass(&self, milliseconds: u64) {
        self.clock.advance(Duration::from_millis(milliseconds));
    }
}

const fn entities(partition: u32, table: u32, account: u32) -> TargetSettings {
    TargetSettings {
        tables: TableTargets {
            partition: Rates::entities(partition),
            table: Rates::entities(table),
        },
        account: Rates::entities(account),
        named: std::collections::BTreeMap::new(),
    }
}

#[tokio::test]
async fn a_partition_over_its_target_is_refused_alone_and_nothing_is_done() {
    let world = world(entities(10, 0, 0)).await;
    for row in 0..10 {
        world.insert("hot", row).await.unwrap();
    }
    let refused = world.insert("hot", 10).await.unwrap_err();
    assert_eq!(reason(&refused), (BusyReason::PartitionTarget, 100));
    world.insert("cool", 0).await.unwrap();
    let read = world.service.entity(&world.table, "hot", "000000").await;
    assert_eq!(reason(&read.unwrap_err()).0, BusyReason::PartitionTarget);
    // What was refused took nothing: ten more after a second, and no eleventh.
    world.pass(1_000);
    let absent = world.service.entity(&world.table, "hot", "000010").await;
    assert!(matches!(absent, Err(Error::EntityNotFound)));
    for row in 10..19 {
        world.insert("hot", row).await.unwrap();
    }
    world.insert("hot", 19).await.unwrap_err();
    let limited = world.service.limited(9);
    assert_eq!(limited.len(), 1);
    let Limited {
        scope,
        account,
        table,
        partition_key,
        throttled,
    } = &limited[0];
    assert_eq!(
        (*scope, account.as_str(), *throttled),
        (Scope::Partition, "account", 3)
    );
    assert_eq!(
        (table.as_deref(), partition_key.as_deref()),
        (Some("People"), Some("hot"))
    );
    let window = world.service.map().ranges()[0]
        .range
        .heat()
        .roll(Instant::now());
    assert_eq!(window.counts.throttled, 3);
}

#[tokio::test]
async fn each_entity_of_a_transaction_counts() {
    let world = world(entities(150, 0, 0)).await;
    world.batch("p", 0..100).await.unwrap();
    let refused = world.batch("p", 100..200).await.unwrap_err();
    assert_eq!(reason(&refused).0, BusyReason::PartitionTarget);
    world.batch("p", 100..150).await.unwrap();
    // Larger than the target: let in when nothing was taken for a second, and paid off after.
    let world = self::world(entities(20, 0, 0)).await;
    world.batch("p", 0..100).await.unwrap();
    world.pass(4_000);
    let refused = world.insert("p", 100).await.unwrap_err();
    assert_eq!(reason(&refused), (BusyReason::PartitionTarget, 50));
    world.pass(50);
    world.insert("p", 100).await.unwrap();
}

#[tokio::test]
async fn table_and_account_have_targets_of_their_own_and_the_longest_wait_is_told() {
    let world = world(entities(4, 6, 8)).await;
    for row in 0..3 {
        world.insert("a", row).await.unwrap();
        world.insert("b", row).await.unwrap();
    }
    assert_eq!(
        reason(&world.insert("a", 9).await.unwrap_err()).0,
        BusyReason::TableTarget
    );
    let account = AccountName::new("account").unwrap();
    let name = TableName::new("Other").unwrap();
    world.service.create_table(&account, &name).await.unwrap();
    let other = world.service.table(&account, &name).await.unwrap();
    for row in 0..2 {
        let change = insert("a", row);
        world.service.change_entity(&other, change).await.unwrap();
    }
    let refused = world.service.change_entity(&other, insert("b", 9)).await;
    let account_target = BusyReason::AccountTarget(AccountLimit::Operations);
    assert_eq!(reason(&refused.unwrap_err()), (account_target, 125));
    let scopes: Vec<Scope> = world
        .service
        .limited(9)
        .iter()
        .map(|one| one.scope)
        .collect();
    assert_eq!(scopes, [Scope::Table, Scope::Account]);
}

#[tokio::test]
async fn a_named_table_has_its_own() {
    let mut settings = entities(1_000, 0, 0);
    let few = TableTargets {
        partition: Rates::entities(2),
        table: Rates::default(),
    };
    settings.named.insert("people".into(), few);
    let world = world(settings).await;
    world.batch("p", 0..2).await.unwrap();
    world.insert("p", 2).await.unwrap_err();
}

#[tokio::test]
async fn bytes_count_too_in_both_directions() {
    let settings = TargetSettings {
        account: Rates {
            entities: None,
            bytes: std::num::NonZeroU32::new(1_000),
        },
        ..TargetSettings::default()
    };
    let world = world(settings).await;
    let size = insert("p", 0).bytes() as u64;
    let fit = usize::try_from(1_000 / size).unwrap();
    for row in 0..fit {
        world.insert("p", row).await.unwrap();
    }
    let ingress = BusyReason::AccountTarget(AccountLimit::Ingress);
    assert_eq!(
        reason(&world.insert("p", fit).await.unwrap_err()).0,
        ingress
    );
    world.pass(1_000);
    // A read is let in first and pays after, with what it left as a debt.
    for _ in 0..1_000 {
        if let Err(refused) = world.service.entity(&world.table, "p", "000000").await {
            let egress = BusyReason::AccountTarget(AccountLimit::Egress);
            assert_eq!(reason(&refused).0, egress);
            return;
        }
    }
    panic!("reads are never over");
}

#[tokio::test]
async fn a_query_pays_for_what_it_looks_at() {
    let world = world(entities(500, 0, 0)).await;
    for start in (0..1_000).step_by(500) {
        for batch in (start..start + 500).step_by(100) {
            world.batch("p", batch..batch + 100).await.unwrap();
        }
        world.pass(1_000);
    }
    let nothing = Filter::Compare {
        property: Property::Named("text".into()),
        op: Comparison::Equal,
        literal: Value::String("none".into()),
    };
    let page = world.page(Some(&nothing), None).await.unwrap();
    assert_eq!((page.rows.len(), page.report.rows_read), (0, 1_000));
    // 500 were there, 500 are owed: two milliseconds each, and one more for the next.
    // Whether the query names the partition or comes to it.
    let named = Filter::Compare {
        property: Property::PartitionKey,
        op: Comparison::Equal,
        literal: Value::String("p".into()),
    };
    for filter in [Some(&named), None] {
        let refused = world.page(filter, None).await.map(drop).unwrap_err();
        assert_eq!(reason(&refused), (BusyReason::PartitionTarget, 1_002));
    }
    world.pass(1_002);
    let page = world.page(None, None).await.unwrap();
    assert_eq!((page.rows.len(), page.next), (1_000, None));
}

#[tokio::test]
async fn a_page_over_its_target_ends_early_and_goes_on_where_it_ended() {
    let world = world(entities(0, 1_000, 0)).await;
    for partition in 0..30 {
        world
            .batch(&format!("{partition:02}"), 0..100)
            .await
            .unwrap();
        world.pass(100);
    }
    world.pass(1_000);
    let last = Filter::Compare {
        property: Property::RowKey,
        op: Comparison::Equal,
        literal: Value::String("000099".into()),
    };
    let (mut from, mut rows, mut pages, mut looked_at) = (None, 0, 0, 0);
    loop {
        let page = match world.page(Some(&last), from.as_ref()).await {
            Ok(page) => page,
            Err(refused) => {
                assert_eq!(reason(&refused).0, BusyReason::TableTarget);
                world.pass(100);
                continue;
            }
        };
        (rows, pages) = (rows + page.rows.len(), pages + 1);
        looked_at += page.report.rows_read;
        assert!(page.report.rows_read <= 2_100, "{}", page.report.rows_read);
        match page.next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    assert_eq!((rows, looked_at), (30, 3_000));
    assert!(pages > 1);
}

#[tokio::test]
async fn a_query_that_finds_nothing_counts_one() {
    let world = world(entities(0, 3, 0)).await;
    for _ in 0..3 {
        world.page(None, None).await.unwrap();
    }
    world.page(None, None).await.map(drop).unwrap_err();
}

#[test]
fn without_targets_there_is_nothing() {
    assert!(Targets::new(TargetSettings::default(), Instant::now()).is_none());
    assert!(Targets::new(TargetSettings::azure(), Instant::now()).is_some());
}

#[test]
fn the_hot_ones_are_remembered_past_the_bound() {
    const SECOND: u64 = 1_000_000_000;
    let (rates, one) = (
        Rates::entities(100),
        Cost {
            entities: 1,
            bytes: 0,
        },
    );
    let mut buckets = Buckets::new(100);
    let mut hot = 0;
    for step in 0..10_000 {
        // A stranger every 100 us, and the hot one each time it may.
        let now = step * 100_000;
        buckets.take(1_000 + step, rates, now, one);
        if buckets.wait(7, rates, now, one).0 == 0 {
            buckets.take(7, rates, now, one);
            hot += 1;
        }
        assert!(buckets.len() <= 100);
    }
    assert!(
        (100..=201).contains(&hot),
        "a second's burst and a second's rate: {hot}"
    );
    // All that was full a second ago goes as others come.
    for step in 0..100 {
        buckets.take(step, rates, 5 * SECOND, one);
    }
    assert!(buckets.len() <= 100);
}

#[test]
fn full_buckets_go_as_others_come() {
    let (rates, one) = (
        Rates::entities(1_000),
        Cost {
            entities: 1,
            bytes: 0,
        },
    );
    let mut buckets = Buckets::new(10_000);
    for step in 0..10_000 {
        // Full again after a millisecond.
        buckets.take(step, rates, step * 100_000, one);
    }
    assert!(buckets.len() < 100, "{}", buckets.len());
}
