//! The guarantees of pins, one function each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{FIRST, commit, delete, open, put};
use crate::{
    Batch, ChangeError, Engine, EngineSet, KeyPart, KeyRange, PinId, PinnedRows, RangeId, Removal,
    ScanHint, WriteError,
};

const SECOND: RangeId = RangeId(2);
const THIRD: RangeId = RangeId(3);
const WRITERS: u32 = 4;
/// Longer than any test.
const HOLD: Duration = Duration::from_secs(3600);

fn key(writer: u32, number: u32) -> Bytes {
    Bytes::from(format!("{writer}-{number:06}"))
}

async fn rows(pinned: &dyn PinnedRows, range: KeyRange) -> Vec<(Bytes, Bytes)> {
    let mut scan = pinned.scan(range, ScanHint::walk()).await.unwrap();
    let mut all = Vec::new();
    loop {
        let page = scan.next(100, usize::MAX).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

async fn pinned_keys(set: &dyn EngineSet, range: RangeId, pin: &PinId) -> Vec<Bytes> {
    let pinned = set.open_pin(range, pin).await.unwrap();
    let rows = rows(&*pinned, KeyRange::all()).await;
    rows.into_iter().map(|(key, _)| key).collect()
}

pub(super) async fn a_pin_shows_the_rows_of_its_instant(set: Arc<dyn EngineSet>) {
    let empty = set.open(THIRD).await.unwrap();
    let engine = open(&*set, FIRST).await;
    for number in 0..10 {
        commit(&*engine, put(key(0, number), "before"))
            .await
            .unwrap();
    }
    let pinned = set.pin(&[FIRST, THIRD]).await.unwrap();
    assert_eq!(pinned.pins.len(), 2);
    for number in 5..15 {
        commit(&*engine, put(key(0, number), "after"))
            .await
            .unwrap();
    }
    commit(&*engine, delete(key(0, 0))).await.unwrap();
    commit(&*empty, put("x", "after")).await.unwrap();
    engine.flush().await.unwrap();

    let before = set.open_pin(FIRST, &pinned.pins[0]).await.unwrap();
    let seen = rows(&*before, KeyRange::all()).await;
    assert_eq!(seen.len(), 10);
    assert!(seen.iter().all(|(_, value)| value == "before"), "{seen:?}");
    let some = KeyRange::half_open(key(0, 3), key(0, 6));
    assert_eq!(rows(&*before, some).await.len(), 3);
    let nothing = pinned_keys(&*set, THIRD, &pinned.pins[1]).await;
    assert!(nothing.is_empty());

    let later = set.pin(&[FIRST]).await.unwrap();
    assert_eq!(pinned_keys(&*set, FIRST, &later.pins[0]).await.len(), 14);
    let known: BTreeSet<PinId> = set.pins(FIRST).await.unwrap().into_iter().collect();
    let made = [pinned.pins[0].clone(), later.pins[0].clone()];
    assert_eq!(known, made.into_iter().collect());
    set.close().await;
}

pub(super) async fn a_pin_ends_when_it_is_released(set: Arc<dyn EngineSet>) {
    let engine = open(&*set, FIRST).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    let pin = set.pin(&[FIRST]).await.unwrap().pins.remove(0);
    set.unpin(FIRST, &PinId::new("none")).await.unwrap();
    set.unpin(SECOND, &pin).await.unwrap();
    assert_eq!(pinned_keys(&*set, FIRST, &pin).await, ["a"]);
    set.unpin(FIRST, &pin).await.unwrap();
    set.unpin(FIRST, &pin).await.unwrap();
    assert!(set.pins(FIRST).await.unwrap().is_empty());
    let gone = set.open_pin(FIRST, &pin).await;
    assert!(matches!(gone.err(), Some(ChangeError::NotPinned(FIRST))));
    let gone = set.files(FIRST, Some(&pin)).await;
    assert!(matches!(gone.err(), Some(ChangeError::NotPinned(FIRST))));
    let closed = set.pin(&[FIRST, SECOND]).await;
    assert!(matches!(closed.err(), Some(ChangeError::State(SECOND))));
    set.close().await;
    let closed = set.pin(&[FIRST]).await;
    assert!(closed.is_err());
}

/// Each writer writes a pair of rows to one range and, after the acknowledgment, the same pair to the other. A pin
/// holds both rows of a pair or neither, and every pinned row of the second range is also pinned in the first.
pub(super) async fn pins_of_one_call_show_the_same_instant(set: Arc<dyn EngineSet>) {
    let first = open(&*set, FIRST).await;
    let second = open(&*set, SECOND).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writing = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (first, second) = (Arc::clone(&first), Arc::clone(&second));
        let stop = Arc::clone(&stop);
        writing.spawn(async move {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                for engine in [&first, &second] {
                    let mut pair = Batch::new();
                    pair.put(key(writer, number), "x".into());
                    pair.put(key(writer, number + 1), "x".into());
                    commit(&**engine, pair).await.unwrap();
                }
                number += 2;
                tokio::task::yield_now().await;
            }
            number
        });
    }
    let mut pins = Vec::new();
    for _ in 0..8 {
        let pinned = set.pin(&[SECOND, FIRST]).await.unwrap();
        pins.push(pinned.pins);
        // Waits for new rows, so that the next pin has more.
        let before = set.stats().rows;
        while set.stats().rows < before + 20 {
            tokio::task::yield_now().await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let mut written = 0;
    while let Some(writer) = writing.join_next().await {
        written += writer.unwrap();
    }
    let mut last = 0;
    for pin in &pins {
        let behind = pinned_keys(&*set, SECOND, &pin[0]).await;
        let ahead = pinned_keys(&*set, FIRST, &pin[1]).await;
        assert!(ahead.len() % 2 == 0 && behind.len() % 2 == 0, "whole pairs");
        assert!(
            ahead.len() >= behind.len(),
            "every row of the second range is in the first"
        );
        assert!(ahead.len() - behind.len() <= 2 * WRITERS as usize);
        let ahead: BTreeSet<Bytes> = ahead.into_iter().collect();
        assert!(behind.iter().all(|key| ahead.contains(key)));
        assert!(
            ahead.len() >= last,
            "a later pin has at least the rows of an earlier one"
        );
        last = ahead.len();
    }
    assert!(last > 0 && last <= written as usize);
    set.close().await;
}

/// A pin outlives its range: it keeps rows that were later moved by a clone, overwritten or deleted.
pub(super) async fn a_pin_outlives_its_range(set: Arc<dyn EngineSet>) {
    let parent = open(&*set, FIRST).await;
    for number in 0..10 {
        commit(&*parent, put(key(0, number), "x")).await.unwrap();
    }
    parent.flush().await.unwrap();
    let whole = |source| KeyPart {
        source,
        range: KeyRange::all(),
    };
    set.clone_parts(SECOND, &[whole(FIRST)]).await.unwrap();
    parent.close().await;
    let child = open(&*set, SECOND).await;
    commit(&*child, put("new", "x")).await.unwrap();
    // This pin reads files of the source.
    let pin = set.pin(&[SECOND]).await.unwrap().pins.remove(0);
    child.flush().await.unwrap();
    set.clone_parts(THIRD, &[whole(SECOND)]).await.unwrap();
    child.close().await;
    let last = open(&*set, THIRD).await;
    commit(&*last, delete("new")).await.unwrap();
    last.flush().await.unwrap();
    last.detach().await.unwrap();

    assert_eq!(set.removable(&[SECOND]).await.unwrap(), []);
    assert_eq!(set.remove(SECOND).await.unwrap(), Removal::Needed);
    assert_eq!(pinned_keys(&*set, SECOND, &pin).await.len(), 11);
    set.unpin(SECOND, &pin).await.unwrap();
    set.close().await;
}

/// Begins to write a row. Returns when the engine has the batch.
async fn begin(
    engine: &dyn Engine,
    key: &'static str,
) -> oneshot::Receiver<Result<(), WriteError>> {
    let mut batch = Batch::new();
    batch.put(key.into(), "x".into());
    let (done, written) = oneshot::channel();
    let permit = engine.reserve(batch.bytes()).await.unwrap();
    permit.submit(
        batch,
        Box::new(move |result| {
            let _ = done.send(result);
        }),
    );
    written
}

/// Writes wait while ranges are held, and reads do not. The pin has exactly the rows from before.
pub(super) async fn a_held_range_is_pinned_as_it_was(set: Arc<dyn EngineSet>) {
    let first = open(&*set, FIRST).await;
    let second = open(&*set, SECOND).await;
    commit(&*first, put("a", "x")).await.unwrap();
    let held = set.hold(&[FIRST, SECOND], HOLD).await.unwrap();
    let mut waiting = [begin(&*first, "b").await, begin(&*second, "c").await];
    assert_eq!(first.get(b"a").await.unwrap().unwrap(), "x");
    assert_eq!(first.get(b"b").await.unwrap(), None);
    assert!(waiting.iter_mut().all(|write| write.try_recv().is_err()));
    let pinned = held.pin().await.unwrap();
    for write in waiting {
        write.await.unwrap().unwrap();
    }
    assert_eq!(pinned_keys(&*set, FIRST, &pinned.pins[0]).await, ["a"]);
    assert!(pinned_keys(&*set, SECOND, &pinned.pins[1]).await.is_empty());
    assert_eq!(first.get(b"b").await.unwrap().unwrap(), "x");
    assert_eq!(second.get(b"c").await.unwrap().unwrap(), "x");
    set.close().await;
}

pub(super) async fn a_hold_ends_when_it_is_dropped_or_late(set: Arc<dyn EngineSet>) {
    let engine = open(&*set, FIRST).await;
    let held = set.hold(&[FIRST], HOLD).await.unwrap();
    let waiting = begin(&*engine, "a").await;
    drop(held);
    waiting.await.unwrap().unwrap();

    let held = set.hold(&[FIRST], Duration::ZERO).await.unwrap();
    commit(&*engine, put("b", "x")).await.unwrap();
    let late = held.pin().await;
    assert!(matches!(late, Err(ChangeError::HoldEnded)), "{late:?}");
    assert!(set.pins(FIRST).await.unwrap().is_empty());

    let closed = set.hold(&[FIRST, SECOND], HOLD).await;
    assert!(matches!(closed.err(), Some(ChangeError::State(SECOND))));
    set.close().await;
}
