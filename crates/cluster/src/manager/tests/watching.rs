//! Watching the ranges: windows are closed whatever else happens, and what the balancer makes of the heat of real ranges over a
//! simulated hour.

use super::*;
use crate::balance::{BalanceSettings, Balancer};
use partita_heat::{Access, Request};
use partita_range::Done;
use partita_rt::{Clock, ManualClock};
use std::time::SystemTime;

const WINDOW: Duration = Duration::from_secs(10);

/// Windows of an hour.
const HOUR: u64 = 360;

/// Requests of a window. A range with more than 25 a second is hot here.
const REQUESTS: u64 = 600;

/// A manager that splits by load, on time that passes only here.
struct Watched {
    manager: Arc<Manager>,
    clock: ManualClock,
    windows: u64,
}

impl Watched {
    async fn start() -> Self {
        let manager = Disk::new().open().await;
        // At the beginning of a window, and tokio's time goes with it.
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000));
        let balancer = Balancer::new(BalanceSettings {
            split_rate: 25.0,
            by_load: true,
            ..BalanceSettings::default()
        });
        manager.start_watching(Arc::new(clock.clone()), Some(balancer), None);
        tokio::time::sleep(Duration::from_millis(1)).await;
        Self {
            manager,
            clock,
            windows: 0,
        }
    }

    /// Some windows, each with so many requests, which are made of the number of each.
    async fn pass(&mut self, windows: u64, request: impl Fn(u64) -> (Access, u64)) {
        let space = TableSpace::new("account", TableId(1));
        for _ in 0..windows {
            for at in 0..REQUESTS {
                let (access, number) = request(self.windows * REQUESTS + at);
                let key = space.partition(&format!("{number:08}"));
                let done = Done {
                    rows: 1,
                    ..Done::default()
                };
                let route = self.manager.map().route(&key);
                route.range.note(&key, access, done);
            }
            self.windows += 1;
            self.clock.advance(WINDOW);
            tokio::time::sleep(WINDOW).await;
        }
    }
}

/// As times and counters are. Each split would leave all that comes to the right side, which would be hot again.
#[tokio::test(start_paused = true)]
async fn a_table_that_grows_at_its_end_is_not_split() {
    let mut watched = Watched::start().await;
    watched.pass(HOUR, |at| (Access::Insert, at)).await;
    assert_eq!(watched.manager.balance_counts(), (1, 0));
    assert_eq!(ids(&watched.manager), [1]);
}

#[tokio::test(start_paused = true)]
async fn reads_beside_a_growing_end_are_split_off_once() {
    const OLD: u64 = 10_000_000;
    let mut watched = Watched::start().await;
    let request = |at: u64| match at % 2 {
        // Of all keys in turn, far from each other.
        0 => (Access::Read, at * 7_919 % OLD),
        _ => (Access::Insert, OLD + at),
    };
    watched.pass(HOUR / 3, request).await;
    let (_, balanced) = watched.manager.balance_counts();
    assert!((1..=3).contains(&balanced), "{balanced}");
    watched.pass(HOUR, request).await;
    assert_eq!(watched.manager.balance_counts().1, balanced);
}

/// A clock that goes with tokio's.
#[derive(Debug)]
struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.0.elapsed()
    }

    fn monotonic(&self) -> std::time::Instant {
        tokio::time::Instant::now().into_std()
    }

    fn processor(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A split that hangs keeps nobody from knowing what the ranges do, and is noted as one that failed.
#[tokio::test(start_paused = true)]
async fn windows_are_closed_while_the_balancer_waits() {
    let disk = Disk::new();
    let manager = disk
        .open_hooked(Box::new(|| Box::pin(std::future::pending())))
        .await;
    fill(&manager, 0..10).await;
    let balancer = Balancer::new(BalanceSettings {
        split_bytes: 1,
        ..BalanceSettings::default()
    });
    let clock = TestClock(tokio::time::Instant::now());
    manager.start_watching(Arc::new(clock), Some(balancer), None);
    let pass = async |seconds| tokio::time::sleep(Duration::from_secs(seconds)).await;
    pass(15).await;
    assert!(manager.record().change.is_some(), "a split is under way");
    manager.map().ranges()[0].range.heat().record(&Request {
        partition: b"p",
        table_bytes: 0,
        access: Access::Read,
        rows: 1,
        bytes_in: 0,
        bytes_out: 0,
        latency: Duration::ZERO,
    });
    pass(10).await;
    assert!(manager.record().change.is_some(), "it still is");
    let window = manager.last_window(RangeId(1)).unwrap();
    assert_eq!(window.counts.requests(), 1);
    pass(30).await;
    assert_eq!(manager.record().change, None, "it is given up");
    assert_eq!(manager.record().next_range, 4, "and left alone for a while");
    pass(60).await;
    assert_eq!(manager.record().next_range, 6, "not for ever");
    assert_eq!(manager.balance_counts(), (0, 0));
}
