//! Targets of the Table service: what they count and refuse. A refused request changes nothing.

use super::*;
use crate::TableTargets;
use partita_rt::ManualClock;
use partita_service::{AccountLimit, BusyReason, Rates, Scope};
use std::time::{Duration, Instant, SystemTime};

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
        tenure: 0,
        epoch: Epoch(1),
        range: Arc::new(range),
    };
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let map = PartitionMap::new(vec![served]).unwrap();
    let service = service_over(map, Arc::new(clock.clone()), settings);
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

fn text_property(text: usize) -> Properties {
    let mut builder = PropertiesBuilder::new(16);
    let text = "x".repeat(text);
    builder.push("text", ValueRef::String(&text)).unwrap();
    builder.finish()
}

fn insert_row(partition: &str, row: usize) -> Change {
    Change {
        partition_key: partition.into(),
        row_key: format!("{row:06}"),
        kind: ChangeKind::Insert(text_property(10)),
        condition: Condition::None,
    }
}

fn reason(error: &Error) -> (BusyReason, u128) {
    match error {
        Error::Busy(busy) => (busy.reason, busy.retry_after.as_millis()),
        other => panic!("{other:?}"),
    }
}

impl World {
    async fn insert(&self, partition: &str, row: usize) -> Result<(), Error> {
        let change = insert_row(partition, row);
        self.service
            .change_entity(&self.table, change)
            .await
            .map(drop)
    }

    async fn batch(&self, partition: &str, rows: std::ops::Range<usize>) -> Result<(), Error> {
        let changes = rows.map(|row| insert_row(partition, row)).collect();
        let done = self.service.change_entities(&self.table, changes).await;
        done.map(drop).map_err(|failed| failed.error)
    }

    /// A page of the table.
    async fn page(
        &self,
        filter: Option<&Filter>,
        from: Option<&EntityPosition>,
    ) -> Result<Page, Error> {
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
async fn a_partition_over_its_target_does_not_affect_others() {
    let world = world(entities(10, 0, 0)).await;
    for row in 0..10 {
        world.insert("hot", row).await.unwrap();
    }
    let refused = world.insert("hot", 10).await.unwrap_err();
    assert_eq!(reason(&refused), (BusyReason::PartitionTarget, 100));
    world.insert("cool", 0).await.unwrap();
    let read = world.service.entity(&world.table, "hot", "000000").await;
    assert_eq!(reason(&read.unwrap_err()).0, BusyReason::PartitionTarget);
    // Refused requests were not charged: after a second ten more are accepted, and the eleventh is refused.
    world.pass(1_000);
    let absent = world.service.entity(&world.table, "hot", "000010").await;
    assert!(matches!(absent, Err(Error::EntityNotFound)));
    for row in 10..19 {
        world.insert("hot", row).await.unwrap();
    }
    world.insert("hot", 19).await.unwrap_err();
    let limited = world.service.storage().limited(9);
    assert_eq!(limited.len(), 1);
    let limited = &limited[0];
    assert_eq!(
        (limited.scope, limited.account(), limited.throttled),
        (Scope::Partition, "account", 3)
    );
    assert_eq!(
        (limited.table(), limited.partition_key()),
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
    // A request larger than the target: admitted if nothing was charged for a second, and leaves a debt.
    let world = self::world(entities(20, 0, 0)).await;
    world.batch("p", 0..100).await.unwrap();
    world.pass(4_000);
    let refused = world.insert("p", 100).await.unwrap_err();
    assert_eq!(reason(&refused), (BusyReason::PartitionTarget, 50));
    world.pass(50);
    world.insert("p", 100).await.unwrap();
}

#[tokio::test]
async fn the_longest_wait_of_partition_table_and_account_counts() {
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
        let change = insert_row("a", row);
        world.service.change_entity(&other, change).await.unwrap();
    }
    let refused = world
        .service
        .change_entity(&other, insert_row("b", 9))
        .await;
    let account_target = BusyReason::AccountTarget(AccountLimit::Operations);
    assert_eq!(reason(&refused.unwrap_err()), (account_target, 125));
    let scopes: Vec<Scope> = world
        .service
        .storage()
        .limited(9)
        .iter()
        .map(|one| one.scope)
        .collect();
    assert_eq!(scopes, [Scope::Table, Scope::Account]);
}

#[tokio::test]
async fn a_named_table_has_its_own_targets() {
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
async fn bytes_count_in_both_directions() {
    let settings = TargetSettings {
        account: Rates {
            entities: None,
            bytes: std::num::NonZeroU32::new(1_000),
        },
        ..TargetSettings::default()
    };
    let world = world(settings).await;
    let size = insert_row("p", 0).bytes() as u64;
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
    // A read is charged afterwards, and may leave a debt.
    for _ in 0..1_000 {
        if let Err(refused) = world.service.entity(&world.table, "p", "000000").await {
            let egress = BusyReason::AccountTarget(AccountLimit::Egress);
            assert_eq!(reason(&refused).0, egress);
            return;
        }
    }
    panic!("reads do not exceed the target");
}

#[tokio::test]
async fn a_query_is_charged_for_what_it_reads() {
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
    // Of the 1,000 rows, 500 were within the target and 500 are a debt of 2 ms each. With 2 ms for the next request,
    // that is a wait of 1,002 ms, whether the query names the partition or scans the table.
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
async fn a_page_over_its_target_ends_early_and_the_next_resumes() {
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
    let (mut from, mut rows, mut pages, mut read_rows) = (None, 0, 0, 0);
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
        read_rows += page.report.rows_read;
        assert!(page.report.rows_read <= 2_100, "{}", page.report.rows_read);
        match page.next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    assert_eq!((rows, read_rows), (30, 3_000));
    assert!(pages > 1);
}

#[tokio::test]
async fn a_query_without_results_is_charged_as_one_entity() {
    let world = world(entities(0, 3, 0)).await;
    for _ in 0..3 {
        world.page(None, None).await.unwrap();
    }
    world.page(None, None).await.map(drop).unwrap_err();
}

#[test]
fn presets_set_targets_and_the_default_sets_none() {
    assert!(TargetSettings::default().is_off());
    assert!(!TargetSettings::azure().is_off());
    assert!(!TargetSettings::classic().is_off());
}
