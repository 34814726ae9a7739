//! How long a snapshot takes under load, and how long writes wait for it.
//!
//! `cargo run --release -p partita-cluster --example snapshot_pause -- [MIB] [DIR]` fills a store of four ranges with rows of 1 KiB,
//! goes on writing with 64 writers, takes ten snapshots, and prints for each: the time of the call, the pause of the commit loop,
//! and the slowest write meanwhile. `docs/reliability.md` has what it said.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot go on ends; its output is its result"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use partita_cluster::{Manager, ObjectMapStore};
use partita_engine::Batch;
use partita_engine::slate::{Settings, SlateDatabases};
use partita_model::{DateTime, TableId, TableSpace};
use partita_rt::{DataDir, Tasks, random};

const WRITERS: u64 = 64;
const RANGES: u64 = 4;
const SNAPSHOTS: u32 = 10;
const BATCH_ROWS: u64 = 50;

fn key(number: u64) -> Bytes {
    let partition = format!("p{}{number:09}", number % RANGES);
    TableSpace::new("account", TableId(1)).entity(&partition, "r")
}

/// 1 KiB that does not compress.
fn value() -> Bytes {
    let words = std::iter::repeat_with(|| random::u64().to_le_bytes());
    words.take(128).flatten().collect::<Vec<_>>().into()
}

/// Writes rows of one range by one commit; one that is refused is tried again.
async fn put(manager: &Manager, numbers: impl Iterator<Item = u64> + Clone) {
    let keys: Vec<Bytes> = numbers.map(key).collect();
    loop {
        let Ok(locked) = manager.map().lock(&keys).await else {
            continue;
        };
        let mut batch = Batch::with_capacity(keys.len());
        for key in &keys {
            batch.put(key.clone(), value());
        }
        if locked.commit(batch).await.is_ok() {
            return;
        }
    }
}

async fn open(directory: &str) -> Arc<Manager> {
    let data = Arc::new(DataDir::open(directory).unwrap());
    let map = Arc::new(ObjectMapStore::new(data.store()));
    let databases = SlateDatabases::new(data, Settings::default())
        .await
        .unwrap();
    let opened = Manager::open(Arc::new(databases), Arc::default(), map, Tasks::new()).await;
    let manager = opened.unwrap();
    for range in 1..RANGES {
        let last = manager.map().ranges().last().unwrap().range.id();
        let cut = TableSpace::new("account", TableId(1)).partition(&format!("p{range}"));
        // On a busy machine a change can take too long, and is undone.
        while manager.split(last, Some(cut.clone())).await.is_err() {}
    }
    manager
}

/// Keeps writing until told to stop, and notes the slowest write since somebody looked.
async fn write(
    manager: Arc<Manager>,
    from: u64,
    stop: Arc<AtomicBool>,
    slowest_us: Arc<AtomicU64>,
) {
    let mut number = from;
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        put(&manager, std::iter::once(number)).await;
        let us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        slowest_us.fetch_max(us, Ordering::Relaxed);
        number += WRITERS;
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let mib: u64 = arguments.next().map_or(1024, |text| text.parse().unwrap());
    let directory = arguments
        .next()
        .unwrap_or_else(|| "snapshot_pause.data".to_owned());
    let manager = open(&directory).await;
    let rows = mib << 10;
    let began = Instant::now();
    for first in (0..rows).step_by((BATCH_ROWS * RANGES) as usize) {
        let puts = (0..RANGES).map(|range| {
            let numbers = (0..BATCH_ROWS).map(move |at| first + at * RANGES + range);
            put(&manager, numbers)
        });
        futures::future::join_all(puts).await;
    }
    println!(
        "{mib} MiB written in {:.1} s",
        began.elapsed().as_secs_f64()
    );

    let stop = Arc::new(AtomicBool::new(false));
    let slowest_us = Arc::new(AtomicU64::new(0));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (stop, slowest) = (Arc::clone(&stop), Arc::clone(&slowest_us));
        writers.spawn(write(Arc::clone(&manager), rows + writer, stop, slowest));
    }
    for number in 0..SNAPSHOTS {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = slowest_us.swap(0, Ordering::Relaxed);
        let name = format!("s{number}").parse().unwrap();
        let began = Instant::now();
        let taken = match manager.create_snapshot(name, DateTime::MIN).await {
            Ok(taken) => taken,
            Err(error) => {
                println!(
                    "refused after {:.1} s: {error}",
                    began.elapsed().as_secs_f64()
                );
                continue;
            }
        };
        println!(
            "taken in {:7.1} ms, pause {:5.2} ms, slowest write {:6.1} ms; in the second before {:6.1} ms",
            began.elapsed().as_secs_f64() * 1000.0,
            taken.pause.as_secs_f64() * 1000.0,
            slowest_us.swap(0, Ordering::Relaxed) as f64 / 1000.0,
            before as f64 / 1000.0,
        );
    }
    stop.store(true, Ordering::Relaxed);
    while writers.join_next().await.is_some() {}
    manager.databases().close().await;
}
