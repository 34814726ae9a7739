//! Messages: order, receipts, visibility, expiry, long texts, waiting.

use super::{Rig, SECOND, texts, to_ref};
use crate::{Error, MessageRef};
use partita_service::{MemoryBudget, Reserved};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn messages_are_received_in_order_and_removed_by_their_receipt() {
    let rig = Rig::new().await;
    for text in ["a", "b", "c"] {
        rig.put(text).await;
    }
    let got = rig.get(2).await;
    assert_eq!(texts(&got), ["a", "b"]);
    assert_eq!(got[0].dequeue_count, 1);
    assert_eq!(texts(&rig.peek(32).await), ["c"]);
    assert_eq!(rig.count().await, 3);
    rig.delete(&got[0]).await.unwrap();
    assert!(matches!(
        rig.delete(&got[0]).await,
        Err(Error::MessageNotFound)
    ));
    assert_eq!(rig.count().await, 2);
    rig.delete(&got[1]).await.unwrap();
    assert_eq!(texts(&rig.get(32).await), ["c"]);
    assert!(rig.get(32).await.is_empty());
}

#[tokio::test]
async fn a_message_that_was_not_deleted_comes_back() {
    let rig = Rig::new().await;
    rig.put("a").await;
    let first = rig.get(1).await.remove(0);
    rig.clock.advance(29 * SECOND);
    assert!(rig.get(1).await.is_empty());
    rig.clock.advance(SECOND);
    // Visible again, and no request has received it: the receipt is still valid.
    assert_eq!(texts(&rig.peek(1).await), ["a"]);
    let hidden = rig.update(&first, 10 * SECOND, None).await.unwrap();
    rig.clock.advance(10 * SECOND);
    let second = rig.get(1).await.remove(0);
    assert_eq!((second.id, second.dequeue_count), (first.id, 2));
    for stale in [&first, &hidden] {
        let deleted = rig.delete(stale).await;
        assert!(matches!(deleted, Err(Error::MessageNotFound)), "{stale:?}");
    }
    rig.delete(&second).await.unwrap();
    assert_eq!((rig.count().await, rig.rows().await), (0, 1));
}

#[tokio::test]
async fn the_receipt_of_a_put_is_valid_until_the_message_is_received() {
    let rig = Rig::new().await;
    let put = rig.put("a").await;
    let updated = rig.update(&put, Duration::ZERO, Some("b")).await.unwrap();
    assert_eq!((updated.id, updated.dequeue_count), (put.id, 0));
    assert!(rig.delete(&put).await.is_err());
    let got = rig.get(1).await.remove(0);
    assert_eq!(&got.text[..], b"b");
    assert!(rig.delete(&updated).await.is_err());
    rig.delete(&got).await.unwrap();
}

#[tokio::test]
async fn a_receipt_of_another_message_is_refused() {
    let rig = Rig::new().await;
    rig.put("a").await;
    rig.put("b").await;
    // Received together, so both have the same time and generation.
    let got = rig.get(2).await;
    let mixed = MessageRef {
        id: got[0].id,
        receipt: got[1].receipt,
    };
    let deleted = rig.service.delete_message(&rig.queue, mixed).await;
    assert!(matches!(deleted, Err(Error::MessageNotFound)));
    let mut other = to_ref(&got[0]);
    other.id.0[0] ^= 1;
    let deleted = rig.service.delete_message(&rig.queue, other).await;
    assert!(matches!(deleted, Err(Error::MessageNotFound)));
    assert_eq!(rig.count().await, 2);
}

#[tokio::test]
async fn hidden_messages_appear_in_the_order_of_their_visibility() {
    let rig = Rig::new().await;
    rig.put_with("late", 10 * SECOND, None).await;
    rig.put_with("soon", 5 * SECOND, None).await;
    rig.put("now").await;
    assert_eq!(texts(&rig.get(32).await), ["now"]);
    rig.clock.advance(5 * SECOND);
    assert_eq!(texts(&rig.peek(32).await), ["soon"]);
    rig.clock.advance(5 * SECOND);
    assert_eq!(texts(&rig.get(32).await), ["soon", "late"]);
}

#[tokio::test]
async fn an_expired_message_is_gone() {
    let rig = Rig::new().await;
    let put = rig.put_with("a", Duration::ZERO, Some(10 * SECOND)).await;
    rig.put("b").await;
    let hidden = rig.update(&put, 10 * SECOND, None).await.unwrap();
    let beyond = rig.update(&hidden, 11 * SECOND, None).await;
    assert!(matches!(beyond, Err(Error::VisibilityAfterExpiry)));
    rig.clock.advance(10 * SECOND);
    assert!(matches!(
        rig.delete(&hidden).await,
        Err(Error::MessageNotFound)
    ));
    assert_eq!(texts(&rig.peek(32).await), ["b"]);
    assert_eq!(texts(&rig.get(1).await), ["b"]);
    assert_eq!(texts(&rig.get(1).await), [""; 0]);
    assert_eq!((rig.count().await, rig.rows().await), (1, 2));
}

#[tokio::test]
async fn expired_messages_are_removed_without_a_receive() {
    let rig = Rig::new().await;
    let shutdown = rig.tasks.shutdown();
    for seconds in 1..=30 {
        rig.put_with("x", Duration::ZERO, Some(seconds * SECOND))
            .await;
    }
    rig.put("stays").await;
    rig.clock.advance(10 * SECOND);
    let removing = rig.service.remove_expired_messages(&shutdown);
    assert_eq!(removing.await.unwrap(), 10);
    assert_eq!(rig.count().await, 21);
    let first_expiry = rig.service.header(&rig.queue).await.unwrap().first_expiry;
    let eleventh = rig.service.now().ticks() + 10_000_000;
    assert_eq!(first_expiry, eleventh, "no walk is due before");
    rig.put_with("y", Duration::ZERO, Some(SECOND / 2)).await;
    rig.clock.advance(60 * SECOND);
    let removing = rig.service.remove_expired_messages(&shutdown);
    assert_eq!(removing.await.unwrap(), 21);
    assert_eq!(texts(&rig.get(32).await), ["stays"]);
}

#[tokio::test]
async fn a_receive_passes_many_expired_messages() {
    let rig = Rig::new().await;
    for _ in 0..5000 {
        rig.put_with("x", Duration::ZERO, Some(SECOND)).await;
    }
    rig.put("alive").await;
    rig.clock.advance(SECOND);
    assert_eq!(texts(&rig.get(1).await), ["alive"]);
    assert_eq!(rig.count().await, 1);
}

#[tokio::test]
async fn receives_of_a_group_share_a_limit_of_bytes() {
    let rig = Rig::new().await;
    let text = "x".repeat(30 << 10);
    for _ in 0..8 {
        rig.put(&text).await;
    }
    // Both are in one group, because its task runs when they wait.
    let (first, second) = tokio::join!(rig.get(5), rig.get(5));
    assert_eq!((first.len(), second.len()), (3, 1));
    assert_eq!(rig.get(5).await.len(), 3, "a group of its own");
}

#[tokio::test]
async fn a_refused_peek_reads_no_more_texts() {
    let rig = Rig::new().await;
    for _ in 0..3 {
        rig.put("0123456789").await;
    }
    let (budget, mut asked) = (MemoryBudget::new(19), Vec::new());
    let mut reserved = Reserved::default();
    let refused = rig.service.peek_messages(&rig.queue, 3, |bytes| {
        asked.push(bytes);
        reserved.grow_to(&budget, bytes)
    });
    assert!(matches!(refused.await, Err(crate::Error::Busy(_))));
    assert_eq!(asked, [10, 20]);
}

#[tokio::test]
async fn long_texts_are_stored_once_and_removed_with_their_message() {
    let rig = Rig::new().await;
    let long = "x".repeat(60_000);
    rig.put(&long).await;
    rig.put(&long).await;
    assert_eq!(rig.rows().await, 5);
    assert_eq!(texts(&rig.peek(1).await), [&long]);
    let got = rig.get(2).await;
    assert_eq!(texts(&got), [&long, &long]);
    let short = rig.update(&got[0], Duration::ZERO, Some("short")).await;
    let short = short.unwrap();
    assert_eq!(rig.rows().await, 4);
    let long_again = rig.update(&short, Duration::ZERO, Some(&long));
    assert_eq!(long_again.await.unwrap().text, long);
    rig.delete(&got[1]).await.unwrap();
    let got = rig.get(2).await;
    assert_eq!(texts(&got), [&long]);
    rig.delete(&got[0]).await.unwrap();
    assert_eq!(rig.rows().await, 1);
}

/// Every message reaches exactly one of many consumers that work at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_consumers_share_the_messages() {
    let rig = Arc::new(Rig::new().await);
    let producers: Vec<_> = (0..8)
        .map(|producer| {
            let rig = Arc::clone(&rig);
            rig.tasks.clone().spawn("producer", async move {
                for number in 0..100 {
                    rig.put(&format!("{producer}-{number}")).await;
                }
            })
        })
        .collect();
    let consumers: Vec<_> = (0..8)
        .map(|_| {
            let rig = Arc::clone(&rig);
            rig.tasks.clone().spawn("consumer", async move {
                let mut received = Vec::new();
                while received.len() < 100 {
                    let get = rig.service.get_messages_within(
                        &rig.queue,
                        1,
                        3600 * SECOND,
                        3600 * SECOND,
                        pending(),
                    );
                    for message in get.await.unwrap() {
                        rig.delete(&message).await.unwrap();
                        received.extend(texts(&[message]).iter().map(|text| (*text).to_owned()));
                    }
                }
                received
            })
        })
        .collect();
    for producer in producers {
        producer.await.unwrap();
    }
    let mut all = Vec::new();
    for consumer in consumers {
        all.extend(consumer.await.unwrap());
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 800);
    assert_eq!((rig.count().await, rig.rows().await), (0, 1));
}

#[tokio::test]
async fn a_waiting_receive_ends_without_a_message_at_its_deadline() {
    let rig = Rig::new().await;
    let wait = Duration::from_millis(1);
    let get = rig
        .service
        .get_messages_within(&rig.queue, 1, SECOND, wait, pending());
    assert!(get.await.unwrap().is_empty());
}

/// A million rounds leave removed messages behind; a receive after a restart starts at the first living one.
#[tokio::test]
async fn the_header_names_the_first_message() {
    let mut rig = Rig::new().await;
    for round in 0..100 {
        rig.put(&round.to_string()).await;
        let got = rig.get(1).await;
        rig.delete(&got[0]).await.unwrap();
        rig.clock.advance(SECOND);
    }
    let put = rig.put("last").await;
    rig.restart();
    let header = rig.service.header(&rig.queue).await.unwrap();
    assert_eq!(header.first, put.receipt.position());
    assert_eq!(texts(&rig.get(32).await), ["last"]);
}

#[tokio::test]
async fn a_clock_that_is_set_back_hides_no_message() {
    let rig = Rig::new().await;
    rig.put("a").await;
    rig.get(1).await;
    let now = partita_rt::Clock::now(&rig.clock);
    rig.clock.set_wall(now - 3600 * SECOND);
    rig.put("b").await;
    assert_eq!(texts(&rig.get(1).await), ["b"]);
    rig.clock.advance(30 * SECOND);
    assert_eq!(texts(&rig.get(32).await), ["a", "b"]);
}
