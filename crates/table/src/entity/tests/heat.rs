//! The heat that requests produce, with a manual clock.

use super::*;
use partita_heat::Window;
use partita_rt::ManualClock;
use std::pin::pin;
use std::task::Waker;
use std::time::{Duration, Instant, SystemTime};

/// A service of one range.
fn service_by(clock: &ManualClock) -> Service {
    let (bounds, engine) = (Bounds::all(), Arc::new(MemoryEngine::new()));
    let range = Range::new(RangeId(1), bounds, engine, Arc::default());
    let served = Served {
        tenure: 0,
        epoch: Epoch(1),
        range: Arc::new(range),
    };
    let map = PartitionMap::new(vec![served]).unwrap();
    service_over(map, Arc::new(clock.clone()), TargetSettings::default())
}

fn clock() -> ManualClock {
    ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000))
}

/// The counts since the last call.
fn window(service: &Service) -> Window {
    let range = service.route(&bytes::Bytes::new()).unwrap().range;
    range.heat().roll(Instant::now())
}

/// Polls a request until it waits.
fn begin<F: Future>(request: std::pin::Pin<&mut F>) {
    let mut context = std::task::Context::from_waker(Waker::noop());
    assert!(request.poll(&mut context).is_pending());
}

/// Failed writes are counted, because they cost locks and reads.
#[tokio::test]
async fn writes_with_failed_conditions_are_counted() {
    let service = service_by(&clock());
    let table = table(&service).await;
    let there = insert(("p", "r"), 1);
    service.change_entity(&table, there.clone()).await.unwrap();
    let first = window(&service);
    assert_eq!((first.counts.writes, first.counts.rows_written), (1, 1));

    let replace = |keys, condition| change(keys, ChangeKind::Replace(properties(2)), condition);
    for fails in [
        there.clone(),
        replace(("p", "r"), Condition::NoVersion),
        replace(("p", "absent"), Condition::Exists),
    ] {
        service.change_entity(&table, fails).await.unwrap_err();
    }
    let transaction = vec![insert(("p", "new"), 1), there];
    let failed = service.change_entities(&table, transaction).await;
    assert_eq!(failed.unwrap_err().index, 1);
    let Window {
        counts,
        latency,
        partitions,
        ..
    } = window(&service);
    assert_eq!((counts.writes, counts.rows_written), (4, 0));
    assert_eq!((counts.reads, counts.bytes_in, counts.bytes_out), (0, 0, 0));
    assert_eq!(latency.count(), 4);
    assert_eq!(partitions.len(), 1, "the partition is among the hottest");
    // The refused writes have released their locks.
    let again = insert(("p", "new"), 1);
    service.change_entity(&table, again).await.unwrap();
}

/// The latency of a write includes its waiting time.
#[tokio::test]
async fn the_latency_of_a_write_is_measured_from_its_arrival() {
    let clock = clock();
    let service = service_by(&clock);
    let table = table(&service).await;
    let key = table.space.entity("p", "r");
    let assert_latency = |expected: f64, problem: &str| {
        let latency = Duration::from_micros(window(&service).latency.percentile_us(99));
        assert!((latency.as_secs_f64() - expected).abs() < 0.1, "{problem}");
    };

    let mut write = pin!(service.change_entity(&table, insert(("p", "r"), 1)));
    let other = service.lock(std::slice::from_ref(&key)).await.unwrap();
    begin(write.as_mut());
    clock.advance(Duration::from_secs(2));
    drop(other);
    write.await.unwrap();
    assert_latency(2.0, "the latency includes the wait for the row's lock");

    let changes = vec![insert(("p", "a"), 1), insert(("p", "b"), 1)];
    let mut write = pin!(service.change_entities(&table, changes));
    let queue = &service.storage().admission.writes;
    let all = queue.enter(&key, u64::MAX).await.unwrap();
    begin(write.as_mut());
    clock.advance(Duration::from_secs(3));
    drop(all);
    write.await.unwrap();
    assert_latency(3.0, "the latency includes the wait for admission");

    // An insert that fails, because the entity exists.
    let mut write = pin!(service.change_entity(&table, insert(("p", "r"), 1)));
    let all = queue.enter(&key, u64::MAX).await.unwrap();
    begin(write.as_mut());
    clock.advance(Duration::from_secs(4));
    drop(all);
    write.await.unwrap_err();
    assert_latency(
        4.0,
        "the latency of a refused request includes the wait for admission",
    );
}

/// The heat counts the bytes of keys and stored forms, as `docs/admin-api.md` says.
#[tokio::test]
async fn bytes_are_those_of_keys_and_stored_rows() {
    let service = service_by(&clock());
    let table = table(&service).await;
    let changed = service
        .change_entity(&table, insert(("p", "r"), 1))
        .await
        .unwrap();
    let row = (changed.key.len() + changed.value.unwrap().len()) as u64;
    let bytes = || {
        let counts = window(&service).counts;
        (counts.bytes_in, counts.bytes_out)
    };
    assert_eq!(bytes(), (row, 0));
    service.entity(&table, "p", "r").await.unwrap();
    assert_eq!(bytes(), (0, row));
    // A filter that rejects all rows: the row is still counted as read.
    let filter = Filter::Compare {
        property: Property::Named("n".into()),
        op: Comparison::Equal,
        literal: Value::Int32(7),
    };
    let query = Query {
        filter: Some(&filter),
        top: 10,
        from: None,
        allowed: None,
        row_bytes_more: 0,
    };
    let page = service.query_entities(&table, query).await.unwrap();
    assert_eq!(page.rows.len(), 0);
    assert_eq!(bytes(), (0, row));
    let delete = change(("p", "r"), ChangeKind::Delete, Condition::Exists);
    service.change_entity(&table, delete).await.unwrap();
    assert_eq!(bytes(), (changed.key.len() as u64, 0));
}
