//! The scrub: reads all files of the store slowly, again and again, so that damage is found before a client needs the
//! rows.
//!
//! A pass begins a minute after the start, and then every day, or at once if a pass took longer. It reads the data
//! files and manifests of all open ranges, and the partition map. The log is left out: it is short-lived, and each
//! start reads it. Damaged files of ranges are in [`partita_engine::EngineSet::damaged_files`], like those that a read
//! has met; damage of the map is a note of the status.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use object_store::ObjectStore;
use parking_lot::Mutex;
use partita_cluster::{Cluster, MapStore as _, ObjectMapStore};
use partita_engine::Meter;
use partita_rt::{Clock, Shutdown};

/// The time from the start of the server to the first pass.
const FIRST_AFTER: Duration = Duration::from_secs(60);

/// The time from the start of a pass to the next one.
const PERIOD: Duration = Duration::from_secs(24 * 3600);

/// The progress and the results of the scrub. Shared by `Arc`.
#[derive(Debug, Default)]
pub(crate) struct Scrub {
    /// Bytes per second; 0 if the scrub is off.
    rate: u64,
    bytes: AtomicU64,
    results: Mutex<Results>,
}

/// The results of complete passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Results {
    /// Complete passes since the start.
    pub(crate) passes: u64,
    /// The end of the last complete pass.
    pub(crate) last_at: Option<SystemTime>,
    /// The missing or damaged files that the last complete pass found.
    pub(crate) damaged: u64,
    /// What is wrong with the partition map.
    notes: Vec<String>,
}

impl Scrub {
    /// A scrub that has not begun, at `rate` bytes per second; 0 switches it off.
    pub(crate) fn new(rate: u64) -> Self {
        Self {
            rate,
            ..Self::default()
        }
    }

    /// The bytes that were read since the start.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The results of complete passes.
    pub(crate) fn results(&self) -> Results {
        self.results.lock().clone()
    }

    /// Notes for the operator: the damaged files of the partition map.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.results.lock().notes.clone()
    }
}

impl Meter for Scrub {
    /// Counts the bytes, and waits for the time that they take at the configured rate.
    fn read(&self, bytes: u64) -> BoxFuture<'_, ()> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let seconds = bytes as f64 / self.rate.max(1) as f64;
        Box::pin(tokio::time::sleep(Duration::from_secs_f64(seconds)))
    }
}

/// Runs the scrub, with the parts of the server that it reads.
pub(crate) struct Scrubber {
    pub(crate) scrub: Arc<Scrub>,
    pub(crate) cluster: Arc<Cluster>,
    /// The store of the map; `None` if the data is in memory.
    pub(crate) objects: Option<Arc<dyn ObjectStore>>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Scrubber {
    /// Makes passes until shutdown. Ends at once if the scrub is off, or if the data is in memory.
    pub(crate) async fn run(self, shutdown: Shutdown) {
        if self.scrub.rate == 0 || self.objects.is_none() {
            return;
        }
        let mut next = tokio::time::Instant::now() + FIRST_AFTER;
        loop {
            let pass = async {
                tokio::time::sleep_until(next).await;
                next = tokio::time::Instant::now() + PERIOD;
                self.pass().await;
            };
            tokio::select! {
                () = shutdown.requested() => return,
                () = pass => {}
            }
        }
    }

    async fn pass(&self) {
        let meter = Arc::clone(&self.scrub) as Arc<dyn Meter>;
        let pass = self.cluster.engines().scrub(meter).await;
        let notes = self.map_notes().await;
        let damaged = pass.damaged + notes.len() as u64;
        tracing::info!(files = pass.files, damaged, "scrubbed the store");
        let mut results = self.scrub.results.lock();
        *results = Results {
            passes: results.passes + 1,
            last_at: Some(self.clock.now()),
            damaged,
            notes,
        };
    }

    /// The damaged versions of the map, and the damaged serving records. A temporary read failure is not damage.
    async fn map_notes(&self) -> Vec<String> {
        let Some(objects) = &self.objects else {
            return Vec::new();
        };
        let Ok(map) = ObjectMapStore::new(Arc::clone(objects)).contents().await else {
            return Vec::new();
        };
        let mut notes = Vec::new();
        let mut note = |file: String, problem: &str| {
            tracing::error!(file, problem, "a file of the partition map is damaged");
            notes.push(format!(
                "{file} is damaged ({problem}): restore the file from a copy before the next restart; `partita check` says \
                 what it means"
            ));
        };
        for kept in &map.versions {
            if let Err(problem) = &kept.record {
                note(format!("store/map/{:020}.json", kept.version), problem);
            }
        }
        for kept in &map.serving {
            if let Err(problem) = &kept.record {
                note(format!("store/served/{}.json", kept.range), problem);
            }
        }
        notes
    }
}
