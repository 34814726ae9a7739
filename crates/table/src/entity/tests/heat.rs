//! What the heat of a range sees of requests, on a clock that stands.

use super::*;
use partita_range::heat::Window;
use partita_rt::ManualClock;
use std::time::{Duration, Instant, SystemTime};

/// A service of one range.
fn service_by(clock: &ManualClock) -> Service {
    let (bounds, engine) = (Bounds::all(), Arc::new(MemoryEngine::new()));
    let range = Range::new(RangeId(1), bounds, engine, Arc::default());
    let served = Served {
        epoch: Epoch(1),
        range: Arc::new(range),
    };
    let map = PartitionMap::new(vec![served]).unwrap();
    let settings = ServiceSettings::default();
    Service::new(Arc::new(map), Arc::new(clock.clone()), settings)
}

fn clock() -> ManualClock {
    ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000))
}

/// What was counted since the last time.
fn window(service: &Service) -> Window {
    let range = service.route(&bytes::Bytes::new()).range;
    range.heat().roll(Instant::now())
}

/// `docs/admin-api.md`: keys and stored forms.
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
    // A filter that lets nothing pass: the row was read.
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
