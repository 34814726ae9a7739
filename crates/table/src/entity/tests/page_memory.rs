//! Pages of queries within the memory budget.

use super::*;
use partita_service::BusyReason;

/// Bytes of a large row: more than a page may take without a reservation.
const ROW_BYTES: usize = 30_000;

const ROWS: usize = 10;

/// A partition `large` with large rows, and a partition `small` with one small row.
async fn filled(memory: &Arc<MemoryBudget>) -> (Service, Arc<Table>) {
    let (map, clock) = (map_split_at(Vec::new()), Arc::new(SystemClock));
    let service = service_in(Arc::clone(memory), map, clock, TargetSettings::default());
    let table = table(&service).await;
    for row in 0..ROWS {
        let mut builder = PropertiesBuilder::new(16);
        builder
            .push("a", ValueRef::String(&"a".repeat(ROW_BYTES)))
            .unwrap();
        let (row, kind) = (row.to_string(), ChangeKind::Insert(builder.finish()));
        let inserted = change(("large", &row), kind, Condition::None);
        service.change_entity(&table, inserted).await.unwrap();
    }
    let inserted = service.change_entity(&table, insert(("small", "r"), 0));
    inserted.await.unwrap();
    (service, table)
}

#[tokio::test]
async fn a_page_ends_early_when_no_memory_is_left() {
    let memory = MemoryBudget::new(192 << 10);
    let (service, table) = filled(&memory).await;
    let all = || service.query_entities(&table, page_query(None, 1000, None));
    let first = all().await.unwrap();
    assert_eq!(first.rows.len(), (192 << 10) / ROW_BYTES);
    assert_eq!(memory.bytes(), 192 << 10);

    // The first row is large and finds no memory, so the page is refused.
    let Err(Error::Busy(busy)) = all().await else {
        panic!("the page was read without memory");
    };
    assert_eq!(busy.reason, BusyReason::Memory);
    let small = EntityRange {
        start: EntityBound::Before("small".into(), String::new()),
        end: EntityBound::After("small".into(), "r".into()),
    };
    let query = Query {
        allowed: Some(&small),
        ..page_query(None, 1000, None)
    };
    let page = service.query_entities(&table, query).await.unwrap();
    assert_eq!(page.rows.len(), 1, "small rows need none");

    let (rows, next) = (first.rows.len(), first.next.clone());
    drop(first);
    assert_eq!(memory.bytes(), 0);
    let query = page_query(None, 1000, next.as_ref());
    let second = service.query_entities(&table, query).await.unwrap();
    assert_eq!((rows + second.rows.len(), second.next), (ROWS + 1, None));
}
