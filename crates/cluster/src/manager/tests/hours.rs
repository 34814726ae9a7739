//! What the balancer makes of the heat of real ranges, over a simulated hour.

use super::*;
use crate::balance::{BalanceSettings, Balancer};
use partita_range::Done;
use partita_range::heat::Access;
use partita_rt::ManualClock;
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
