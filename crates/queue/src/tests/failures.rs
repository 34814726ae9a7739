//! Failed commits: nothing is acknowledged, and memory follows the store.

use super::{Rig, SECOND, texts};
use crate::{Error, PutMessage};
use bytes::Bytes;
use partita_engine::Batch;
use partita_engine::memory::Fault;
use std::time::Duration;

fn message(text: &'static str) -> PutMessage {
    PutMessage {
        text: Bytes::from_static(text.as_bytes()),
        visibility_timeout: Duration::ZERO,
        time_to_live: None,
    }
}

/// Fails the next commit.
fn fail_once(rig: &Rig, fault: Fault) {
    let mut fault = Some(fault);
    rig.engine.faults().of_writes(move |_| fault.take());
}

#[tokio::test]
async fn a_refused_receive_hides_nothing() {
    let rig = Rig::new().await;
    rig.put("a").await;
    fail_once(&rig, Fault::Refused);
    let refused = rig.service.get_messages(&rig.queue, 1, 30 * SECOND).await;
    assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
    let got = rig.get(1).await;
    assert_eq!((texts(&got), got[0].dequeue_count), (vec!["a"], 1));
}

#[tokio::test]
async fn a_put_with_an_unknown_outcome_is_there_or_not() {
    for fault in [Fault::Unanswered, Fault::Lost] {
        let rig = Rig::new().await;
        rig.put("a").await;
        fail_once(&rig, fault);
        let unknown = rig.service.put_message(&rig.queue, message("b")).await;
        assert!(matches!(unknown, Err(Error::OutcomeUnknown)), "{unknown:?}");
        rig.put("c").await;
        let expected: &[&str] = match fault {
            Fault::Unanswered => &["a", "b", "c"],
            _ => &["a", "c"],
        };
        assert_eq!(texts(&rig.get(32).await), expected);
        assert_eq!(rig.count().await, expected.len() as u64);
    }
}

#[tokio::test]
async fn a_second_service_on_the_same_rows_is_noticed() {
    let mut rig = Rig::new().await;
    rig.put("a").await;
    let first = std::sync::Arc::clone(&rig.service);
    rig.restart();
    assert_eq!(texts(&rig.get(1).await), ["a"]);
    rig.put("b").await;
    // The first service has a state in memory in which `a` is visible and `b` does not exist.
    let got = first.get_messages(&rig.queue, 32, SECOND).await.unwrap();
    assert_eq!(texts(&got), ["b"]);
}

/// The read of the next messages fails in the middle, behind a hidden one.
#[tokio::test]
async fn a_failed_read_hides_no_later_message() {
    let mut rig = Rig::new().await;
    rig.put("visible").await;
    rig.put_with("hidden", 30 * SECOND, None).await;
    let damaged = rig.put_with("damaged", 60 * SECOND, None).await;
    let key = rig.queue.space.message(damaged.receipt.position());
    let locked = rig.service.storage().lock(std::slice::from_ref(&key)).await;
    let mut batch = Batch::new();
    batch.put(key, Bytes::from_static(b"?"));
    locked.unwrap().commit(batch).await.unwrap();
    rig.restart();
    let failed = rig.service.get_messages(&rig.queue, 1, SECOND).await;
    assert!(matches!(failed, Err(Error::Corrupt(_))), "{failed:?}");
    rig.put("new").await;
    let _ = rig.service.get_messages(&rig.queue, 1, SECOND).await;
    assert_eq!(texts(&rig.peek(32).await).last(), Some(&"new"));
}
