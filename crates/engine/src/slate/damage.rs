//! The files of the store that could not be read, for health and status.
//!
//! [`super::checked_store`] adds a file to the list when a read fails, [`super::scrub`] when it finds damage. A file
//! leaves the list when its range is closed or reopened, when the range no longer reads it, or when the file was
//! replaced. [`super::damage_watch`] checks for the last two. A scrub also drops the manifests of a range before it
//! adds those that are still damaged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use partita_rt::{Clock, LogLimit};
use slatedb::object_store::path::Path;
use slatedb::object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::{DamagedFile, RangeId};

/// The maximum number of listed files. Reads of further damaged files fail too, but the files are not listed.
const FILES_MAX: usize = 100;

/// The damaged files of the open databases.
#[derive(Debug)]
pub(super) struct Damage {
    clock: Arc<dyn Clock>,
    files: Mutex<BTreeMap<(RangeId, Path), Noted>>,
    lines: LogLimit,
}

#[derive(Debug)]
struct Noted {
    problem: String,
    since: SystemTime,
    /// The properties of the damaged file, to notice when it is replaced; `None` if not even its first byte was
    /// readable.
    version: Option<ObjectMeta>,
}

/// The path in a data directory of an object in its store.
pub(super) fn path_in_directory(object: &Path) -> String {
    format!("store/{object}")
}

/// Whether an object is a data file. Of other files, only the scrub records damage.
pub(super) fn is_data_file(object: &Path) -> bool {
    object.extension() == Some("sst")
}

/// The properties of a readable file, which change when it is replaced.
pub(super) async fn version_of(store: &dyn ObjectStore, file: &Path) -> Option<ObjectMeta> {
    let options = GetOptions {
        range: Some(GetRange::Bounded(0..1)),
        ..GetOptions::default()
    };
    // Closes an open file that is no longer the one of this name, so that the read opens the new one.
    store.head(file).await.ok()?;
    let found = store.get_opts(file, options).await.ok()?;
    let meta = found.meta.clone();
    found.bytes().await.ok()?;
    Some(meta)
}

impl Damage {
    /// An empty list; `clock` gives [`DamagedFile::since`].
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            files: Mutex::default(),
            lines: LogLimit::default(),
        }
    }

    /// Adds a damaged file that `range` reads, and logs it, at most once a minute.
    pub(super) fn note(
        &self,
        range: RangeId,
        file: &Path,
        problem: String,
        version: Option<ObjectMeta>,
    ) {
        let name = path_in_directory(file);
        if self.lines.permits(&name, self.clock.monotonic()) {
            tracing::error!(
                %range, file = name, problem,
                "a file of the store is damaged, and its rows cannot be read; restore the file from a copy of this data \
                 directory, or restore a backup"
            );
        }
        let mut files = self.files.lock();
        let key = (range, file.clone());
        if let Some(noted) = files.get_mut(&key) {
            (noted.problem, noted.version) = (problem, version);
        } else if files.len() < FILES_MAX {
            let noted = Noted {
                problem,
                since: self.clock.now(),
                version,
            };
            files.insert(key, noted);
        }
    }

    /// Whether a damaged file of `range` is known.
    pub(super) fn is_in(&self, range: RangeId) -> bool {
        let files = self.files.lock();
        files.keys().any(|(damaged, _)| *damaged == range)
    }

    /// Drops the files of a range.
    pub(super) fn clear(&self, range: RangeId) {
        self.files.lock().retain(|(of, _), _| *of != range);
    }

    /// Drops the manifests of a range from the list, because a scrub has now read them.
    pub(super) fn clear_manifests(&self, range: RangeId) {
        let mut files = self.files.lock();
        files.retain(|(of, file), _| *of != range || is_data_file(file));
    }

    /// All files. `refuses` tells whether a range refuses writes.
    pub(super) fn list(&self, refuses: impl Fn(RangeId) -> bool) -> Vec<DamagedFile> {
        let files = self.files.lock();
        let listed = files.iter().map(|((range, file), noted)| DamagedFile {
            range: *range,
            file: path_in_directory(file),
            problem: noted.problem.clone(),
            since: noted.since,
            blocks_writes: refuses(*range),
        });
        listed.collect()
    }

    /// The files, each with its properties when it was added.
    pub(super) fn versions(&self) -> Vec<(RangeId, Path, Option<ObjectMeta>)> {
        let files = self.files.lock();
        let files = files.iter();
        files
            .map(|((range, file), noted)| (*range, file.clone(), noted.version.clone()))
            .collect()
    }

    /// Drops a file, unless it was added again with other properties than `version`.
    pub(super) fn drop_version(&self, range: RangeId, file: &Path, version: Option<&ObjectMeta>) {
        let mut files = self.files.lock();
        let key = (range, file.clone());
        let is_same = |noted: &Noted| noted.version.as_ref() == version;
        if files.get(&key).is_some_and(is_same) {
            files.remove(&key);
            let file = path_in_directory(file);
            tracing::info!(%range, file, "removed a file from the list of damaged files: it was replaced, or its range stopped reading it");
        }
    }
}
