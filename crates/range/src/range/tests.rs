use super::*;
use partita_engine::EngineSet as _;
use partita_engine::memory::MemoryEngine;
use proptest::prelude::*;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn range() -> Arc<Range> {
    let engine = Arc::new(MemoryEngine::new());
    Arc::new(Range::new(
        RangeId(1),
        Bounds::all(),
        engine,
        Arc::default(),
    ))
}

fn put(key: &'static str, value: &'static str) -> Batch {
    let mut batch = Batch::new();
    batch.put(key.into(), value.into());
    batch
}

async fn lock(range: &Arc<Range>, key: &str) -> Locked {
    range.lock([key.as_bytes()].into_iter()).await.unwrap()
}

async fn write(range: &Arc<Range>, key: &'static str, value: &'static str) {
    let locked = lock(range, key).await;
    locked.commit(put(key, value)).await.unwrap();
}

#[tokio::test]
async fn a_commit_is_readable_and_updates_the_cache() {
    let range = range();
    let locked = lock(&range, "k").await;
    assert_eq!(locked.read(&"k".into()).await.unwrap(), None);
    locked.commit(put("k", "v")).await.unwrap();
    assert_eq!(range.rows.stats().rows, 0, "no row was read");
    assert_eq!(range.get(&"k".into()).await.unwrap(), Some("v".into()));
    write(&range, "k", "w").await;
    let hits = range.rows.stats().hits;
    assert_eq!(range.get(&"k".into()).await.unwrap(), Some("w".into()));
    assert_eq!(range.rows.stats().hits, hits + 1);
    let locked = lock(&range, "k").await;
    let mut batch = Batch::new();
    batch.delete("k".into());
    locked.commit(batch).await.unwrap();
    assert_eq!(range.get(&"k".into()).await.unwrap(), None);
}

#[tokio::test]
async fn a_read_fills_the_cache() {
    let range = range();
    let done = range.engine().reserve(100).await.unwrap();
    done.submit(put("k", "v"), Box::new(|_| ()));
    assert_eq!(range.get(&"k".into()).await.unwrap(), Some("v".into()));
    assert_eq!(range.rows.stats().rows, 1);
}

#[tokio::test]
async fn reads_of_a_frozen_range_are_not_cached() {
    let range = range();
    let done = range.engine().reserve(100).await.unwrap();
    done.submit(put("k", "v"), Box::new(|_| ()));
    range.freeze().await;
    // Another range may have replaced this one and hold a newer row.
    assert_eq!(range.get(&"k".into()).await.unwrap(), Some("v".into()));
    assert_eq!(range.rows.stats().rows, 0);
    range.thaw();
    assert_eq!(range.get(&"k".into()).await.unwrap(), Some("v".into()));
    assert_eq!(range.rows.stats().rows, 1);
}

/// The engine shows the row of a write before the write is acknowledged. A reader that has seen it must not be followed
/// by one that gets the old row from the cache.
#[tokio::test]
async fn a_row_is_not_cached_while_it_is_written() {
    let range = range();
    write(&range, "k", "old").await;
    let key = Bytes::from("k");
    assert_eq!(range.get(&key).await.unwrap(), Some("old".into()));
    assert_eq!(range.rows.get(&key), Some("old".into()));
    let locked = lock(&range, "k").await;
    // What the commit does before and after the engine has the row.
    assert!(range.rows.begin_write(&key), "the row was cached");
    assert_eq!(range.get(&key).await.unwrap(), Some("old".into()));
    let done = range.engine().reserve(100).await.unwrap();
    done.submit(put("k", "new"), Box::new(|_| ()));
    for _ in 0..2 {
        assert_eq!(range.get(&key).await.unwrap(), Some("new".into()));
        assert_eq!(range.rows.get(&key), None, "its lock is held");
    }
    drop(locked);
    assert_eq!(range.get(&key).await.unwrap(), Some("new".into()));
    assert_eq!(range.rows.get(&key), Some("new".into()));
}

/// The cache has no row when the engine gets the write.
#[tokio::test]
async fn a_commit_empties_the_cache_before_the_engine_has_the_row() {
    let engines = partita_engine::memory::MemoryEngineSet::new();
    let engine = engines.open(RangeId(1)).await.unwrap();
    let memory = Arc::new(RowMemory::default());
    let range = Range::new(RangeId(1), Bounds::all(), engine, Arc::clone(&memory));
    let range = Arc::new(range);
    write(&range, "k", "old").await;
    let key = Bytes::from("k");
    range.get(&key).await.unwrap();
    let (rows, seen) = (range.rows.clone(), Arc::new(parking_lot::Mutex::new(None)));
    let (looking, of_key) = (Arc::clone(&seen), key.clone());
    engines.faults().of_writes(move |_| {
        *looking.lock() = Some(rows.get(&of_key));
        None
    });
    write(&range, "k", "new").await;
    assert_eq!(*seen.lock(), Some(None));
    assert_eq!(range.rows.get(&key), Some("new".into()), "it was cached");
}

#[tokio::test]
async fn a_row_read_before_a_write_is_not_cached() {
    let range = range();
    write(&range, "k", "old").await;
    range.rows.begin_write(&"k".into());
    let (resume, resumed) = oneshot::channel::<()>();
    let key = Bytes::from("k");
    let mut read = pin!(range.rows.get_or_read(
        &key,
        || true,
        async || {
            let old = range.engine.get(&key).await;
            resumed.await.unwrap();
            old
        }
    ));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(read.as_mut().poll(&mut context), Poll::Pending));
    write(&range, "k", "new").await;
    resume.send(()).unwrap();
    assert_eq!(
        read.await.unwrap(),
        Some("old".into()),
        "the read that began before the write is not cached"
    );
    assert_eq!(range.get(&key).await.unwrap(), Some("new".into()));
}

#[tokio::test]
async fn dropping_the_caller_does_not_stop_a_write() {
    let range = range();
    {
        let locked = lock(&range, "k").await;
        let mut commit = pin!(locked.commit(put("k", "v")));
        let mut context = Context::from_waker(Waker::noop());
        let _ = commit.as_mut().poll(&mut context);
    }
    let locked = lock(&range, "k").await;
    assert_eq!(locked.read(&"k".into()).await.unwrap(), Some("v".into()));
}

#[tokio::test]
async fn a_refused_write_changes_nothing_and_frees_its_locks() {
    let range = range();
    write(&range, "k", "v").await;
    range.engine().close().await;
    let refused = lock(&range, "k").await.commit(put("k", "w")).await;
    assert!(
        matches!(refused, Err(WriteError::Refused(_))),
        "{refused:?}"
    );
    drop(lock(&range, "k").await);
}

#[tokio::test]
async fn a_frozen_range_finishes_its_writes_and_refuses_new_ones() {
    let range = range();
    let locked = lock(&range, "k").await;
    let mut freezing = pin!(range.freeze());
    let mut context = Context::from_waker(Waker::noop());
    assert!(freezing.as_mut().poll(&mut context).is_pending());
    let refused = range.lock([b"other".as_slice()].into_iter()).await;
    assert_eq!(refused.err(), Some(InTransit));
    locked.commit(put("k", "v")).await.unwrap();
    freezing.await;
    assert_eq!(range.get(&"k".into()).await.unwrap(), Some("v".into()));
    range.thaw();
    write(&range, "k", "w").await;
}

#[tokio::test]
async fn the_drop_signal_fires_when_the_last_reference_is_dropped() {
    let (alive, mut gone) = oneshot::channel();
    let engine = Arc::new(MemoryEngine::new());
    let range =
        Range::new(RangeId(1), Bounds::all(), engine, Arc::default()).with_drop_signal(alive);
    let range = Arc::new(range);
    let reader = Arc::clone(&range);
    drop(range);
    assert!(matches!(
        gone.try_recv(),
        Err(oneshot::error::TryRecvError::Empty)
    ));
    drop(reader);
    assert!(gone.await.is_err());
}

/// A range of the same memory and the same rows.
fn again(range: &Range, memory: &Arc<RowMemory>) -> Range {
    let engine = Arc::clone(range.engine());
    Range::new(RangeId(2), Bounds::all(), engine, Arc::clone(memory))
}

#[tokio::test]
async fn a_later_tenure_finds_no_row_of_an_earlier_one() {
    let memory = Arc::new(RowMemory::default());
    let first = Arc::new(again(&range(), &memory));
    write(&first, "k", "v").await;
    assert_eq!(first.get(&"k".into()).await.unwrap(), Some("v".into()));
    // Another process served the range and wrote.
    let done = first.engine().reserve(100).await.unwrap();
    done.submit(put("k", "w"), Box::new(|_| ()));
    let later = Arc::new(again(&first, &memory));
    assert_eq!(later.get(&"k".into()).await.unwrap(), Some("w".into()));
    let locked = lock(&later, "k").await;
    assert_eq!(locked.read(&"k".into()).await.unwrap(), Some("w".into()));
    // A read of the earlier tenure that ends late does not fill the cache of the later one.
    later.rows.begin_write(&"k".into());
    let key = Bytes::from("k");
    let late = first
        .rows
        .get_or_read(&key, || true, async || Ok(Some("old".into())));
    late.await.unwrap();
    assert_eq!(later.get(&"k".into()).await.unwrap(), Some("w".into()));
}

#[tokio::test]
async fn a_replacement_continues_with_the_cached_rows_of_one_tenure() {
    let memory = Arc::new(RowMemory::default());
    let old = Arc::new(again(&range(), &memory));
    write(&old, "k", "v").await;
    old.get(&"k".into()).await.unwrap();
    let child = again(&old, &memory).continuing(&[Arc::clone(&old)]);
    assert_eq!(child.rows.get(&"k".into()), Some("v".into()));
    let of_another_tenure = Arc::new(again(&old, &memory));
    for parents in [vec![], vec![old, of_another_tenure]] {
        let merged = again(&child, &memory).continuing(&parents);
        assert_eq!(merged.rows.get(&"k".into()), None);
    }
}

proptest! {
    /// Reading many keys returns the same as single reads, for any rows between the keys and any cached rows.
    #[test]
    fn read_many_equals_single_reads(
        there in prop::collection::btree_map(0..200_u16, any::<u8>(), 0..120),
        cached in prop::collection::btree_set(0..200_u16, 0..20),
        asked in prop::collection::vec(0..200_u16, 0..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let range = range();
            let key = |number: u16| Bytes::copy_from_slice(&number.to_be_bytes());
            for (&number, &value) in &there {
                let mut batch = Batch::new();
                batch.put(key(number), Bytes::from(vec![value]));
                range.engine().reserve(batch.bytes()).await.unwrap().submit(batch, Box::new(|_| ()));
            }
            for &number in &cached {
                range.get(&key(number)).await.unwrap();
            }
            let keys: Vec<Bytes> = asked.iter().map(|&number| key(number)).collect();
            let locked = range.lock(keys.iter().map(AsRef::as_ref)).await.unwrap();
            let mut single = Vec::new();
            for key in &keys {
                single.push(locked.read(key).await.unwrap());
            }
            prop_assert_eq!(locked.read_many(&keys).await.unwrap(), single);
            Ok(())
        })?;
    }
}
