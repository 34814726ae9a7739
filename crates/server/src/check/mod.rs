//! Checks a data directory that no server uses: every checksum, the partition map, and whether the WAL continues the
//! databases.
//!
//! Reads every file once, with bounded memory, and changes nothing. The rules are those of a start; a check also reads
//! all data files, which a start does not.
//!
//! - [`check`]: checks a directory. [`rebuild_map`]: writes a lost partition map again.
//! - [`Finding`]: what is wrong, what it means, and what can be done.

mod files;
mod finding;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use object_store::ObjectStore;
use partita_cluster::{
    KeptVersion, MapError, MapRecord, MapStore as _, ObjectMapStore, RangeSpec, RebuildError,
    Severity as MapSeverity, StoreContents,
};
use partita_engine::slate::{self, CheckedDatabase, FileKind, OpenWalError, StoredLog, Verifier};
use partita_engine::{ChangeError, Meter};
use partita_range::{FLUSH_MARKER_KEY, RangeId};
use partita_rt::data_dir::{self, ClosedDataDir, StoredFile};
use partita_snapshot::{ObjectSnapshotStore, SnapshotStore as _, SnapshotStoreError};

pub use finding::{Finding, Severity};

/// Why a directory could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is in use, or holds no data that this version can read.
    #[error("cannot check the data directory")]
    DataDir(#[from] data_dir::Error),
    /// The databases cannot be read.
    #[error("cannot read the databases")]
    Databases(#[from] ChangeError),
    /// The partition map cannot be read or written.
    #[error("cannot read or write the partition map")]
    Map(#[from] MapError),
    /// The snapshots cannot be read.
    #[error("cannot read the snapshots")]
    Snapshots(#[from] SnapshotStoreError),
    /// A thread could not be started.
    #[error("cannot read the log")]
    Thread(#[source] std::io::Error),
    /// The map is not lost, or not all of it can be determined.
    #[error("cannot rebuild the partition map: {0}")]
    Rebuild(String),
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// The ranges of the partition map.
    pub ranges: u64,
    /// The files below the directory.
    pub files: u64,
    /// The total size of these files, in bytes.
    pub bytes: u64,
}

impl Checked {
    /// Whether rows are lost, or the server refuses to start.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.count(Severity::Damage) > 0
    }

    /// How many findings have a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        let findings = self.findings.iter();
        findings.filter(|it| it.severity == severity).count() as u64
    }
}

/// Receives the number of bytes read so far, and the number of all bytes.
pub type OnProgress<'p> = dyn Fn(u64, u64) + Send + Sync + 'p;

/// Tells the caller about each part that was read.
struct Progress<'p> {
    read: AtomicU64,
    total: u64,
    tell: &'p OnProgress<'p>,
}

impl Meter for Progress<'_> {
    fn read(&self, bytes: u64) -> BoxFuture<'_, ()> {
        let read = self.read.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (self.tell)(read, self.total);
        Box::pin(std::future::ready(()))
    }
}

/// Checks the data directory at `path`, and locks it for that time. Not for a running server.
///
/// # Errors
/// [`Error`]: the directory could not be checked. Damage is not an error.
pub async fn check(path: &Path, progress: &OnProgress<'_>) -> Result<Checked, Error> {
    let directory = ClosedDataDir::open(path)?;
    let files = directory.files()?;
    let data_bytes = files
        .iter()
        .filter(|file| !file.path.starts_with("store/trash/"));
    let progress = Progress {
        read: AtomicU64::new(0),
        total: data_bytes.map(|file| file.bytes).sum(),
        tell: progress,
    };
    let mut check = Check::default();
    let log = check.log(&directory).await?;
    let log_files = files.iter().filter(|file| file.path.starts_with("log/"));
    progress.read(log_files.map(|file| file.bytes).sum()).await;
    if let Some(store) = directory.store() {
        check.store(&store, log.as_ref(), &progress).await?;
        check.heat(&store, &files).await;
    }
    check.files(&files);
    check.findings.sort_by_key(|finding| finding.severity);
    Ok(Checked {
        findings: check.findings,
        ranges: check.served.len() as u64,
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
    })
}

/// The state of a running check.
#[derive(Default)]
struct Check {
    findings: Vec<Finding>,
    /// The ranges of the newest version of the map.
    served: BTreeMap<RangeId, RangeSpec>,
    /// Files whose purpose is known, by their paths below the data directory.
    known: BTreeSet<String>,
}

impl Check {
    /// Reads the log. `None` if it is damaged.
    async fn log(&mut self, directory: &ClosedDataDir) -> Result<Option<StoredLog>, Error> {
        let path = data_dir::log_path(directory.path());
        if !path.is_dir() {
            return Ok(Some(StoredLog {
                is_new: true,
                ..StoredLog::default()
            }));
        }
        let folder = path.clone();
        let reading = partita_rt::threads::spawn_blocking(move || {
            slate::verify_log(&folder, |key| key != FLUSH_MARKER_KEY)
        });
        match reading
            .await
            .map_err(|error| Error::Thread(std::io::Error::other(error)))?
        {
            Ok(log) => Ok(Some(log)),
            Err(error) => {
                let file = log_file(directory.path(), &error);
                self.findings.push(Finding::of_log(file, &error));
                Ok(None)
            }
        }
    }

    /// Checks the map, the databases and the snapshots, and compares the log with the databases.
    async fn store(
        &mut self,
        store: &Arc<dyn ObjectStore>,
        log: Option<&StoredLog>,
        progress: &Progress<'_>,
    ) -> Result<(), Error> {
        let contents = contents(store, log).await?;
        let checked = partita_cluster::check(&contents);
        let newest = checked.newest.as_ref();
        let specs = newest.map(|newest| newest.specs().collect::<Vec<_>>());
        let specs = specs.into_iter().flatten();
        self.served = specs.map(|spec| (spec.id, spec)).collect();
        for finding in &checked.findings {
            self.findings.push(Finding::of_map(finding));
        }
        let mut verifier = Verifier::new(Arc::clone(store), progress);
        let mut databases = BTreeMap::new();
        for stored in &contents.ranges.databases {
            let database = verifier.database(stored.range).await?;
            databases.insert(stored.range, database);
        }
        for (range, database) in &databases {
            self.database(*range, newest, database);
        }
        self.drop_repeated();
        if let Some(log) = log {
            self.log_against_databases(log, &databases);
        }
        self.snapshots(store, &databases).await
    }

    fn database(&mut self, range: RangeId, newest: Option<&MapRecord>, found: &CheckedDatabase) {
        // Without a map, any database may be served.
        let is_served = newest.is_none() || self.served.contains_key(&range);
        for fault in &found.faults {
            let finding = Finding::of_file(range, is_served, fault);
            if fault.kind == FileKind::Manifest {
                // Replaces the finding of the map check, which names only the folder: this finding names the file.
                let folder = format!("store/range-{range}");
                self.findings.retain(|it| it.file != folder);
            }
            self.findings.push(finding);
        }
        self.known.extend(found.files.iter().cloned());
    }

    /// For each damaged file, drops all findings except damage. A file can have several findings, because a replaced
    /// range and its successors can name the same file.
    fn drop_repeated(&mut self) {
        let damaged = self
            .findings
            .iter()
            .filter(|it| it.severity == Severity::Damage);
        let damaged: BTreeSet<String> = damaged.map(|it| it.file.clone()).collect();
        self.findings
            .retain(|it| it.severity == Severity::Damage || !damaged.contains(&it.file));
    }

    fn log_against_databases(
        &mut self,
        log: &StoredLog,
        databases: &BTreeMap<RangeId, CheckedDatabase>,
    ) {
        let was_opened = databases.values().any(|it| it.flushed_up_to.is_some());
        if log.is_new && was_opened {
            self.findings.push(Finding::of_missing_log());
        }
        for (range, records) in &log.ranges {
            let flushed = databases.get(range).and_then(|it| it.flushed_up_to);
            if let Some(flushed) = flushed
                && records.last > flushed
            {
                let next = flushed.0 + 1;
                let missing = match records.missing {
                    _ if records.first.0 > next => Some((next, records.first.0 - 1)),
                    Some(missing) if missing.0 >= next => Some((missing.0, missing.0)),
                    _ => None,
                };
                let missing = missing.map(|(a, b)| Finding::of_missing_records(*range, a, b));
                self.findings.extend(missing);
            }
            if let (Some(keys), Some(spec)) = (&records.keys, self.served.get(range))
                && !finding::is_inside(keys, &spec.bounds)
            {
                self.findings.push(Finding::of_logged_keys(*range, keys));
            }
        }
    }

    async fn snapshots(
        &mut self,
        store: &Arc<dyn ObjectStore>,
        databases: &BTreeMap<RangeId, CheckedDatabase>,
    ) -> Result<(), Error> {
        let stored = ObjectSnapshotStore::new(Arc::clone(store)).list().await?;
        for unreadable in stored.unreadable {
            let file = format!("store/{}", unreadable.object);
            self.known.insert(file.clone());
            self.findings
                .push(Finding::of_snapshot(file, &unreadable.reason));
        }
        for record in stored.records {
            let file = format!("store/snapshots/{}.json", record.name);
            self.known.insert(file.clone());
            let is_there = |range: RangeId, pin: &_| {
                databases
                    .get(&range)
                    .is_some_and(|it| it.pins.contains(pin))
            };
            let mut ranges = record.ranges.iter();
            if let Some(lost) = ranges.find(|it| !is_there(it.range(), &it.pin())) {
                let problem = format!(
                    "names the pin {} of range {}, which is missing",
                    lost.pin, lost.id
                );
                self.findings.push(Finding::of_snapshot(file, &problem));
            }
        }
        Ok(())
    }

    async fn heat(&mut self, store: &Arc<dyn ObjectStore>, files: &[StoredFile]) {
        for file in files {
            let Some(name) = file.path.strip_prefix("store/heat/") else {
                continue;
            };
            if name.contains(['/', '#']) {
                continue;
            }
            self.known.insert(file.path.clone());
            let verified = match partita_rt::place::read(&**store, &format!("heat/{name}")).await {
                Ok(Some(content)) => partita_heat::history::verify_segment(name, &content),
                Ok(None) => Ok(()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(problem) = verified {
                self.findings
                    .push(Finding::of_heat(file.path.clone(), &problem));
            }
        }
    }

    /// Adds findings for files that no part of the server needs.
    fn files(&mut self, files: &[StoredFile]) {
        self.findings.extend(files::unexplained(files, &self.known));
    }
}

/// What the store holds about its ranges: the map, the databases, and the ranges of the log.
async fn contents(
    store: &Arc<dyn ObjectStore>,
    log: Option<&StoredLog>,
) -> Result<StoreContents, Error> {
    let map = ObjectMapStore::new(Arc::clone(store)).contents().await?;
    let mut ranges = slate::stored_ranges(Arc::clone(store)).await?;
    ranges.logged = log
        .into_iter()
        .flat_map(|log| log.ranges.keys().copied())
        .collect();
    Ok(StoreContents { map, ranges })
}

/// The file of the WAL that an error names, below the directory; `log` for an I/O error.
fn log_file(directory: &Path, error: &OpenWalError) -> String {
    let path = match error {
        OpenWalError::Missing { path, .. }
        | OpenWalError::Damaged { path, .. }
        | OpenWalError::UnknownVersion { path, .. } => PathBuf::from(path),
        OpenWalError::Io(_) | OpenWalError::Fenced { .. } | OpenWalError::Ended { .. } => {
            PathBuf::from("log")
        }
    };
    let below = path.strip_prefix(directory).unwrap_or(&path);
    below.display().to_string()
}

/// Writes a new version of a lost partition map, if the serving records determine it and a start would accept it.
/// Returns the name of the new file.
///
/// # Errors
/// [`Error::Rebuild`]: nothing was written.
pub async fn rebuild_map(path: &Path) -> Result<String, Error> {
    let refused = |text: &str| Error::Rebuild(text.to_owned());
    let directory = ClosedDataDir::open(path)?;
    let store = directory
        .store()
        .ok_or_else(|| refused("the folder store/ is missing"))?;
    let mut check = Check::default();
    let log = check.log(&directory).await?;
    let log = log.ok_or_else(|| refused("the log is damaged; repair it first"))?;
    let mut contents = contents(&store, Some(&log)).await?;
    let faults = |contents: &StoreContents| {
        let checked = partita_cluster::check(contents);
        let refused = checked.findings_of(MapSeverity::Refused);
        refused.map(ToString::to_string).collect::<Vec<_>>()
    };
    if faults(&contents).is_empty() {
        return Err(refused("the map is not damaged"));
    }
    let record = partita_cluster::rebuild(&contents)
        .map_err(|error: RebuildError| Error::Rebuild(error.to_string()))?;
    contents.map.versions.push(KeptVersion {
        version: record.version,
        record: Ok(record.clone()),
    });
    let left = faults(&contents);
    if !left.is_empty() {
        return Err(Error::Rebuild(left.join("; ")));
    }
    ObjectMapStore::new(store).save(&record).await?;
    Ok(format!("store/map/{:020}.json", record.version))
}
