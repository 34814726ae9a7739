//! Measures an engine alone, without HTTP: `cargo run --release -p partita-engine --example measure -- FOLDER [KIND]`.
//!
//! Without KIND it measures durable single puts with 1, 16, 64 and 256 callers, batches of 100 rows with 8 callers,
//! gets of hot, of all and of absent rows, and scans of 1,000 rows, each for 1.5 s, and then a reopen. Values are 1 KiB
//! of text that compresses about 2:1.
//!
//! | kind | measures |
//! | --- | --- |
//! | `memory` | the same on the engine in memory |
//! | `load COUNT` | opens, then only writes: COUNT runs of 1.5 s with 64 callers, unless the process is killed |
//! | `open` | opens, prints the duration, and reads once; after a killed `load` this measures crash recovery |
//! | `scan` | only scans |
//! | `batch` | only batches |
//! | `absent FILES` | gets of absent keys in a database of FILES files, 25 by default, of 10,000 rows each |

#![allow(clippy::print_stdout, reason = "its purpose is to print")]

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use partita_engine::memory::MemoryEngineSet;
use partita_engine::slate::{Settings, SlateEngineSet};
use partita_engine::{Batch, Engine, EngineSet, KeyRange, RangeId, ScanHint};
use partita_rt::{DataDir, Tasks};

const RUN: Duration = Duration::from_millis(1_500);
const ROWS: u64 = 200_000;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().expect("a folder");
    let kind = arguments.get(1).map_or("wal", String::as_str);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let started = Instant::now();
        let (set, engine) = open(Path::new(folder), kind).await;
        if kind == "batch" {
            for _ in 0..4 {
                puts(&engine, 8, 100).await;
            }
            set.close().await;
            return;
        }
        if kind == "absent" {
            let files = arguments.get(2).and_then(|text| text.parse().ok());
            write_files(&engine, files.unwrap_or(25)).await;
            for callers in [1, 4] {
                gets(&engine, "absent gets", callers, false, absent_key).await;
            }
            set.close().await;
            return;
        }
        if kind == "scan" {
            if engine.get(&row_key(0)).await.expect("a get").is_none() {
                fill(&engine).await;
            }
            for callers in [1, 8, 1, 8] {
                scans(&engine, callers).await;
            }
            set.close().await;
            return;
        }
        if matches!(kind, "load" | "open") {
            println!(
                "open: {:?}, WAL {} MiB",
                started.elapsed(),
                set.stats().log_bytes >> 20
            );
            for _ in 0..arguments
                .get(2)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0)
            {
                puts(&engine, 64, 1).await;
            }
            let mut rows = engine
                .scan(KeyRange::all(), ScanHint::page(10))
                .await
                .expect("a scan");
            println!(
                "{} rows",
                rows.next(10, usize::MAX).await.expect("a page").len()
            );
            println!("{} KiB resident", resident_kib());
            set.close().await;
            return;
        }
        measure(&*set, &engine).await;
        println!("{} KiB resident", resident_kib());
        set.close().await;
        drop((set, engine));
        if kind != "memory" {
            let started = Instant::now();
            let (set, _engine) = open(Path::new(folder), kind).await;
            println!("open after close: {:?}", started.elapsed());
            set.close().await;
        }
    });
}

async fn open(folder: &Path, kind: &str) -> (Arc<dyn EngineSet>, Arc<dyn Engine>) {
    let set: Arc<dyn EngineSet> = if kind == "memory" {
        Arc::new(MemoryEngineSet::new())
    } else {
        let data = Arc::new(DataDir::open(folder).expect("the folder opens"));
        let mut settings = Settings::default();
        if kind == "absent" {
            // The files stay as many as were written.
            settings.compaction_poll = Duration::from_secs(24 * 3600);
        }
        let opened = SlateEngineSet::new(data, settings).await;
        Arc::new(opened.expect("the data opens"))
    };
    let engine = set.open(RangeId(1)).await;
    (set, engine.expect("the range opens"))
}

async fn measure(set: &dyn EngineSet, engine: &Arc<dyn Engine>) {
    for callers in [1, 16, 64, 256] {
        puts(engine, callers, 1).await;
    }
    puts(engine, 8, 100).await;
    let started = Instant::now();
    fill(engine).await;
    println!("fill {ROWS} rows: {:?}", started.elapsed());
    for (name, rows) in [("hot gets", 10_000), ("all gets", ROWS), ("all gets", ROWS)] {
        for callers in [1, 8] {
            let key = move || row_key(partita_rt::random::u64() % rows);
            gets(engine, name, callers, true, key).await;
        }
    }
    gets(engine, "absent gets", 1, false, absent_key).await;
    for callers in [1, 8, 1, 8] {
        scans(engine, callers).await;
    }
    let stats = set.stats();
    println!(
        "groups {} of {:.1} batches and {:.0} bytes, sync {:.0} us; cache {} hits {} misses {} MiB; WAL {} MiB",
        stats.group_batches.count,
        stats.group_batches.mean(),
        stats.group_bytes.mean(),
        stats.sync_us.mean(),
        stats.cache_hits,
        stats.cache_misses,
        stats.cache_bytes >> 20,
        stats.log_bytes >> 20,
    );
}

async fn puts(engine: &Arc<dyn Engine>, callers: u64, batch_rows: u64) {
    let next = Arc::new(AtomicU64::new(1 << 32));
    run(engine, "puts", callers, batch_rows, move |engine| {
        let next = Arc::clone(&next);
        async move {
            let first = next.fetch_add(batch_rows, Ordering::Relaxed);
            let mut batch = Batch::new();
            for number in first..first + batch_rows {
                batch.put(key(number), value(number));
            }
            commit(&*engine, batch).await;
        }
    })
    .await;
}

/// Writes rows that are far apart to each of some files of level 0.
async fn write_files(engine: &Arc<dyn Engine>, files: u64) {
    const FILE_ROWS: u64 = 10_000;
    for file in 0..files {
        for first in (file * FILE_ROWS..(file + 1) * FILE_ROWS).step_by(500) {
            let mut batch = Batch::new();
            for number in first..first + 500 {
                batch.put(key(number), value(number));
            }
            commit(&**engine, batch).await;
        }
        engine.flush().await.expect("the flush is done");
    }
    println!("{files} files of {FILE_ROWS} rows");
}

async fn fill(engine: &Arc<dyn Engine>) {
    for first in (0..ROWS).step_by(500) {
        let mut batch = Batch::new();
        for number in first..first + 500 {
            batch.put(row_key(number), value(number));
        }
        commit(&**engine, batch).await;
    }
    engine.flush().await.expect("the flush is done");
}

/// Gets of random keys; `found` selects present or absent keys. Every insert begins with a get of an absent key.
async fn gets(
    engine: &Arc<dyn Engine>,
    name: &str,
    callers: u64,
    found: bool,
    key: impl Fn() -> Bytes + Copy + Send + Sync + 'static,
) {
    run(engine, name, callers, 1, move |engine| async move {
        let row = engine.get(&key()).await.expect("a get");
        assert_eq!(row.is_some(), found);
    })
    .await;
}

async fn scans(engine: &Arc<dyn Engine>, callers: u64) {
    run(
        engine,
        "scans of 1,000",
        callers,
        1_000,
        |engine| async move {
            let start = row_key(partita_rt::random::u64() % (ROWS - 2_000));
            let range = KeyRange {
                start: Bound::Included(start),
                end: Bound::Unbounded,
            };
            let mut scan = engine
                .scan(range, ScanHint::page(1_000))
                .await
                .expect("a scan");
            let page = scan.next(1_000, usize::MAX).await.expect("a page");
            assert_eq!(page.len(), 1_000);
        },
    )
    .await;
}

async fn run<W, F>(engine: &Arc<dyn Engine>, name: &str, callers: u64, rows: u64, work: W)
where
    W: Fn(Arc<dyn Engine>) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (tasks, work) = (Tasks::new(), Arc::new(work));
    let started = Instant::now();
    let before = cpu_seconds();
    let mut running = Vec::new();
    for _ in 0..callers {
        let (engine, work) = (Arc::clone(engine), Arc::clone(&work));
        running.push(tasks.spawn("caller", async move {
            let mut latencies = Vec::new();
            while started.elapsed() < RUN {
                let begun = Instant::now();
                work(Arc::clone(&engine)).await;
                latencies.push(begun.elapsed());
            }
            latencies
        }));
    }
    let mut latencies = Vec::new();
    for caller in running {
        latencies.extend(caller.await.expect("a caller"));
    }
    let elapsed = started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let count = latencies.len();
    println!(
        "{name:14} {callers:3} callers: {:7.0}/s {:8.0} rows/s p50 {:6.3} p99 {:7.3} max {:6.1} ms cpu {:6.1} us",
        count as f64 / elapsed,
        count as f64 * rows as f64 / elapsed,
        latencies[count / 2].as_secs_f64() * 1e3,
        latencies[count * 99 / 100].as_secs_f64() * 1e3,
        latencies[count - 1].as_secs_f64() * 1e3,
        (cpu_seconds() - before) * 1e6 / count as f64,
    );
}

async fn commit(engine: &dyn Engine, batch: Batch) {
    let permit = engine.reserve(batch.bytes()).await.expect("room");
    let (sender, receiver) = tokio::sync::oneshot::channel();
    permit.submit(
        batch,
        Box::new(move |result| {
            let _ = sender.send(result);
        }),
    );
    receiver.await.expect("an answer").expect("a commit");
}

/// A key for each number. The keys of consecutive numbers are far apart, like inserts into many partitions.
fn key(number: u64) -> Bytes {
    format!(
        "p{:016x}-{:016x}",
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        number
    )
    .into()
}

fn absent_key() -> Bytes {
    key(partita_rt::random::u64() | 1 << 63)
}

fn row_key(number: u64) -> Bytes {
    format!("row-{number:012}-and-some-more-of-a-key").into()
}

fn value(number: u64) -> Bytes {
    let mut text = String::with_capacity(1_024);
    let mut state = number.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
    while text.len() < 1_024 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&format!("\"Property\":\"{state:016x}\","));
    }
    text.truncate(1_024);
    text.into()
}

fn proc_self(file: &str) -> String {
    std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default()
}

/// User and system time of the process in seconds. The kernel counts in hundredths.
fn cpu_seconds() -> f64 {
    let stat = proc_self("stat");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

fn resident_kib() -> String {
    let status = proc_self("status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or("");
    line.split_whitespace().nth(1).unwrap_or("?").to_owned()
}
