//! A version of a database: the memtables and the files that hold its rows at some time.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use partita_wal::WalId;
use slatedb::VersionedManifest;
use slatedb::manifest::SsTableView;

use super::file::DataFile;
use super::files::Files;
use super::filter::KeyHash;
use super::memtable::Memtable;
use crate::KeyRange;
use crate::slate::file_layout;

/// The rows of a database at some time. It never changes, but for rows that are added to its first memtable.
///
/// For a key, the newest version of its row is in the first memtable or run that has the key.
#[derive(Debug, Clone)]
pub(super) struct Version {
    /// From the newest to the oldest; at least one.
    pub(super) memtables: Vec<Arc<Memtable>>,
    /// From the newest to the oldest.
    pub(super) runs: Arc<[Run]>,
}

/// Files in the order of their keys, of which at most one has a key.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) parts: Vec<Part>,
}

/// The visible part of a file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: Arc<DataFile>,
    pub(super) keys: KeyRange,
}

/// In a part of a run, or before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the first part that does not end before the keys.
    part: usize,
    /// Whether the part begins before the keys or at them.
    is_inside: bool,
}

impl Run {
    fn of<'v>(views: impl Iterator<Item = &'v SsTableView>, opener: &Opener<'_>) -> Self {
        let parts = views.filter_map(|view| {
            let keys = file_layout::key_range(view)?;
            #[cfg(feature = "planted-bugs")]
            let keys = super::planted::keys(view, keys);
            let file = opener.open(view);
            Some(Part { file, keys })
        });
        let parts = parts.collect();
        Self { parts }
    }

    /// The number of the first part that can have a key that is at or after a bound.
    pub(super) fn part_at(&self, start: &Bound<Bytes>) -> usize {
        let (Bound::Included(start) | Bound::Excluded(start)) = start else {
            return 0;
        };
        self.parts.partition_point(|part| match &part.keys.end {
            Bound::Included(end) => end < start,
            Bound::Excluded(end) => end <= start,
            Bound::Unbounded => false,
        })
    }

    /// Where a key belongs. If two keys have the same place, the keys between them have it, too.
    pub(super) fn place_of(&self, key: &[u8]) -> Place {
        let part = self.parts.partition_point(|part| match &part.keys.end {
            Bound::Included(end) => &end[..] < key,
            Bound::Excluded(end) => &end[..] <= key,
            Bound::Unbounded => false,
        });
        let start = self.parts.get(part).map(|part| &part.keys.start);
        let is_inside = start.is_some_and(|start| match start {
            Bound::Included(start) => &start[..] <= key,
            Bound::Excluded(start) => &start[..] < key,
            Bound::Unbounded => true,
        });
        Place { part, is_inside }
    }

    /// The part that can have the keys of a place.
    pub(super) fn part_in(&self, place: Place) -> Option<&Part> {
        let part = self.parts.get(place.part)?;
        place.is_inside.then_some(part)
    }

    /// The part that can have a key.
    pub(super) fn part_of(&self, key: &[u8]) -> Option<&Part> {
        self.part_in(self.place_of(key))
    }
}

impl Part {
    /// `false` only if the file does not have the key, as far as that can be told without waiting.
    #[inline]
    pub(super) fn may_contain_quickly(&self, hash: KeyHash) -> bool {
        let filter = self.file.kept_filter();
        filter.is_none_or(|filter| filter.may_contain_quickly(hash))
    }
}

/// Opens the files of a manifest.
struct Opener<'m> {
    files: &'m Files,
    folder: &'m str,
    /// The folders of the files of other databases.
    elsewhere: HashMap<slatedb::manifest::SsTableId, &'m str>,
}

impl Opener<'_> {
    fn open(&self, view: &SsTableView) -> Arc<DataFile> {
        let folder = self.elsewhere.get(&view.sst.id).unwrap_or(&self.folder);
        self.files.open(folder, &view.sst)
    }
}

/// The runs of a manifest: each file of level 0, then the sorted runs.
pub(super) fn runs(files: &Files, folder: &str, manifest: &VersionedManifest) -> Arc<[Run]> {
    let elsewhere = manifest.external_dbs().iter();
    let elsewhere = elsewhere.flat_map(|db| db.sst_ids.iter().map(|id| (*id, db.path.as_str())));
    let opener = Opener {
        files,
        folder,
        elsewhere: elsewhere.collect(),
    };
    let level0 = manifest.l0().iter();
    let level0 = level0.map(|view| Run::of(std::iter::once(view), &opener));
    let sorted = manifest.compacted().iter();
    let sorted = sorted.map(|run| Run::of(run.sst_views().iter(), &opener));
    let runs = level0.chain(sorted).filter(|run| !run.parts.is_empty());
    let runs: Vec<Run> = runs.collect();
    #[cfg(feature = "planted-bugs")]
    let runs = super::planted::runs(runs);
    runs.into()
}

impl Version {
    /// No rows but those of a manifest.
    pub(super) fn new(runs: Arc<[Run]>) -> Self {
        Self {
            memtables: vec![Arc::default()],
            runs,
        }
    }

    /// With a new first memtable.
    pub(super) fn with_new_memtable(&self) -> Self {
        let mut memtables = vec![Arc::default()];
        memtables.extend(self.memtables.iter().cloned());
        let runs = Arc::clone(&self.runs);
        Self { memtables, runs }
    }

    /// With the runs of a newer manifest, and without the memtables that it has flushed.
    pub(super) fn with_runs(&self, runs: Arc<[Run]>, flushed: WalId) -> Self {
        let unflushed = self.memtables.iter();
        let unflushed = unflushed.filter(|it| it.is_empty() || !it.is_flushed(flushed));
        let mut memtables: Vec<_> = unflushed.cloned().collect();
        if memtables.is_empty() {
            memtables.push(Arc::default());
        }
        Self { memtables, runs }
    }

    /// The files that it reads.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<DataFile>> {
        let parts = self.runs.iter().flat_map(|run| &run.parts);
        parts.map(|part| &part.file)
    }
}
