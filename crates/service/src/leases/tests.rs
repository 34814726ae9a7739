//! Leases between servers, in virtual time.

use super::{LEASE, LeasedRows, MARGIN};
use crate::testing::{FarFault, TestRange, TestServers};
use crate::{BusyReason, Error, Storage};
use bytes::Bytes;
use parking_lot::Mutex;
use partita_engine::Batch;
use partita_rt::{Clock, TokioClock};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const KEY: Bytes = Bytes::from_static(b"\x11key");

fn clock(rate: f64) -> Arc<dyn Clock> {
    Arc::new(TokioClock::with_rate(rate))
}

/// A server of the catalog, whose row has the value 1, and another server.
struct Rig {
    servers: Arc<TestServers>,
    ranges: Vec<TestRange>,
    home: Arc<Storage>,
    other: Arc<Storage>,
}

impl Rig {
    async fn new() -> Self {
        let (servers, ranges) = (TestServers::new(), TestRange::cut_at(&[b"\x20"[..].into()]));
        let [catalog, rows] = &ranges[..] else {
            panic!("two ranges");
        };
        let home = servers.start(&[catalog], clock(1.0));
        let other = servers.start(&[rows], clock(1.0));
        create(&home).await;
        Self {
            servers,
            ranges,
            home,
            other,
        }
    }
}

async fn create(home: &Storage) {
    let locked = home.lock(&[KEY]).await.unwrap();
    let mut batch = Batch::new();
    batch.put(KEY, vec![1].into());
    locked.commit(batch).await.unwrap();
}

/// Increases the value of the row, and returns the new one.
async fn change(home: &Storage) -> Result<u8, Error> {
    let locked = home.change_catalog(&[KEY]).await?;
    let row = locked.read(&KEY).await?.expect("the row exists");
    let value = row[0] + 1;
    let mut batch = Batch::new();
    batch.put(KEY, vec![value].into());
    locked.commit(batch).await?;
    Ok(value)
}

async fn read(storage: &Storage) -> Result<u8, Error> {
    let row = storage.catalog_row(&KEY).await?;
    Ok(row.map_or(0, |row| row[0]))
}

#[tokio::test(start_paused = true)]
async fn a_row_is_asked_for_once_a_second() {
    let rig = Rig::new().await;
    for _ in 0..100 {
        assert_eq!(read(&rig.other).await.unwrap(), 1);
        assert_eq!(read(&rig.home).await.unwrap(), 1);
        sleep(LEASE / 50).await;
    }
    assert_eq!(rig.servers.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_change_waits_until_no_server_uses_the_old_row() {
    let rig = Rig::new().await;
    let began = Instant::now();
    assert_eq!(change(&rig.home).await.unwrap(), 2);
    assert_eq!(began.elapsed(), Duration::ZERO, "no lease, no wait");

    assert_eq!(read(&rig.other).await.unwrap(), 2);
    let mut changing = pin!(change(&rig.home));
    let reading = async {
        while began.elapsed() < LEASE + MARGIN {
            assert_eq!(read(&rig.other).await.unwrap(), 2);
            assert_eq!(read(&rig.home).await.unwrap(), 2);
            sleep(Duration::from_millis(10)).await;
        }
    };
    let ((), changed) = tokio::join!(reading, changing.as_mut());
    assert_eq!(changed.unwrap(), 3);
    assert!(
        began.elapsed() < LEASE + 2 * MARGIN,
        "{:?}",
        began.elapsed()
    );
    assert_eq!(read(&rig.other).await.unwrap(), 3);
    // While the change waited, the other server got the row without a lease.
    assert!(rig.servers.calls() > 3, "{}", rig.servers.calls());
}

#[tokio::test(start_paused = true)]
async fn a_new_server_of_the_catalog_waits_for_the_leases_of_the_one_before() {
    let rig = Rig::new().await;
    assert_eq!(read(&rig.other).await.unwrap(), 1);
    let home = rig.servers.start(&[&rig.ranges[0]], clock(1.0));
    home.catalog_taken_over();
    let began = Instant::now();
    change(&home).await.unwrap();
    assert!(began.elapsed() >= LEASE + MARGIN);
    assert_eq!(read(&rig.other).await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_change_tests_the_leases_again_when_it_has_the_lock() {
    let rig = Rig::new().await;
    let blocker = rig.home.lock(&[KEY]).await.unwrap();
    let began = Instant::now();
    let changing = change(&rig.home);
    let moving = async {
        sleep(LEASE / 2).await;
        // The catalog was at another server, and returns before the lock is free.
        rig.home.catalog_taken_over();
        drop(blocker);
    };
    let (changed, ()) = tokio::join!(changing, moving);
    changed.unwrap();
    assert!(began.elapsed() >= LEASE / 2 + LEASE + MARGIN);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_change_grants_leases_again() {
    let rig = Rig::new().await;
    assert_eq!(read(&rig.other).await.unwrap(), 1);
    let waiting = tokio::time::timeout(LEASE / 2, change(&rig.home)).await;
    assert!(waiting.is_err());
    sleep(LEASE).await;
    let calls = rig.servers.calls();
    for _ in 0..3 {
        assert_eq!(read(&rig.other).await.unwrap(), 1);
    }
    assert_eq!(rig.servers.calls(), calls + 1);
}

/// A commit whose caller went away may still run: it holds the lock.
#[tokio::test(start_paused = true)]
async fn no_lease_is_granted_while_the_commit_of_a_cancelled_change_runs() {
    let rig = Rig::new().await;
    rig.home.grants.begin_change(&[KEY]);
    let locked = rig.home.lock(&[KEY]).await.unwrap();
    rig.home.grants.end_change(&[KEY], false);
    let began = Instant::now();
    let committing = async {
        sleep(LEASE / 2).await;
        let mut batch = Batch::new();
        batch.put(KEY, vec![7].into());
        locked.commit(batch).await.unwrap();
    };
    let (row, ()) = tokio::join!(read(&rig.other), committing);
    assert_eq!(row.unwrap(), 7);
    assert_eq!(began.elapsed(), LEASE / 2);
    let calls = rig.servers.calls();
    assert_eq!(read(&rig.other).await.unwrap(), 7);
    assert_eq!(rig.servers.calls(), calls, "it has a lease");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_does_not_keep_the_buffers_of_requests() {
    let rig = Rig::new().await;
    let request = Bytes::from([&KEY[..], &[0; 1000]].concat());
    let leased = rig.home.serve_lease(&request.slice(..KEY.len())).await;
    assert_eq!(leased.unwrap().time, LEASE);
    rig.home
        .serve_get(&request.slice(..KEY.len()))
        .await
        .unwrap();
    assert!(request.is_unique());
}

#[tokio::test(start_paused = true)]
async fn an_absent_row_is_not_kept() {
    let rig = Rig::new().await;
    let key = Bytes::from_static(b"\x11new");
    assert_eq!(rig.other.catalog_row(&key).await.unwrap(), None);
    let locked = rig.home.lock(std::slice::from_ref(&key)).await.unwrap();
    let mut batch = Batch::new();
    batch.put(key.clone(), "new".into());
    locked.commit(batch).await.unwrap();
    let row = rig.other.catalog_row(&key).await.unwrap();
    assert_eq!(row, Some("new".into()));
}

/// A reader that arrives while another asks without getting a lease must not take its answer: a write may have been
/// acknowledged in between.
#[tokio::test(start_paused = true)]
async fn an_answer_without_a_lease_is_not_for_later_requests() {
    let rig = Rig::new().await;
    let key = Bytes::from_static(b"\x11new");
    rig.servers.set_delays(|| [Duration::ZERO, LEASE / 4]);
    let later = async {
        sleep(LEASE / 8).await;
        let locked = rig.home.lock(std::slice::from_ref(&key)).await.unwrap();
        let mut batch = Batch::new();
        batch.put(key.clone(), "new".into());
        locked.commit(batch).await.unwrap();
        tokio::join!(rig.other.catalog_row(&key), rig.other.catalog_row(&key))
    };
    let (early, late) = tokio::join!(rig.other.catalog_row(&key), later);
    assert_eq!(early.unwrap(), None);
    for late in [late.0, late.1] {
        assert_eq!(late.unwrap(), Some("new".into()));
    }
    assert_eq!(rig.servers.calls(), 2, "both later readers share a call");
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_not_kept() {
    let rig = Rig::new().await;
    rig.servers.set_fault(Some(FarFault::Unreachable));
    let (one, two) = tokio::join!(read(&rig.other), read(&rig.other));
    for failed in [one, two] {
        let Err(Error::Busy(busy)) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!(busy.reason, BusyReason::RangeInTransit);
    }
    rig.servers.set_fault(None);
    assert_eq!(read(&rig.other).await.unwrap(), 1);
    // A lease that was granted, but whose answer was lost, counts.
    sleep(2 * LEASE).await;
    rig.servers.set_fault(Some(FarFault::AnswerLost));
    assert!(read(&rig.other).await.is_err());
    let began = Instant::now();
    change(&rig.home).await.unwrap();
    assert_eq!(began.elapsed(), LEASE + MARGIN);
}

#[tokio::test(start_paused = true)]
async fn the_leased_rows_in_memory_are_bounded() {
    let rig = Rig::new().await;
    let rows = 0..super::ROWS_MAX + 10;
    let rows: Vec<(Bytes, Bytes)> = rows
        .map(|number| (format!("\u{11}{number:09}").into(), "row".into()))
        .collect();
    for rows in rows.chunks(1000) {
        rig.home.put_first(rows).await.unwrap();
    }
    let leased = LeasedRows::new(rig.servers.clone(), clock(1.0));
    for (key, row) in &rows {
        assert_eq!(leased.find(key), None);
        assert_eq!(leased.get(key).await.unwrap().as_ref(), Some(row));
        assert!(leased.len() <= super::ROWS_MAX);
    }
    let (last, row) = &rows[rows.len() - 1];
    assert_eq!(leased.find(last), None, "no more leases are granted");
    sleep(LEASE + MARGIN).await;
    assert_eq!(leased.get(last).await.unwrap().as_ref(), Some(row));
    assert_eq!((leased.find(last).as_ref(), leased.len()), (Some(row), 1));
    sleep(LEASE).await;
    assert_eq!(leased.find(last), None);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_alone_grants_no_leases() {
    let rig = Rig::new().await;
    let alone = Storage::new(Arc::clone(&rig.home.map), clock(1.0));
    let leased = alone.serve_lease(&KEY).await.unwrap();
    assert_eq!((leased.row.is_some(), leased.time), (true, Duration::ZERO));
    assert_eq!(alone.catalog_row(&KEY).await.unwrap(), leased.row);
    let missing = alone.catalog_row(&Bytes::from_static(b"\x20")).await;
    assert!(matches!(missing, Err(Error::Busy(_))), "{missing:?}");
}

#[tokio::test(start_paused = true)]
async fn the_leases_in_memory_are_bounded() {
    let rig = Rig::new().await;
    for number in 0..super::ROWS_MAX + 10 {
        let key = Bytes::from(format!("\u{11}{number}"));
        let leased = rig.home.serve_lease(&key).await.unwrap();
        assert_eq!(leased.time, Duration::ZERO);
    }
    assert_eq!(rig.home.grants.len(), super::ROWS_MAX);
    let leased = rig.home.serve_lease(&KEY).await.unwrap();
    assert_eq!(leased.time, Duration::ZERO, "too many rows have leases");
    sleep(2 * LEASE).await;
    let leased = rig.home.serve_lease(&KEY).await.unwrap();
    assert_eq!(leased.time, LEASE);
    assert_eq!(rig.home.grants.len(), 1);
    for _ in 0..10 {
        change(&rig.home).await.unwrap();
    }
    assert_eq!(rig.home.grants.len(), 1);
}

/// What has been seen so far: a later read must not return a smaller value.
#[derive(Default)]
struct Seen(Mutex<u8>);

impl Seen {
    fn at_least(&self) -> u8 {
        *self.0.lock()
    }

    fn note(&self, value: u8) {
        let mut seen = self.0.lock();
        *seen = value.max(*seen);
    }
}

/// A sequence of random numbers that depends only on its seed.
#[derive(Clone)]
struct Numbers(Arc<Mutex<u64>>);

impl Numbers {
    fn below(&self, limit: u64) -> u64 {
        let mut state = self.0.lock();
        // The constants are those of Knuth's MMIX.
        *state = state.wrapping_mul(6_364_136_223_846_793_005);
        *state = state.wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % limit
    }

    fn millis(&self, limit: u64) -> Duration {
        Duration::from_millis(self.below(limit))
    }
}

/// One schedule: readers on two servers whose clocks differ, changes that are sometimes cancelled, and take-overs of the
/// catalog, over links with random delays. No read returns a value older than one that was seen or acknowledged before it
/// began.
async fn run_schedule(seed: u64) {
    let numbers = Numbers(Arc::new(Mutex::new(seed)));
    let (servers, ranges) = (TestServers::new(), TestRange::cut_at(&[b"\x20"[..].into()]));
    let slow = servers.start(&[&ranges[1]], clock(0.981));
    let fast = servers.start(&[&ranges[1]], clock(1.019));
    let home = Mutex::new(servers.start(&[&ranges[0]], clock(1.0)));
    let at_home = || Arc::clone(&home.lock());
    create(&at_home()).await;
    let delays = numbers.clone();
    servers.set_delays(move || [delays.millis(30), delays.millis(80)]);
    let (seen, end) = (Seen::default(), Instant::now() + Duration::from_secs(40));
    let reading = async |storage: &Storage| {
        while Instant::now() < end {
            let at_least = seen.at_least();
            if let Ok(value) = read(storage).await {
                assert!(value >= at_least, "seed {seed}: {value} after {at_least}");
                seen.note(value);
            }
            sleep(numbers.millis(10)).await;
        }
    };
    let changing = async {
        while Instant::now() < end {
            let home = at_home();
            let patience = numbers.millis(4000);
            if let Ok(Ok(value)) = tokio::time::timeout(patience, change(&home)).await {
                seen.note(value);
            }
            sleep(numbers.millis(1500)).await;
        }
    };
    let moving = async {
        while Instant::now() < end {
            sleep(Duration::from_secs(1) + numbers.millis(4000)).await;
            let old = at_home();
            old.map.route(&KEY).unwrap().range.freeze().await;
            let new = servers.start(&[&ranges[0]], clock(1.0));
            new.catalog_taken_over();
            *home.lock() = new;
        }
    };
    tokio::join!(reading(&slow), reading(&fast), changing, moving);
    assert!(seen.at_least() > 5, "seed {seed}: the row was changed");
}

#[tokio::test(start_paused = true)]
async fn no_reader_goes_back_in_time() {
    for seed in 0..10 {
        run_schedule(seed).await;
    }
}
