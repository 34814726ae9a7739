//! The guarantees of every engine, one function each.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{commit, delete, put, rows};
use crate::{Batch, Engine, Health, KeyRange, Refusal, ScanHint, WriteError};

pub(super) async fn gets_what_was_put(engine: Arc<dyn Engine>) {
    assert_eq!(engine.health(), Health::Healthy);
    assert_eq!(engine.get(b"a").await.unwrap(), None);
    commit(&*engine, put("a", "1")).await.unwrap();
    assert_eq!(engine.get(b"a").await.unwrap().unwrap(), "1");
    commit(&*engine, put("a", "2")).await.unwrap();
    assert_eq!(engine.get(b"a").await.unwrap().unwrap(), "2");
    commit(&*engine, delete("a")).await.unwrap();
    assert_eq!(engine.get(b"a").await.unwrap(), None);
    commit(&*engine, delete("never there")).await.unwrap();
    commit(&*engine, Batch::new()).await.unwrap();
    assert!(rows(&*engine, KeyRange::all(), 10).await.is_empty());
    commit(&*engine, put("a", "")).await.unwrap();
    assert_eq!(
        engine.get(b"a").await.unwrap().unwrap(),
        "",
        "an empty value is stored like any other value"
    );
    engine.close().await;
}

/// Writers move one unit between two rows; no reader may see the sum change.
pub(super) async fn batches_are_atomic_to_readers(engine: Arc<dyn Engine>) {
    let write = |left: u32, right: u32| {
        let mut batch = Batch::new();
        batch.put("left".into(), Bytes::copy_from_slice(&left.to_be_bytes()));
        batch.put("right".into(), Bytes::copy_from_slice(&right.to_be_bytes()));
        batch
    };
    commit(&*engine, write(100, 0)).await.unwrap();
    let writer = {
        let engine = Arc::clone(&engine);
        async move {
            for step in 1..=100 {
                commit(&*engine, write(100 - step, step)).await.unwrap();
            }
        }
    };
    let reader = {
        let engine = Arc::clone(&engine);
        async move {
            for _ in 0..300 {
                let seen = rows(&*engine, KeyRange::all(), 1).await;
                let sum: u32 = seen
                    .iter()
                    .map(|(_, value)| u32::from_be_bytes(value.as_ref().try_into().unwrap()))
                    .sum();
                assert_eq!((seen.len(), sum), (2, 100));
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::join!(writer, reader);
    engine.close().await;
}

pub(super) async fn completions_come_in_order_and_when_durable(engine: Arc<dyn Engine>) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for number in 0_u32..500 {
        let batch = put(Bytes::copy_from_slice(&number.to_be_bytes()), "x");
        let permit = engine.reserve(batch.bytes()).await.unwrap();
        let (sender, receiver) = oneshot::channel();
        let order = Arc::clone(&order);
        permit.submit(
            batch,
            Box::new(move |result| {
                order.lock().push(number);
                let _ = sender.send(result);
            }),
        );
        waiting.push((number, receiver));
    }
    for (number, receiver) in waiting {
        receiver.await.unwrap().unwrap();
        let key = number.to_be_bytes();
        assert!(
            engine.get(&key).await.unwrap().is_some(),
            "a read after the completion sees the write"
        );
    }
    assert_eq!(*order.lock(), (0..500).collect::<Vec<u32>>());
    engine.close().await;
}

/// A completion submits the next batch, and a read inside the completion sees the batch that has just become durable.
pub(super) async fn a_completion_may_use_the_engine(engine: Arc<dyn Engine>) {
    let second = engine.reserve(1_000).await.unwrap();
    let first = engine.reserve(1_000).await.unwrap();
    let (sender, receiver) = oneshot::channel();
    let reader = Arc::clone(&engine);
    let runtime = tokio::runtime::Handle::current();
    first.submit(
        put("first", "1"),
        Box::new(move |result| {
            result.unwrap();
            let read = runtime.spawn(async move { reader.get(b"first").await.unwrap() });
            second.submit(
                put("second", "2"),
                Box::new(move |result| {
                    result.unwrap();
                    let _ = sender.send(read);
                }),
            );
        }),
    );
    let read = receiver.await.unwrap();
    assert_eq!(read.await.unwrap().unwrap(), "1");
    assert_eq!(engine.get(b"second").await.unwrap().unwrap(), "2");
    engine.close().await;
}

pub(super) async fn a_scan_is_one_snapshot(engine: Arc<dyn Engine>) {
    for number in 0_u8..50 {
        commit(&*engine, put(vec![number], "before")).await.unwrap();
    }
    let mut scan = engine
        .scan(KeyRange::all(), ScanHint::page(50))
        .await
        .unwrap();
    let first = scan.next(10, usize::MAX).await.unwrap();
    let mut seen: Vec<(Bytes, Bytes)> = first.into_iter().collect();
    for number in 0_u8..50 {
        let batch = if number.is_multiple_of(2) {
            delete(vec![number])
        } else {
            put(vec![number], "after")
        };
        commit(&*engine, batch).await.unwrap();
    }
    commit(&*engine, put(vec![99], "after")).await.unwrap();
    engine.flush().await.unwrap();
    loop {
        let page = scan.next(10, usize::MAX).await.unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(page);
    }
    assert!(
        scan.next(10, usize::MAX).await.unwrap().is_empty(),
        "a finished scan returns no more rows"
    );
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|(_, value)| value == "before"));
    assert_eq!(rows(&*engine, KeyRange::all(), 10).await.len(), 26);
    engine.close().await;
}

pub(super) async fn scans_keep_to_their_bounds_and_limits(engine: Arc<dyn Engine>) {
    let mut batch = Batch::new();
    for key in ["a", "b", "ba", "c", "d"] {
        batch.put(key.into(), Bytes::from(vec![b'v'; 100]));
    }
    commit(&*engine, batch).await.unwrap();
    let keys = async |start: Bound<&'static str>, end: Bound<&'static str>| {
        let range = KeyRange {
            start: start.map(Bytes::from),
            end: end.map(Bytes::from),
        };
        let found = rows(&*engine, range, 2).await;
        found
            .into_iter()
            .map(|(key, _)| String::from_utf8(key.to_vec()).unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    };
    use Bound::{Excluded, Included, Unbounded};
    assert_eq!(keys(Unbounded, Unbounded).await, "a b ba c d");
    assert_eq!(keys(Included("b"), Excluded("c")).await, "b ba");
    assert_eq!(keys(Excluded("b"), Included("c")).await, "ba c");
    assert_eq!(keys(Included("bb"), Unbounded).await, "c d");
    assert_eq!(keys(Unbounded, Excluded("a")).await, "");
    assert_eq!(keys(Included("c"), Included("c")).await, "c");
    assert_eq!(
        keys(Included("c"), Excluded("c")).await,
        "",
        "an empty range is not an error"
    );
    assert_eq!(
        keys(Included("d"), Excluded("a")).await,
        "",
        "a reversed range is not an error"
    );
    assert_eq!(keys(Excluded("c"), Excluded("c")).await, "");

    let mut scan = engine
        .scan(KeyRange::all(), ScanHint::page(5))
        .await
        .unwrap();
    assert_eq!(
        scan.next(10, 150).await.unwrap().len(),
        2,
        "a page ends with the row that reaches the byte limit"
    );
    assert_eq!(
        scan.next(10, 1).await.unwrap().len(),
        1,
        "a page has at least one row"
    );
    assert_eq!(scan.next(1, usize::MAX).await.unwrap().len(), 1);
    assert_eq!(scan.next(10, usize::MAX).await.unwrap().len(), 1);
    engine.close().await;
}

/// Batches with a common key, all in flight at the same time: the last submitted batch wins.
pub(super) async fn later_batches_win(engine: Arc<dyn Engine>) {
    let mut last = None;
    for number in 0_u32..200 {
        let batch = if number % 7 == 4 {
            delete("key")
        } else {
            put("key", number.to_string())
        };
        let permit = engine.reserve(batch.bytes()).await.unwrap();
        let (sender, receiver) = oneshot::channel();
        permit.submit(
            batch,
            Box::new(move |result| {
                let _ = sender.send(result);
            }),
        );
        last = Some(receiver);
    }
    last.unwrap().await.unwrap().unwrap();
    assert_eq!(engine.get(b"key").await.unwrap().unwrap(), "199");
    engine.close().await;
}

pub(super) async fn room_is_bounded_and_returned(engine: Arc<dyn Engine>) {
    let too_large = engine.reserve(usize::MAX).await.unwrap_err();
    assert_eq!(too_large, WriteError::Refused(Refusal::TooLarge));
    // Dropped futures and permits must free the bytes they reserved.
    for _ in 0..200 {
        drop(engine.reserve(4 << 20).await.unwrap());
        drop(engine.reserve(4 << 20));
    }
    let mut held = Vec::new();
    let refused = loop {
        let next = engine.reserve(4 << 20);
        match tokio::time::timeout(std::time::Duration::from_millis(50), next).await {
            Ok(Ok(permit)) => held.push(permit),
            Ok(Err(error)) => break Some(error),
            Err(_elapsed) => break None,
        }
        assert!(held.len() < 1_000, "bytes in flight are bounded");
    };
    assert_eq!(
        refused, None,
        "with a full pipeline a caller waits before it is refused"
    );
    drop(held.pop());
    engine
        .reserve(4 << 20)
        .await
        .unwrap()
        .submit(put("a", "1"), Box::new(|_| ()));
    drop(held);
    commit(&*engine, put("b", "2")).await.unwrap();
    assert_eq!(rows(&*engine, KeyRange::all(), 10).await.len(), 2);
    engine.close().await;
}

pub(super) async fn large_values_and_odd_keys(engine: Arc<dyn Engine>) {
    let large = Bytes::from(vec![7; 1 << 20]);
    let mut batch = Batch::new();
    batch.put(Bytes::from(vec![0]), large.clone());
    batch.put(Bytes::from(vec![0, 0]), "zeros".into());
    batch.put(Bytes::from(vec![0xff; 4_000]), "long".into());
    batch.put(Bytes::from(vec![0xff]), large.clone());
    commit(&*engine, batch).await.unwrap();
    assert_eq!(engine.get(&[0]).await.unwrap().unwrap(), large);
    assert_eq!(engine.get(&[0, 0]).await.unwrap().unwrap(), "zeros");
    assert_eq!(engine.get(&[0xff; 4_000]).await.unwrap().unwrap(), "long");
    let keys: Vec<usize> = rows(&*engine, KeyRange::all(), 3)
        .await
        .iter()
        .map(|(key, _)| key.len())
        .collect();
    assert_eq!(keys, [1, 2, 1, 4_000]);
    engine.close().await;
}

/// A batch larger than the pipeline's room, as large as a hundred patched large entities, is committed alone.
pub(super) async fn a_batch_larger_than_all_room_goes_alone(engine: Arc<dyn Engine>) {
    let value = Bytes::from(vec![7; 1 << 20]);
    let mut batch = Batch::new();
    for number in 0..100_u8 {
        batch.put(Bytes::from(vec![number]), value.clone());
    }
    let before = engine.reserve(1).await.unwrap();
    let mut reserving = Box::pin(engine.reserve(batch.bytes()));
    let early = tokio::time::timeout(std::time::Duration::from_millis(20), &mut reserving).await;
    assert!(
        early.is_err(),
        "a large batch waits until the pipeline is empty"
    );
    drop(before);
    let permit = reserving.await.unwrap();
    let (sender, receiver) = oneshot::channel();
    permit.submit(
        batch,
        Box::new(move |result| {
            let _ = sender.send(result);
        }),
    );
    receiver.await.unwrap().unwrap();
    commit(&*engine, put("after", "1")).await.unwrap();
    assert_eq!(engine.get(&[99]).await.unwrap().unwrap(), value);
    assert_eq!(rows(&*engine, KeyRange::all(), 10).await.len(), 101);
    engine.close().await;
}

pub(super) async fn a_closed_engine_refuses(engine: Arc<dyn Engine>) {
    commit(&*engine, put("a", "1")).await.unwrap();
    let late = engine.reserve(100).await.unwrap();
    let queued = engine.reserve(100).await.unwrap();
    let answered = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = oneshot::channel();
    let counter = Arc::clone(&answered);
    queued.submit(
        put("b", "2"),
        Box::new(move |result| {
            counter.fetch_add(1, Ordering::SeqCst);
            let _ = sender.send(result);
        }),
    );
    engine.close().await;
    receiver
        .await
        .unwrap()
        .expect("a batch that was submitted before the close is committed");
    assert_eq!(answered.load(Ordering::SeqCst), 1);
    assert_eq!(engine.health(), Health::Closed);

    let (sender, receiver) = oneshot::channel();
    late.submit(
        put("c", "3"),
        Box::new(move |result| {
            let _ = sender.send(result);
        }),
    );
    assert_eq!(
        receiver.await.unwrap(),
        Err(WriteError::Refused(Refusal::Closed))
    );
    assert_eq!(
        engine.reserve(1).await.unwrap_err(),
        WriteError::Refused(Refusal::Closed)
    );
    assert!(engine.get(b"a").await.is_err());
    assert!(
        engine
            .scan(KeyRange::all(), ScanHint::page(1))
            .await
            .is_err()
    );
    assert!(engine.flush().await.is_err());
    engine.close().await;
}
