//! The scrub: reads all files of the store slowly, again and again, so that damage is found before a client needs the
//! rows.
//!
//! A pass begins a minute after the start, and then every day, or at once if a pass took longer. It reads the data files
//! and manifests of all open ranges, the full segments of the log, the partition map, and the heat history. Damaged files
//! of ranges are in [`partita_engine::EngineSet::damaged_files`], like those that a read has met; damage of other files,
//! which no read of rows meets, is a note of the status.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use object_store::ObjectStore;
use object_store::path::Path;
use parking_lot::Mutex;
use partita_cluster::{Cluster, MapStore as _, ObjectMapStore};
use partita_engine::{LogFault, Meter};
use partita_rt::{Clock, Shutdown};

/// The folder of the store for the heat history.
pub(crate) const HEAT_FOLDER: &str = "heat";

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
    /// What is wrong with files that no read of rows meets.
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

/// The task of the scrub, and the parts of the server that it reads.
pub(crate) struct Scrubber {
    pub(crate) scrub: Arc<Scrub>,
    pub(crate) cluster: Arc<Cluster>,
    /// The store of the map and of the heat history; `None` if the data is in memory.
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
        let pass = self.cluster.engines().scrub(Arc::clone(&meter)).await;
        let mut notes: Vec<String> = pass.log.iter().map(log_note).collect();
        let mut files = pass.files;
        if let Some(objects) = &self.objects {
            notes.extend(map_notes(objects).await);
            let heat = verify_heat(&**objects, &*meter).await;
            files += heat.files;
            notes.extend(heat.notes);
        }
        let damaged = pass.damaged + notes.len() as u64;
        tracing::info!(files, damaged, "scrubbed the store");
        let mut results = self.scrub.results.lock();
        *results = Results {
            passes: results.passes + 1,
            last_at: Some(self.clock.now()),
            damaged,
            notes,
        };
    }
}

/// Logs a damaged file of the log, and returns its note.
fn log_note(fault: &LogFault) -> String {
    let LogFault { file, problem } = fault;
    tracing::error!(file, problem, "a file of the log is damaged");
    format!(
        "{file} is damaged ({problem}): its rows are still in memory, but the next start may refuse the log; create a \
         backup before you stop the server"
    )
}

/// The damaged versions of the map, and the damaged serving records. A temporary read failure is not damage.
async fn map_notes(objects: &Arc<dyn ObjectStore>) -> Vec<String> {
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

/// The result of reading the heat history.
#[derive(Debug, Default)]
struct HeatPass {
    files: u64,
    notes: Vec<String>,
}

/// Reads the files of the heat history. A file may be deleted meanwhile. A temporary read failure is not damage.
async fn verify_heat(objects: &dyn ObjectStore, meter: &dyn Meter) -> HeatPass {
    let mut pass = HeatPass::default();
    let folder = Path::from(HEAT_FOLDER);
    let Ok(listing) = objects.list_with_delimiter(Some(&folder)).await else {
        return pass;
    };
    for object in listing.objects {
        let Some(name) = object.location.filename() else {
            continue;
        };
        let read = partita_rt::place::read(objects, object.location.as_ref()).await;
        let Ok(Some(content)) = read else { continue };
        meter.read(content.len() as u64).await;
        pass.files += 1;
        if let Err(problem) = partita_heat::history::verify_segment(name, &content) {
            let file = format!("store/{}", object.location);
            tracing::error!(file, problem, "a file of the heat history is damaged");
            pass.notes.push(format!(
                "{file} is damaged ({problem}): after the next start a part of the heat map is missing, but no row; \
                 delete the file"
            ));
        }
    }
    pass
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;
    use partita_engine::NoMeter;
    use partita_heat::history::{Archive, RangeWindow};
    use partita_heat::{Bounds, Counts, Latency, Window};
    use partita_rt::SystemClock;

    #[tokio::test]
    async fn a_flipped_bit_in_the_heat_history_is_noted() {
        let objects = Arc::new(InMemory::new()) as Arc<dyn ObjectStore>;
        let mut archive = Archive::new(Arc::clone(&objects), HEAT_FOLDER.into());
        let now = SystemClock.now();
        let history = archive.load(now).await;
        let window = Window {
            elapsed: Duration::from_secs(10),
            counts: Counts {
                reads: 7,
                ..Counts::default()
            },
            latency: Latency::default(),
            partitions: Vec::new(),
            buckets: Vec::new(),
        };
        let range = RangeWindow {
            bounds: Bounds::default(),
            window: &window,
        };
        history.record(now, &[range]);
        archive.save_all(&history, now).await.unwrap();

        let sound = verify_heat(&*objects, &NoMeter).await;
        assert_eq!((sound.files, sound.notes.len()), (1, 0));
        let folder = Path::from(HEAT_FOLDER);
        let listing = objects.list_with_delimiter(Some(&folder)).await.unwrap();
        let file = &listing.objects[0].location;
        let content = objects.get(file).await.unwrap().bytes().await.unwrap();
        let mut changed = content.to_vec();
        changed[content.len() / 2] ^= 1;
        objects.put(file, changed.into()).await.unwrap();
        let damaged = verify_heat(&*objects, &NoMeter).await;
        assert_eq!((damaged.files, damaged.notes.len()), (1, 1));
        let named = format!("store/{file} is damaged");
        assert!(damaged.notes[0].starts_with(&named), "{damaged:?}");
    }
}
