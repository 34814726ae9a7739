//! Watching and balancing: windows are closed on time in every case, and the balancer uses the heat of real ranges over
//! a simulated hour.

use super::*;
use crate::ClusterParts;
use crate::balance::BalanceSettings;
use partita_heat::Access;
use partita_model::{TableId, TableSpace};
use partita_range::RequestStats;
use partita_rt::{ManualClock, TokioClock};
use std::time::SystemTime;

const WINDOW: Duration = Duration::from_secs(10);

/// The number of windows in an hour.
const HOUR: u64 = 360;

/// Requests in a window. In these tests a range with more than 25 requests per second is hot.
const REQUESTS: u64 = 600;

/// A cluster that splits by load, with a clock that only the test advances.
struct Watched {
    cluster: Arc<Cluster>,
    clock: ManualClock,
    windows: u64,
}

impl Watched {
    async fn start() -> Self {
        // The clock starts at the beginning of a window, and tokio's time advances with it.
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000));
        let cluster = Disk::default().open_at(Arc::new(clock.clone())).await;
        let balancer = BalanceSettings {
            split_rate: 25.0,
            by_load: true,
            ..BalanceSettings::default()
        };
        cluster.start_watching(Some(balancer), None);
        tokio::time::sleep(Duration::from_millis(1)).await;
        Self {
            cluster,
            clock,
            windows: 0,
        }
    }

    /// Runs some windows of [`REQUESTS`] requests; `request` makes each request from its number.
    async fn pass(&mut self, windows: u64, request: impl Fn(u64) -> (Access, u64)) {
        let space = TableSpace::new("account", TableId(1));
        for _ in 0..windows {
            for at in 0..REQUESTS {
                let (access, number) = request(self.windows * REQUESTS + at);
                let key = space.partition(&format!("{number:08}"));
                let stats = RequestStats {
                    rows: 1,
                    ..RequestStats::default()
                };
                let route = self.cluster.map().route(&key).unwrap();
                route.range.note(&key, access, stats);
            }
            self.windows += 1;
            self.clock.advance(WINDOW);
            tokio::time::sleep(WINDOW).await;
        }
    }
}

/// Keys such as times and counters grow at the end. After a split all new rows would go to the right range, which would
/// be hot again.
#[tokio::test(start_paused = true)]
async fn a_table_that_grows_at_its_end_is_not_split() {
    let mut watched = Watched::start().await;
    watched.pass(HOUR, |at| (Access::Insert, at)).await;
    assert_eq!(watched.cluster.balance_counts(), (1, 0));
    assert_eq!(ids(&watched.cluster), [1]);
}

#[tokio::test(start_paused = true)]
async fn hot_reads_are_split_from_a_growing_end_once() {
    const OLD: u64 = 10_000_000;
    let mut watched = Watched::start().await;
    let request = |at: u64| match at % 2 {
        // Reads are spread evenly over the old keys: they pass through them in large steps, again and again.
        0 => (Access::Read, at * 7_919 % OLD),
        _ => (Access::Insert, OLD + at),
    };
    watched.pass(HOUR / 3, request).await;
    let (_, balanced) = watched.cluster.balance_counts();
    assert!((1..=3).contains(&balanced), "{balanced}");
    watched.pass(HOUR, request).await;
    assert_eq!(watched.cluster.balance_counts().1, balanced);
}

/// A split that hangs does not delay the windows, and counts as failed.
#[tokio::test(start_paused = true)]
async fn windows_are_closed_while_the_balancer_waits() {
    let disk = Disk::default();
    let hooked = Hooked {
        cloned: Box::new(|| Box::pin(std::future::pending())),
        ..Hooked::new(&disk.engines)
    };
    let parts = ClusterParts {
        engines: Arc::new(hooked),
        clock: Arc::new(TokioClock::with_rate(1.0)),
        ..disk.parts()
    };
    let cluster = Cluster::open(parts).await.unwrap();
    fill(&cluster, 0..10).await;
    let balancer = BalanceSettings {
        split_bytes: 1,
        ..BalanceSettings::default()
    };
    cluster.start_watching(Some(balancer), None);
    let pass = async |seconds| tokio::time::sleep(Duration::from_secs(seconds)).await;
    pass(15).await;
    assert!(
        cluster.record().unwrap().change.is_some(),
        "a split is running"
    );
    let range = Arc::clone(&cluster.map().ranges()[0].range);
    range.get(&key(1)).await.unwrap();
    pass(10).await;
    assert!(
        cluster.record().unwrap().change.is_some(),
        "the split is still running"
    );
    let window = cluster.last_window(RangeId(1)).unwrap();
    assert_eq!(window.counts.requests(), 1);
    pass(30).await;
    assert_eq!(
        cluster.record().unwrap().change,
        None,
        "the split is cancelled"
    );
    assert_eq!(
        cluster.record().unwrap().next_range,
        4,
        "the range is not split again for a while"
    );
    pass(60).await;
    assert_eq!(
        cluster.record().unwrap().next_range,
        6,
        "the range is split again later"
    );
    assert_eq!(cluster.balance_counts(), (0, 0));
}
