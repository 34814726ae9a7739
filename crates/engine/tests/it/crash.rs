//! Kills a process that writes, and compares the rows afterwards with the acknowledged ones.
//!
//! The test starts its own binary as the writer. Each caller in it writes numbered batches, one after the other, and
//! prints the acknowledged numbers. Then the test kills the process and reopens the directory.
//!
//! Checked after each kill, for each caller: every acknowledged batch exists, and at most one unacknowledged batch;
//! every batch is whole; values are correct; rows that were read are never lost.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use partita_engine::{Batch, Engine, EngineSet};
use partita_rt::Tasks;

use super::{commit, open};

const FOLDER: &str = "PARTITA_CRASH_TEST_FOLDER";
const CALLERS: u32 = 12;
const ROUNDS: u32 = 10;

/// Not a test: the process that the test kills. Without the environment variable it returns immediately.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writer() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let (_set, engine) = open(Path::new(&folder)).await;
    let tasks = Tasks::new();
    for caller in 0..CALLERS {
        let engine = Arc::clone(&engine);
        let mut number = last_of(&*engine, caller).await.map_or(0, |last| last + 1);
        tasks.spawn("caller", async move {
            loop {
                commit(&*engine, batch(caller, number)).await.unwrap();
                println!("acknowledged {caller} {number}");
                number += 1;
            }
        });
    }
    tasks.shutdown().requested().await;
}

#[test]
fn a_kill_loses_no_acknowledged_batch() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = vec![None; CALLERS as usize];
    for round in 0..ROUNDS {
        let mut child = start_writer(directory.path());
        // Kills happen before, during and after the first writes, and sometimes during a flush.
        let patience = Duration::from_millis(u64::from(round * 37 % 200));
        let printed = read_and_kill(&mut child, patience);
        for (caller, number) in printed {
            acknowledged[caller as usize] = Some(number);
        }
        // A batch that was read is never lost, acknowledged or not.
        acknowledged = check(directory.path(), &acknowledged, round % 3 == 0);
    }
    assert!(
        acknowledged.iter().all(Option::is_some),
        "every caller wrote a batch"
    );
}

fn start_writer(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash::writer",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the lines of the writer, and kills it `patience` after the first line.
fn read_and_kill(child: &mut Child, patience: Duration) -> Vec<(u32, u32)> {
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = Vec::new();
    let mut started = None;
    let mut line = String::new();
    while stdout.read_line(&mut line).unwrap() > 0 {
        acknowledged.extend(parse(&line));
        line.clear();
        let first = *started.get_or_insert_with(Instant::now);
        if first.elapsed() >= patience {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    acknowledged
}

/// The caller and the batch number; `None` for a line of the test harness or a line truncated by the kill.
fn parse(line: &str) -> Option<(u32, u32)> {
    let (_, numbers) = line.strip_suffix('\n')?.rsplit_once("acknowledged ")?;
    let (caller, number) = numbers.split_once(' ')?;
    Some((caller.parse().ok()?, number.parse().ok()?))
}

/// Compares the stored batches with the acknowledged batches, and returns the last stored batch of each caller.
fn check(folder: &Path, acknowledged: &[Option<u32>], flush: bool) -> Vec<Option<u32>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (set, engine) = open(folder).await;
        let mut seen = Vec::new();
        for (caller, acknowledged) in (0..).zip(acknowledged) {
            let last = last_of(&*engine, caller).await;
            assert!(
                last >= *acknowledged,
                "caller {caller}: {last:?} of {acknowledged:?}"
            );
            seen.push(last);
            let open = acknowledged.map_or(0, |number| number + 1);
            assert!(
                last <= Some(open),
                "caller {caller}: {last:?} was never sent"
            );
            for number in 0..=last.unwrap_or(0) {
                if last.is_none() {
                    break;
                }
                for half in 0..2 {
                    let found = engine.get(&key(caller, number, half)).await.unwrap();
                    assert_eq!(
                        found,
                        Some(value(caller, number)),
                        "{caller} {number} {half}"
                    );
                }
            }
        }
        if flush {
            engine.flush().await.unwrap();
        }
        set.close().await;
        seen
    })
}

/// The number of the last stored batch of this caller, from a row that each of its batches writes.
async fn last_of(engine: &dyn Engine, caller: u32) -> Option<u32> {
    let found = engine.get(&last_key(caller)).await.unwrap()?;
    Some(u32::from_be_bytes(found.as_ref().try_into().unwrap()))
}

fn batch(caller: u32, number: u32) -> Batch {
    let mut batch = Batch::new();
    batch.put(key(caller, number, 0), value(caller, number));
    batch.put(
        last_key(caller),
        Bytes::copy_from_slice(&number.to_be_bytes()),
    );
    batch.put(key(caller, number, 1), value(caller, number));
    batch
}

fn key(caller: u32, number: u32, half: u32) -> Bytes {
    format!("row {half} {caller} {number}").into()
}

fn last_key(caller: u32) -> Bytes {
    format!("last {caller}").into()
}

fn value(caller: u32, number: u32) -> Bytes {
    format!("{caller}-{number};")
        .repeat(1 + (number as usize % 400))
        .into()
}
