use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use partita_rt::DataDir;
use tokio::time::Instant;

use crate::conformance::{FIRST, commit, put};
use crate::slate::{Settings, SlateEngineSet};
use crate::{Engine, EngineSet, KeyRange, PinId, ScanHint};

const ROWS: u32 = 200;

async fn open(directory: &Path) -> (SlateEngineSet, Arc<dyn Engine>) {
    let data = Arc::new(DataDir::open(directory).unwrap());
    let settings = Settings {
        garbage_age: Duration::from_secs(1),
        ..Settings::default()
    };
    let set = SlateEngineSet::new(data, settings).await.unwrap();
    let engine = set.open(FIRST).await.unwrap();
    (set, engine)
}

/// Writes all rows with this value, in two files.
async fn fill(engine: &dyn Engine, value: &str) {
    for number in 0..ROWS {
        let value = value.repeat(1000);
        commit(engine, put(number.to_be_bytes().to_vec(), value))
            .await
            .unwrap();
        if number % (ROWS / 2) == ROWS / 2 - 1 {
            engine.flush().await.unwrap();
        }
    }
}

async fn names(set: &SlateEngineSet, pin: Option<&PinId>) -> BTreeSet<String> {
    let files = set.files(FIRST, pin).await.unwrap();
    files.into_iter().map(|file| file.name).collect()
}

/// The given files that exist on the disk.
fn existing(directory: &Path, files: &BTreeSet<String>) -> BTreeSet<String> {
    let folder = directory.join("store/range-1/compacted");
    let is_there = |name: &&String| folder.join(format!("{name}.sst")).exists();
    files.iter().filter(is_there).cloned().collect()
}

/// Compacts and collects garbage until all given files are deleted.
async fn collect(directory: &Path, engine: &dyn Engine, files: &BTreeSet<String>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !existing(directory, files).is_empty() {
        assert!(
            Instant::now() < deadline,
            "{:?}",
            existing(directory, files)
        );
        engine.detach().await.unwrap();
        // Files that are newer than the newest flushed one are not collected, so each round flushes a new one.
        commit(engine, put("newest", "")).await.unwrap();
        engine.flush().await.unwrap();
        engine.collect().await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn first_value(set: &SlateEngineSet, pin: &PinId) -> Bytes {
    let pinned = set.open_pin(FIRST, pin).await.unwrap();
    let mut scan = pinned
        .scan(KeyRange::all(), ScanHint::walk())
        .await
        .unwrap();
    let rows = scan.next(usize::MAX, usize::MAX).await.unwrap();
    assert_eq!(rows.len(), ROWS as usize);
    let (_, value) = rows.get(0).unwrap();
    Bytes::copy_from_slice(&value[..1])
}

/// The files of a pin survive garbage collection and a restart. They are removed after the unpin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_of_a_pin_stay_until_the_unpin() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (set, engine) = open(path).await;
    fill(&*engine, "a").await;
    let pin = set.pin(&[FIRST]).await.unwrap().pins.remove(0);
    let pinned = names(&set, Some(&pin)).await;
    assert!(!pinned.is_empty());

    fill(&*engine, "b").await;
    let now = names(&set, None).await;
    let unpinned: BTreeSet<String> = now.difference(&pinned).cloned().collect();
    assert!(!unpinned.is_empty());
    collect(path, &*engine, &unpinned).await;
    assert_eq!(existing(path, &pinned), pinned);
    assert_eq!(first_value(&set, &pin).await, "a");
    set.close().await;
    drop((set, engine));

    let (set, engine) = open(path).await;
    let pins = set.pins(FIRST).await.unwrap();
    assert_eq!(pins, std::slice::from_ref(&pin));
    assert_eq!(first_value(&set, &pin).await, "a");
    assert_eq!(
        engine.get(&0_u32.to_be_bytes()).await.unwrap().unwrap()[0],
        b'b'
    );
    set.unpin(FIRST, &pin).await.unwrap();
    collect(path, &*engine, &pinned).await;
    set.close().await;
}
