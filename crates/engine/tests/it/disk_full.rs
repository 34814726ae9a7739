//! A full disk: a small file system in memory, mounted for the test.
//!
//! Mounting needs root. Without that permission the test prints a note and ends; `slate::tests` has the same case with
//! a simulated full disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use partita_engine::{Batch, Engine, EngineSet, Health, KeyRange, ScanHint, WriteError};

use super::{commit, open};

/// A mounted file system, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    fn new(path: &Path, mib: usize) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "partita-test"])
            .arg(path)
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(path.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// The size of the file system.
const DISK_MIB: usize = 240;

/// The size of the file that is removed to make space: as much again as the rows take until the disk is full, and six
/// segments of the WAL. With less, the flush of these rows can fill the disk again, and the last start would wait.
const BALLAST_MIB: usize = 140;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_writes_and_serves_reads() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(directory.path(), DISK_MIB) else {
        println!("skipped: mounting a small file system is not allowed here");
        return;
    };
    let (set, engine) = open(directory.path()).await;
    let ballast = directory.path().join("ballast");
    std::fs::write(&ballast, vec![1; BALLAST_MIB << 20]).unwrap();

    let mut written = 0_u32;
    let refused = fill(&*engine, &mut written).await;
    assert!(matches!(refused, WriteError::Refused(_)), "{refused}");
    assert!(
        written > 100,
        "the disk was full after only {written} batches"
    );
    for _ in 0..20 {
        let refused = commit(&*engine, batch(written)).await.unwrap_err();
        assert!(matches!(refused, WriteError::Refused(_)), "{refused}");
        assert!(matches!(
            engine.health(),
            Health::DiskFull | Health::Backlogged
        ));
    }
    check(&*engine, written).await;

    std::fs::remove_file(&ballast).unwrap();
    let freed = Instant::now();
    while let Err(error) = commit(&*engine, batch(written)).await {
        assert!(matches!(error, WriteError::Refused(_)), "{error}");
        assert!(
            freed.elapsed() < Duration::from_secs(30),
            "still {:?}",
            engine.health()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    written += 1;
    for _ in 0..20 {
        commit(&*engine, batch(written)).await.unwrap();
        written += 1;
    }
    check(&*engine, written).await;
    set.close().await;
    drop((set, engine));
    let (set, engine) = open(directory.path()).await;
    check(&*engine, written).await;
    set.close().await;
}

/// Writes until a write is not acknowledged.
async fn fill(engine: &dyn Engine, written: &mut u32) -> WriteError {
    loop {
        if let Err(error) = commit(engine, batch(*written)).await {
            return error;
        }
        *written += 1;
        assert!(*written < 100_000, "the disk becomes full");
    }
}

/// Checks that every acknowledged batch exists, and no refused batch.
async fn check(engine: &dyn Engine, written: u32) {
    let mut scan = engine
        .scan(KeyRange::all(), ScanHint::walk())
        .await
        .unwrap();
    let mut count = 0;
    loop {
        let page = scan.next(1_000, usize::MAX).await.unwrap();
        if page.is_empty() {
            break;
        }
        for (key, value) in page {
            assert_eq!(key, count_key(count));
            assert_eq!(value, bytes(count));
            count += 1;
        }
    }
    assert_eq!(count, written);
}

fn batch(number: u32) -> Batch {
    let mut batch = Batch::new();
    batch.put(count_key(number), bytes(number));
    batch
}

fn count_key(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

/// 100 kB that do not compress: the number, and the same noise in each row. Each row fills its own blocks.
fn bytes(number: u32) -> Bytes {
    static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let words = std::iter::repeat_with(|| partita_rt::random::u64().to_le_bytes());
        words.take(12_500).flatten().collect()
    });
    let mut bytes = NOISE.clone();
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    bytes.into()
}
