//! Measures the log in an object store: `cargo run --release -p partita-wal --example remote_log -- PLACE`.
//!
//! The place is a new folder, which is synced after each PUT, or a URL such as `s3://bucket/prefix`. For each size of a group and each gap, one caller appends groups for 1.5 s;
//! "PUT" is a put-if-absent of the same bytes without a log. Then a log of 500 objects and 160 MiB is taken over twice:
//! from nothing, and after it was read in advance.

#![allow(clippy::print_stdout, reason = "its purpose is to print")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::path::Path;
use object_store::{ObjectStore, PutMode, PutOptions};
use partita_rt::place::{Client, Place};
use partita_wal::remote::{Life, Options, RemoteLogs};
use partita_wal::{RangeId, RecordHeader, RecordSize, RowRef, Wal, WalId};

const RUN: Duration = Duration::from_millis(1_500);
const SIZES: [usize; 4] = [1 << 10, 16 << 10, 256 << 10, 1 << 20];
const RANGE: RangeId = RangeId(1);

fn main() {
    let place = std::env::args().nth(1).expect("a place");
    let place = Place::parse(&place).expect("a place");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let client = Client::Log(runtime.handle().clone());
    let store = place.server_store(&client).expect("a store");
    runtime.block_on(async {
        println!("group       gap    PUT p50    p99   append p50    p99   groups/s");
        let mut life = 0;
        for bytes in SIZES {
            let puts = measure_puts(&*store, bytes).await;
            for gap in [Duration::ZERO, Duration::from_millis(10)] {
                life += 1;
                let appends = measure_appends(&store, Life(life), gap, bytes).await;
                println!(
                    "{:>5} KiB {:>4} ms {:>7} ms {:>6} {:>9} ms {:>6} {:>10}",
                    bytes >> 10,
                    gap.as_millis(),
                    millis(&puts, 50),
                    millis(&puts, 99),
                    millis(&appends, 50),
                    millis(&appends, 99),
                    (appends.len() as f64 / RUN.as_secs_f64()) as u64,
                );
            }
        }
        for ahead in [false, true] {
            life += 1;
            take_over(&store, Life(life), ahead).await;
        }
    });
}

/// A percentile of sorted durations, in milliseconds.
fn millis(sorted: &[Duration], percent: usize) -> String {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    let duration = sorted.get(at).copied().unwrap_or_default();
    format!("{:.1}", duration.as_secs_f64() * 1_000.0)
}

/// Measures put-if-absent of objects.
async fn measure_puts(store: &dyn ObjectStore, bytes: usize) -> Vec<Duration> {
    let (mut durations, began) = (Vec::new(), Instant::now());
    while began.elapsed() < RUN {
        let path = Path::from(format!("puts/{bytes}-{:08}", durations.len()));
        let started = Instant::now();
        let put = store.put_opts(
            &path,
            vec![7; bytes].into(),
            PutOptions::from(PutMode::Create),
        );
        put.await.expect("the object is new");
        durations.push(started.elapsed());
    }
    durations.sort();
    durations
}

/// Appends a record with a value of `bytes` bytes.
async fn append(wal: &dyn Wal, id: u64, bytes: usize) {
    let value = vec![7; bytes];
    let row = RowRef {
        key: b"key",
        value: Some(&value),
        create_ts: None,
        expire_ts: None,
    };
    let size = RecordSize {
        rows: 1,
        payload_bytes: bytes + 3,
    };
    let header = RecordHeader {
        range: RANGE,
        wal_id: WalId(id),
        seq: id,
    };
    let room = wal.make_room(&mut [size].into_iter());
    room.await.expect("there is room");
    let added = wal.add(header, size, &mut [row].into_iter());
    added.expect("the record fits");
    wal.append_group().await.expect("the group is appended");
}

/// Measures groups of one record each.
async fn measure_appends(
    store: &Arc<dyn ObjectStore>,
    life: Life,
    gap: Duration,
    bytes: usize,
) -> Vec<Duration> {
    let options = Options {
        gap,
        ..Options::default()
    };
    let logs = RemoteLogs::new(Arc::clone(store), options);
    let wal = logs.begin(life).await.expect("a new log");
    let (mut durations, began) = (Vec::new(), Instant::now());
    while began.elapsed() < RUN {
        let started = Instant::now();
        append(&*wal, durations.len() as u64 + 1, bytes).await;
        durations.push(started.elapsed());
    }
    durations.sort();
    durations
}

/// Takes over a log of 500 groups and 160 MiB.
async fn take_over(store: &Arc<dyn ObjectStore>, life: Life, ahead: bool) {
    const GROUPS: u64 = 500;
    const BYTES: usize = (160 << 20) / GROUPS as usize;
    let options = Options {
        gap: Duration::ZERO,
        ..Options::default()
    };
    let logs = RemoteLogs::new(Arc::clone(store), options);
    let wal = logs.begin(life).await.expect("a new log");
    let mut reader = logs.reader(life);
    for id in 1..=GROUPS {
        if ahead && id == GROUPS - 10 {
            let started = Instant::now();
            reader.read_ahead().await.expect("the log is readable");
            println!("read in advance: {:?}", started.elapsed());
        }
        append(&*wal, id, BYTES).await;
    }
    let started = Instant::now();
    let sealed = logs.seal(life, "example").await.expect("a seal");
    let seal = started.elapsed();
    let started = Instant::now();
    let ranges = BTreeMap::from([(RANGE, WalId(0))]);
    let found = reader.read(&sealed, &ranges).await.expect("the records");
    let read = started.elapsed();
    assert_eq!(found[&RANGE].len() as u64, GROUPS, "every record is there");
    let mib = sealed.bytes() >> 20;
    println!("take-over of {GROUPS} groups, {mib} MiB: seal {seal:?}, read {read:?}");
}
