//! Tests of the heat history over restarts and splits.

use super::*;
use crate::ClusterParts;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use partita_heat::history::{Archive, MapShape, Metric};
use partita_heat::{Access, Request};
use partita_model::{TableId, TableSpace};
use partita_range::Bounds;
use partita_rt::{Clock, Tasks};
use std::time::{Instant, SystemTime};

/// A clock that follows tokio's time.
#[derive(Debug, Clone)]
struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000) + self.0.elapsed()
    }

    fn monotonic(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn boot(&self) -> Duration {
        self.0.elapsed()
    }

    fn processor(&self) -> Duration {
        self.0.elapsed() / 2
    }
}

/// A process, and the tasks that a kill would end.
struct Process {
    cluster: Arc<Cluster>,
    tasks: Tasks,
}

impl Process {
    async fn start(store: &Arc<InMemory>, clock: &TestClock) -> Self {
        let tasks = Tasks::new();
        let parts = ClusterParts {
            clock: Arc::new(clock.clone()),
            tasks: tasks.clone(),
            ..Disk::default().parts()
        };
        let cluster = Cluster::open(parts).await.unwrap();
        let archive = Archive::new(
            Arc::clone(store) as Arc<dyn ObjectStore>,
            Path::from("heat"),
        );
        cluster.start_watching(None, Some(archive));
        let process = Self { cluster, tasks };
        pass(1).await;
        process
    }

    fn read(&self, times: u32) {
        self.read_rows(times, 1);
    }

    fn read_rows(&self, times: u32, rows: u32) {
        let ranges = self.cluster.map().ranges();
        for _ in 0..times {
            ranges[0].range.heat().record(&Request {
                partition: b"p",
                table_bytes: 0,
                access: Access::Read,
                rows,
                bytes_in: 0,
                bytes_out: 0,
                latency: Duration::ZERO,
            });
        }
    }

    /// The reads of the last hour in the history.
    fn known(&self, clock: &TestClock) -> f64 {
        let shape = MapShape {
            metric: Metric::Reads,
            columns: 1,
            rows: 1,
        };
        let (from, to) = (clock.now() - Duration::from_secs(3600), clock.now());
        let map = self
            .cluster
            .with_heat(|heat| heat.map_within(from, to, shape, &Bounds::all()));
        map.values
            .iter()
            .flatten()
            .map(|reads| reads.unwrap_or_default())
            .sum()
    }
}

fn new_store() -> (Arc<InMemory>, TestClock) {
    let clock = TestClock(tokio::time::Instant::now());
    (Arc::new(InMemory::new()), clock)
}

/// Advances the paused clock; tasks with an earlier timer run first.
async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_kill_loses_one_minute_of_heat_and_a_shutdown_none() {
    let (store, clock) = new_store();
    let killed = Process::start(&store, &clock).await;
    killed.read(3);
    pass(62).await;
    killed.read_rows(4, 50_000);
    pass(8).await;
    // The only busy range gets all the processor time of the process, half a processor, because its rows can cost that
    // much.
    let cores = killed.cluster.last_cores(RangeId(1)).unwrap();
    assert!((cores - 0.5).abs() < 1e-6, "{cores}");
    pass(12).await;
    assert!((killed.known(&clock) - 7.0).abs() < 1e-6);
    assert_eq!(killed.cluster.last_cores(RangeId(1)), Some(0.0));
    // The tasks of the killed process wait for a later time, so they do not run while the next process reads.
    let stopped = Process::start(&store, &clock).await;
    assert!((stopped.known(&clock) - 3.0).abs() < 1e-6);
    stopped.read(5);
    assert!(stopped.tasks.drain(Duration::from_secs(5)).await.is_empty());
    drop(killed);
    let last = Process::start(&store, &clock).await;
    assert!((last.known(&clock) - 8.0).abs() < 1e-6);
}

#[tokio::test(start_paused = true)]
async fn a_split_loses_no_heat() {
    let (store, clock) = new_store();
    let process = Process::start(&store, &clock).await;
    process.read(3);
    let at = TableSpace::new("account", TableId(1)).partition("m");
    process.cluster.split(RangeId(1), Some(at)).await.unwrap();
    process.read(4);
    pass(10).await;
    assert!((process.known(&clock) - 7.0).abs() < 1e-6);
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_segment_is_kept_and_blocks_nothing() {
    let (store, clock) = new_store();
    let later = Path::from("heat/0176999990-0176999994-1");
    let bytes = b"PARTHEAT\x09\0\0\0".to_vec();
    store.put(&later, bytes.into()).await.unwrap();
    let process = Process::start(&store, &clock).await;
    process.read(2);
    pass(62).await;
    assert!((process.known(&clock) - 2.0).abs() < 1e-6);
    assert!(
        store.head(&later).await.is_ok(),
        "the file stays for a later version"
    );
    let again = Process::start(&store, &clock).await;
    assert!((again.known(&clock) - 2.0).abs() < 1e-6);
}
