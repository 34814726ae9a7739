//! The guarantees of every engine set, one function each.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{FIRST, commit, delete, open, put, rows};
use crate::{
    Batch, ChangeError, Engine, EngineSet, Health, KeyPart, KeyRange, OpenError, RangeId,
    ReadError, Removal, WriteError,
};

const SECOND: RangeId = RangeId(2);
const THIRD: RangeId = RangeId(3);
const FOURTH: RangeId = RangeId(4);

fn key(number: u32) -> Bytes {
    Bytes::from(format!("key {number:04}"))
}

fn part(source: RangeId, start: Bound<Bytes>, end: Bound<Bytes>) -> KeyPart {
    let range = KeyRange { start, end };
    KeyPart { source, range }
}

fn below(source: RangeId, end: Bytes) -> KeyPart {
    part(source, Bound::Unbounded, Bound::Excluded(end))
}

fn from(source: RangeId, start: Bytes) -> KeyPart {
    part(source, Bound::Included(start), Bound::Unbounded)
}

async fn all(engine: &dyn Engine) -> BTreeMap<Bytes, Bytes> {
    let rows = rows(engine, KeyRange::all(), 100).await;
    rows.into_iter().collect()
}

/// Writes `numbers` with this value and flushes them.
async fn write_flushed(engine: &dyn Engine, numbers: impl Iterator<Item = u32>, value: &str) {
    let mut batch = Batch::new();
    for number in numbers {
        batch.put(key(number), Bytes::copy_from_slice(value.as_bytes()));
    }
    commit(engine, batch).await.unwrap();
    engine.flush().await.unwrap();
}

pub(super) async fn batches_and_rows_are_counted(set: Arc<dyn EngineSet>) {
    let engine = open(&*set, FIRST).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    commit(&*engine, put("b", "1")).await.unwrap();
    let stats = set.stats();
    assert!(stats.batches == 2 && stats.rows == 2, "{stats:?}");
    set.close().await;
}

pub(super) async fn ranges_are_separate_and_share_groups(set: Arc<dyn EngineSet>) {
    let mut engines = Vec::new();
    for id in 1..=5 {
        engines.push(open(&*set, RangeId(id)).await);
    }
    for round in 0..20_u32 {
        let writes = engines.iter().enumerate().map(|(at, engine)| {
            let value = format!("{at}-{round}");
            commit(&**engine, put(key(round), value))
        });
        for result in futures::future::join_all(writes).await {
            result.unwrap();
        }
    }
    commit(&*engines[0], delete(key(0))).await.unwrap();
    for (at, engine) in engines.iter().enumerate() {
        let seen = all(&**engine).await;
        assert_eq!(seen.len(), if at == 0 { 19 } else { 20 });
        assert_eq!(seen.get(&key(7)).unwrap(), &format!("{at}-7"));
    }
    let stats = set.stats();
    assert_eq!((stats.batches, stats.rows), (101, 101));
    set.close().await;
}

pub(super) async fn a_range_is_open_once_and_can_be_opened_again(set: Arc<dyn EngineSet>) {
    let engine = open(&*set, FIRST).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    let again = set.open(FIRST).await;
    assert!(matches!(again.err(), Some(OpenError::AlreadyOpen(FIRST))));
    engine.close().await;
    assert!(matches!(engine.get(b"a").await, Err(ReadError::Closed)));
    assert_eq!(
        set.health(),
        Health::Healthy,
        "other ranges stay open and writable"
    );
    let engine = open(&*set, FIRST).await;
    assert_eq!(engine.get(b"a").await.unwrap().unwrap(), "1");
    commit(&*engine, put("b", "2")).await.unwrap();
    assert_eq!(all(&*engine).await.len(), 2);
    set.close().await;
}

pub(super) async fn clones_split_a_range_and_merge_ranges(set: Arc<dyn EngineSet>) {
    let parent = open(&*set, FIRST).await;
    write_flushed(&*parent, 0..100, "parent").await;
    let cut = key(40);
    set.clone_parts(SECOND, &[below(FIRST, cut.clone())])
        .await
        .unwrap();
    set.clone_parts(THIRD, &[from(FIRST, cut.clone())])
        .await
        .unwrap();
    assert_eq!(
        all(&*parent).await.len(),
        100,
        "a clone does not change its source"
    );
    parent.close().await;

    let (left, right) = (open(&*set, SECOND).await, open(&*set, THIRD).await);
    assert_eq!(
        (all(&*left).await.len(), all(&*right).await.len()),
        (40, 60)
    );
    assert_eq!(
        left.get(&cut).await.unwrap(),
        None,
        "a row at the bound belongs to the right part"
    );
    write_flushed(&*left, 0..10, "left").await;
    write_flushed(&*right, 90..100, "right").await;
    commit(&*right, delete(key(50))).await.unwrap();
    right.flush().await.unwrap();

    let halves = [below(SECOND, cut.clone()), from(THIRD, cut)];
    set.clone_parts(FOURTH, &halves).await.unwrap();
    left.close().await;
    right.close().await;
    let whole = open(&*set, FOURTH).await;
    let seen = all(&*whole).await;
    assert_eq!(seen.len(), 99);
    let value = |number| seen.get(&key(number)).map(|value| value.as_ref());
    assert_eq!(value(5), Some(b"left".as_ref()));
    assert_eq!(value(20), Some(b"parent".as_ref()));
    assert_eq!(value(50), None);
    assert_eq!(value(95), Some(b"right".as_ref()));
    let hour = Duration::from_secs(3600);
    assert!(!whole.checkpoint(hour).await.unwrap().is_empty());
    whole.detach().await.unwrap();
    commit(&*whole, put(key(50), "again")).await.unwrap();
    assert_eq!(all(&*whole).await.len(), 100);
    assert!(whole.file_layout().bytes > 0);
    set.close().await;
}

pub(super) async fn only_open_ranges_are_cloned(set: Arc<dyn EngineSet>) {
    let source = open(&*set, FIRST).await;
    write_flushed(&*source, 0..10, "x").await;
    let part = || [below(FIRST, key(5))];
    let into_itself = set.clone_parts(FIRST, &part()).await;
    assert!(matches!(into_itself, Err(ChangeError::State(FIRST))));
    let absent = set.clone_parts(THIRD, &[below(SECOND, key(5))]).await;
    assert!(matches!(absent, Err(ChangeError::State(SECOND))));
    source.close().await;
    let closed = set.clone_parts(THIRD, &part()).await;
    assert!(matches!(closed, Err(ChangeError::State(FIRST))));
    set.close().await;
}

/// A clone includes rows that are only in memory. Of the writes during the call it has none, some or all.
pub(super) async fn a_clone_has_every_acknowledged_row(set: Arc<dyn EngineSet>) {
    let source = open(&*set, FIRST).await;
    write_flushed(&*source, 0..10, "flushed").await;
    for number in 5..15 {
        commit(&*source, put(key(number), "only in memory"))
            .await
            .unwrap();
    }
    let writing = async {
        for number in 100..200 {
            commit(&*source, put(key(number), "meanwhile"))
                .await
                .unwrap();
        }
    };
    let parts = [from(FIRST, key(3))];
    let (cloned, ()) = tokio::join!(set.clone_parts(SECOND, &parts), writing);
    cloned.unwrap();
    let target = open(&*set, SECOND).await;
    let mut seen = all(&*target).await;
    let meanwhile = seen.split_off(&key(100));
    let expected = (3..15).map(|number| {
        let value = if number < 5 {
            "flushed"
        } else {
            "only in memory"
        };
        (key(number), Bytes::from_static(value.as_bytes()))
    });
    assert_eq!(seen, expected.collect());
    assert!(meanwhile.values().all(|value| value == "meanwhile"));
    set.close().await;
}

pub(super) async fn a_removed_database_is_gone(set: Arc<dyn EngineSet>) {
    assert_eq!(set.remove(SECOND).await.unwrap(), Removal::Gone);
    let engine = open(&*set, FIRST).await;
    write_flushed(&*engine, 0..10, "x").await;
    let still_open = set.remove(FIRST).await;
    assert!(matches!(still_open, Err(ChangeError::State(FIRST))));
    let removable = async || set.removable(&[FIRST, SECOND]).await.unwrap();
    assert_eq!(removable().await, [SECOND], "FIRST is open");
    engine.close().await;
    let mut both = removable().await;
    both.sort_unstable();
    assert_eq!(both, [FIRST, SECOND]);
    assert_eq!(set.list().await.unwrap(), [FIRST]);
    assert_eq!(set.remove(FIRST).await.unwrap(), Removal::Gone);
    assert_eq!(set.list().await.unwrap(), []);
    set.close().await;
}

pub(super) async fn a_closed_engine_set_refuses(set: Arc<dyn EngineSet>) {
    let engine = open(&*set, FIRST).await;
    set.close().await;
    set.close().await;
    assert_eq!(set.health(), Health::Closed);
    assert_eq!(engine.health(), Health::Closed);
    assert!(matches!(engine.get(b"a").await, Err(ReadError::Closed)));
    let kept = engine.checkpoint(Duration::from_secs(1)).await;
    assert!(matches!(kept, Err(ChangeError::Unavailable)));
    let refused = commit(&*engine, put("a", "1")).await;
    assert!(matches!(refused, Err(WriteError::Refused(_))));
    let opened = set.open(SECOND).await;
    assert!(matches!(opened.err(), Some(OpenError::Unavailable)));
}
