//! Reads that both readers answer.

use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;
use partita_wal::WalId;
use slatedb::{RowEntry, ValueDeletable};

use super::*;
use crate::Batch;

/// How many reads were compared, and how many of them differed.
fn counts(set: &SlateEngineSet) -> (u64, u64) {
    let stats = set.stats();
    let count = |name: &str| {
        let metric = stats.metrics.iter().find(|metric| metric.name == name);
        metric.unwrap().value as u64
    };
    (count("reader.comparisons"), count("reader.differences"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_when_the_readers_are_compared() {
    let parent = tempfile::tempdir().unwrap();
    let mut sets = Vec::new();
    conformance::run(async || {
        let directory = parent.path().join(sets.len().to_string());
        let set = Arc::new(set_that_reads(&directory, Reads::Compared).await);
        sets.push(Arc::clone(&set));
        set as Arc<dyn EngineSet>
    })
    .await;
    let counts: Vec<_> = sets.iter().map(|set| counts(set)).collect();
    assert!(counts.iter().map(|(compared, _)| compared).sum::<u64>() > 100);
    assert!(counts.iter().all(|(_, differ)| *differ == 0), "{counts:?}");
}

/// Writes, flushes and compactions change the rows and files between the two reads of a comparison.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_readers_agree_while_rows_are_written_and_flushed() {
    let directory = tempfile::tempdir().unwrap();
    let set = set_that_reads(directory.path(), Reads::Compared).await;
    let engine = set.open(conformance::FIRST).await.unwrap();
    let is_done = AtomicBool::new(false);
    let key_of = |rng: &mut Rng| Bytes::from(format!("key-{:03}", rng.u32(0..200)));
    let read = async |seed| {
        let mut rng = Rng::with_seed(seed);
        while !is_done.load(Ordering::Relaxed) {
            engine.get(&key_of(&mut rng)).await.unwrap();
            let keys = KeyRange {
                start: Bound::Included(key_of(&mut rng)),
                end: Bound::Unbounded,
            };
            rows(&*engine, keys, 1 + rng.usize(0..50)).await;
            tokio::task::yield_now().await;
        }
    };
    let write = async {
        let mut rng = Rng::with_seed(9);
        for number in 0..400 {
            let mut batch = Batch::new();
            for _ in 0..rng.u32(1..20) {
                match rng.u8(0..3) {
                    0 => batch.delete(key_of(&mut rng)),
                    _ => batch.put(key_of(&mut rng), format!("value {number}").into()),
                }
            }
            commit(&*engine, batch).await.unwrap();
            if number % 10 == 0 {
                engine.flush().await.unwrap();
            }
            if number % 50 == 0 {
                engine.detach().await.unwrap();
            }
        }
        is_done.store(true, Ordering::Relaxed);
    };
    tokio::join!(write, read(1), read(2));
    let (compared, differ) = counts(&set);
    assert!(compared > 100 && differ == 0, "{compared}, {differ}");
    set.close().await;
}

#[tokio::test]
async fn a_row_that_one_reader_lacks_fails_the_read() {
    let directory = tempfile::tempdir().unwrap();
    let set = set_that_reads(directory.path(), Reads::Compared).await;
    let engine = set.open(conformance::FIRST).await.unwrap();
    for key in ["a", "c", "e", "f"] {
        commit(&*engine, put(key, "value")).await.unwrap();
    }
    engine.flush().await.unwrap();
    let all = rows(&*engine, KeyRange::all(), 10).await;
    assert_eq!(all.len(), 4);
    assert_eq!(counts(&set).1, 0);

    // The own reader has a row that SlateDB does not have, and lacks another one.
    let database = set.core.databases().remove(0);
    let seq = database.db.snapshot().unwrap().seq();
    let change = |key: &'static str, value| RowEntry {
        key: key.into(),
        value,
        seq,
        create_ts: None,
        expire_ts: None,
    };
    let planted = [
        change("b", ValueDeletable::Value("planted".into())),
        change("e", ValueDeletable::Tombstone),
    ];
    database.reader.add(&planted, WalId(1_000));

    for (key, own, slatedb) in [
        ("b", "a row of 7 bytes, \"planted\"", "no row"),
        ("e", "no row", "a row of 5 bytes, \"value\""),
    ] {
        let text = text_of(engine.get(key.as_bytes()).await.unwrap_err());
        let wanted = format!(
            "the readers differ in range {}, a get, at key \"{key}\": Partita's reader returned {own}, SlateDB {slatedb}",
            conformance::FIRST
        );
        assert_eq!(text, wanted);
    }
    assert!(engine.get(b"a").await.unwrap().is_some());

    let end_of = |start: &'static str, end: &'static str| KeyRange {
        start: Bound::Excluded(start.into()),
        end: Bound::Included(end.into()),
    };
    for (keys, limit, key) in [
        (KeyRange::all(), 10, "b"),
        (KeyRange::all(), 2, "b"),
        // SlateDB has a further row at the end.
        (end_of("b", "e"), 10, "e"),
        (end_of("d", "e"), 1, "e"),
    ] {
        let mut scan = engine.scan(keys, ScanHint::walk()).await.unwrap();
        let text = text_of(scan.next(limit, usize::MAX).await.unwrap_err());
        assert!(text.contains(&format!("at key \"{key}\"")), "{text}");
    }
    assert_eq!(counts(&set).1, 6);
    set.close().await;
}

/// The text of the cause of an error that says that data is damaged.
fn text_of(error: ReadError) -> String {
    match error {
        ReadError::Corrupt(cause) => cause.to_string(),
        other => panic!("{other}"),
    }
}
