use super::super::{Operation, WatchEvent, conformance};
use super::*;
use partita_rt::SystemClock;

#[tokio::test]
async fn it_conforms() {
    let registry = MemoryRegistry::new(Arc::new(SystemClock));
    conformance::check(Arc::new(registry)).await;
}

async fn put(registry: &MemoryRegistry, value: &'static [u8]) -> Revision {
    let change = Operation::Put("k".to_owned(), value.into(), None);
    let transaction = Transaction {
        changes: vec![change],
        ..Transaction::default()
    };
    match registry.commit(transaction).await.unwrap() {
        Outcome::Committed(revision) => revision,
        Outcome::Refused(_) => unreachable!("no condition"),
    }
}

#[tokio::test]
async fn a_watch_from_before_a_compaction_ends() {
    let registry = MemoryRegistry::new(Arc::new(SystemClock));
    let first = put(&registry, b"1").await;
    let second = put(&registry, b"2").await;
    registry.compact(first);
    let mut late = registry.watch("", first).await.unwrap();
    assert_eq!(late.next().await, WatchEvent::Compacted);
    let mut in_time = registry.watch("", second).await.unwrap();
    assert!(matches!(in_time.next().await, WatchEvent::Changed(_, changes) if changes.len() == 1));
}

#[tokio::test]
async fn a_lost_connection_ends_watches_and_refuses_calls() {
    let registry = MemoryRegistry::new(Arc::new(SystemClock));
    let mut watch = registry.watch("", Revision(1)).await.unwrap();
    registry.set_unreachable(true);
    assert_eq!(watch.next().await, WatchEvent::Lost);
    let refused = registry.get("k").await.unwrap_err();
    assert!(matches!(refused, RegistryError::Unavailable(_)));
    registry.set_unreachable(false);
    registry.get("k").await.unwrap();
}
