//! The history of heat over restarts: read when watching begins, saved each minute, saved whole in an orderly end.
//!
//! ```text
//! watching:  load ─▶ window ─▶ window ─▶ … ─▶ last window ─▶ ends
//! keeping:             └─ a new minute? save ─┘        save all ─▶ ends
//! ```
//!
//! Saving has a task of its own, so that a store that hangs delays no window. A process that is killed loses what its last
//! minute saw, and nothing else: heat is not data, so no failure of it stops a server.

use super::Manager;
use crate::heat_history::{Archive, HeatHistory};
use partita_rt::Clock;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::watch;

impl Manager {
    /// Puts what is archived in the place of the history, which is empty yet. Cancel safe.
    pub(super) async fn load_heat(&self, archive: &mut Archive, clock: &dyn Clock) {
        let loaded = Arc::new(archive.load(clock.now()).await);
        tracing::debug!(slots = loaded.slots(), "the heat history was read");
        self.watched.lock().history = loaded;
    }

    /// Saves the history for as long as the sender lives, to which each closed window is told, and once more behind it.
    pub(super) fn keep_heat(&self, archive: Archive, clock: Arc<dyn Clock>) -> watch::Sender<()> {
        let (told, windows) = watch::channel(());
        let history = Arc::clone(&self.watched.lock().history);
        self.tasks
            .spawn("keep heat", keep(history, archive, clock, windows));
        told
    }
}

async fn keep(
    history: Arc<HeatHistory>,
    mut archive: Archive,
    clock: Arc<dyn Clock>,
    mut windows: watch::Receiver<()>,
) {
    let mut saved = minute(clock.now());
    while windows.changed().await.is_ok() {
        let now = clock.now();
        if minute(now) == saved {
            continue;
        }
        saved = minute(now);
        if let Err(error) = archive.save(&history, now).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "heat was not saved; the next minute tries again");
        }
    }
    if let Err(error) = archive.save_all(&history, clock.now()).await {
        let error: &dyn std::error::Error = &error;
        tracing::warn!(error, "the last heat was not saved");
    }
}

/// Which minute of the wall clock it is.
fn minute(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs() / 60
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat_history::{MapShape, Metric};
    use crate::map_store::ObjectMapStore;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt as _};
    use partita_engine::memory::MemoryDatabases;
    use partita_model::{TableId, TableSpace};
    use partita_range::RangeId;
    use partita_range::heat::{Access, Request};
    use partita_rt::Tasks;
    use std::time::{Duration, Instant};

    /// A clock that goes with tokio's, which a test holds still and moves.
    #[derive(Debug, Clone)]
    struct TestClock(tokio::time::Instant);

    impl Clock for TestClock {
        fn now(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000) + self.0.elapsed()
        }

        fn monotonic(&self) -> Instant {
            tokio::time::Instant::now().into_std()
        }

        fn processor(&self) -> Duration {
            self.0.elapsed() / 2
        }
    }

    /// A process: its manager, and the tasks that a kill would end.
    struct Process {
        manager: Arc<Manager>,
        tasks: Tasks,
    }

    impl Process {
        async fn start(store: &Arc<InMemory>, clock: &TestClock) -> Self {
            let (databases, tasks) = (Arc::new(MemoryDatabases::new()), Tasks::new());
            let map = Arc::new(ObjectMapStore::new(Arc::new(InMemory::new())));
            let manager = Manager::open(databases, Arc::default(), map, tasks.clone()).await;
            let manager = manager.unwrap();
            let archive = Archive::new(
                Arc::clone(store) as Arc<dyn ObjectStore>,
                Path::from("heat"),
            );
            manager.start_watching(Arc::new(clock.clone()), None, Some(archive));
            let process = Self { manager, tasks };
            pass(1).await;
            process
        }

        fn read(&self, times: u32) {
            self.read_rows(times, 1);
        }

        fn read_rows(&self, times: u32, rows: u32) {
            let ranges = self.manager.map().ranges();
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

        /// Reads of the last hour, as the history knows them.
        fn known(&self, clock: &TestClock) -> f64 {
            let shape = MapShape {
                metric: Metric::Reads,
                columns: 1,
                rows: 1,
            };
            let (from, to) = (clock.now() - Duration::from_secs(3600), clock.now());
            let map = self.manager.with_heat(|heat| heat.map(from, to, shape));
            map.values
                .iter()
                .flatten()
                .map(|reads| reads.unwrap_or_default())
                .sum()
        }
    }

    /// Lets time pass: no real time does, and whoever waits for it runs first.
    async fn pass(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_kill_loses_a_minute_and_an_orderly_end_nothing() {
        let (store, clock) = (
            Arc::new(InMemory::new()),
            TestClock(tokio::time::Instant::now()),
        );
        let killed = Process::start(&store, &clock).await;
        killed.read(3);
        pass(62).await;
        killed.read_rows(4, 50_000);
        pass(8).await;
        // The one range that has load has all that the process took: half a processor. So many rows can take it.
        let cores = killed.manager.last_cores(RangeId(1)).unwrap();
        assert!((cores - 0.5).abs() < 1e-6, "{cores}");
        pass(12).await;
        assert!((killed.known(&clock) - 7.0).abs() < 1e-6);
        assert_eq!(killed.manager.last_cores(RangeId(1)), Some(0.0));
        // Nothing of it runs any more when the next one reads; its tasks wait for a time that has not come.
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
        let (store, clock) = (
            Arc::new(InMemory::new()),
            TestClock(tokio::time::Instant::now()),
        );
        let process = Process::start(&store, &clock).await;
        process.read(3);
        let at = TableSpace::new("account", TableId(1)).partition("m");
        process.manager.split(RangeId(1), Some(at)).await.unwrap();
        process.read(4);
        pass(10).await;
        assert!((process.known(&clock) - 7.0).abs() < 1e-6);
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_read_is_left_and_stops_nobody() {
        let (store, clock) = (
            Arc::new(InMemory::new()),
            TestClock(tokio::time::Instant::now()),
        );
        let later = Path::from("heat/0176999990-0176999994-1");
        let bytes = b"PARTHEAT\x09\0\0\0".to_vec();
        store.put(&later, bytes.into()).await.unwrap();
        let process = Process::start(&store, &clock).await;
        process.read(2);
        pass(62).await;
        assert!((process.known(&clock) - 2.0).abs() < 1e-6);
        assert!(store.head(&later).await.is_ok(), "it is for whoever can");
        let again = Process::start(&store, &clock).await;
        assert!((again.known(&clock) - 2.0).abs() < 1e-6);
    }
}
