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
    let databases = SlateEngineSet::new(data, settings).await.unwrap();
    let engine = databases.open(FIRST).await.unwrap();
    (databases, engine)
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

async fn names(databases: &SlateEngineSet, pin: Option<&PinId>) -> BTreeSet<String> {
    let files = databases.files(FIRST, pin).await.unwrap();
    files.into_iter().map(|file| file.name).collect()
}

/// Of these files, those that are on the disk.
fn there(directory: &Path, files: &BTreeSet<String>) -> BTreeSet<String> {
    let folder = directory.join("store/range-1/compacted");
    let is_there = |name: &&String| folder.join(format!("{name}.sst")).exists();
    files.iter().filter(is_there).cloned().collect()
}

/// Rewrites and collects until of these files nothing is left.
async fn collect(directory: &Path, engine: &dyn Engine, files: &BTreeSet<String>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !there(directory, files).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", there(directory, files));
        engine.detach().await.unwrap();
        // Nothing is collected that is newer than the newest file that was flushed.
        commit(engine, put("mark", "")).await.unwrap();
        engine.flush().await.unwrap();
        engine.collect().await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn first_value(databases: &SlateEngineSet, pin: &PinId) -> Bytes {
    let pinned = databases.open_pin(FIRST, pin).await.unwrap();
    let mut scan = pinned
        .scan(KeyRange::all(), ScanHint::walk())
        .await
        .unwrap();
    let rows = scan.next(usize::MAX, usize::MAX).await.unwrap();
    assert_eq!(rows.len(), ROWS as usize);
    rows[0].1.slice(..1)
}

/// What a pin reads stays, while what is garbage beside it goes, across a restart too; and it goes when the pin does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pin_keeps_its_files_and_no_longer_than_it_lasts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (databases, engine) = open(path).await;
    fill(&*engine, "a").await;
    let pin = databases.pin(&[FIRST]).await.unwrap().pins.remove(0);
    let pinned = names(&databases, Some(&pin)).await;
    assert!(!pinned.is_empty());

    fill(&*engine, "b").await;
    let now = names(&databases, None).await;
    let unpinned: BTreeSet<String> = now.difference(&pinned).cloned().collect();
    assert!(!unpinned.is_empty());
    collect(path, &*engine, &unpinned).await;
    assert_eq!(there(path, &pinned), pinned);
    assert_eq!(first_value(&databases, &pin).await, "a");
    databases.close().await;
    drop((databases, engine));

    let (databases, engine) = open(path).await;
    let pins = databases.pins(FIRST).await.unwrap();
    assert_eq!(pins, std::slice::from_ref(&pin));
    assert_eq!(first_value(&databases, &pin).await, "a");
    assert_eq!(
        engine.get(&0_u32.to_be_bytes()).await.unwrap().unwrap()[0],
        b'b'
    );
    databases.unpin(FIRST, &pin).await.unwrap();
    collect(path, &*engine, &pinned).await;
    databases.close().await;
}
