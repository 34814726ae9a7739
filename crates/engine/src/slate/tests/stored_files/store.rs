//! The data files of a stored directory, as SlateDB reads them.

use std::collections::btree_map::Entry;
use std::ops::{Range, RangeBounds};

use slatedb::manifest::{SsTableInfo, SsTableView};
use slatedb::object_store;
use slatedb::{PathResolver, RowEntry, SstReader, ValueDeletable, VersionedManifest};

use super::*;
use crate::slate::context::Context;
use crate::slate::file_layout;
use crate::slate::names::database_path;
use crate::slate::newest_manifest::newest_manifest;

type ObjectPath = object_store::path::Path;

/// A block of a file.
pub(super) struct StoredBlock {
    /// Where the block is in the file.
    pub(super) bytes: Range<u64>,
    /// All versions of its rows, in the order of the file.
    pub(super) rows: Vec<RowEntry>,
}

/// A data file.
pub(super) struct StoredFile {
    pub(super) path: ObjectPath,
    /// A view of a manifest that reads it.
    pub(super) view: SsTableView,
    pub(super) info: SsTableInfo,
    pub(super) blocks: Vec<StoredBlock>,
    /// For each key, the first block with a version of its row.
    pub(super) block_of: BTreeMap<Bytes, usize>,
}

impl StoredFile {
    async fn read(context: &Context, path: ObjectPath, view: SsTableView) -> Self {
        let folder = path.as_ref().split('/').next().unwrap().to_owned();
        let reader = SstReader::new(folder, Arc::clone(&context.home.store), None, None);
        let file = reader.open_with_handle(view.sst.clone()).unwrap();
        let info = file.info().clone();
        let index = file.index().await.unwrap();
        let mut offsets: Vec<u64> = index.iter().map(|(offset, _)| offset).collect();
        offsets.push(match info.filter_len {
            0 => info.index_offset,
            _ => info.filter_offset,
        });
        let (mut blocks, mut block_of) = (Vec::new(), BTreeMap::new());
        for (number, place) in offsets.windows(2).enumerate() {
            let rows = file.read_block(number).await.unwrap();
            for row in &rows {
                block_of.entry(row.key.clone()).or_insert(number);
            }
            let bytes = place[0]..place[1];
            blocks.push(StoredBlock { bytes, rows });
        }
        Self {
            path,
            view,
            info,
            blocks,
            block_of,
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &RowEntry> {
        self.blocks.iter().flat_map(|block| &block.rows)
    }

    pub(super) fn has_versions(&self) -> bool {
        let keys: Vec<&Bytes> = self.rows().map(|row| &row.key).collect();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    }

    pub(super) fn has_versions_in_two_blocks(&self) -> bool {
        let ends = |pair: &[StoredBlock]| {
            let last = pair[0].rows.last().map(|row| &row.key);
            last == pair[1].rows.first().map(|row| &row.key)
        };
        self.blocks.windows(2).any(ends)
    }
}

/// The part of a file that a range shows.
pub(super) struct VisiblePart {
    pub(super) path: ObjectPath,
    pub(super) keys: KeyRange,
    is_clipped: bool,
}

impl VisiblePart {
    pub(super) fn contains(&self, key: &Bytes) -> bool {
        let KeyRange { start, end } = &self.keys;
        let bounds = (start.as_ref(), end.as_ref());
        RangeBounds::<Bytes>::contains(&bounds, key)
    }
}

/// A range of the directory.
pub(super) struct StoredRange {
    pub(super) manifest: VersionedManifest,
    level0_count: usize,
    /// Files of level 0, then sorted runs, from the newest to the oldest.
    pub(super) runs: Vec<Vec<VisiblePart>>,
    /// The rows in the files; `None` if the newest version is a deletion.
    pub(super) rows: BTreeMap<Bytes, Option<Bytes>>,
}

/// The files of a directory that no engine set has open.
pub(super) struct Store {
    pub(super) home: Home,
    pub(super) ranges: BTreeMap<RangeId, StoredRange>,
    pub(super) files: BTreeMap<ObjectPath, StoredFile>,
}

impl Store {
    pub(super) async fn open(directory: &Path) -> Self {
        let home = Home::in_directory(Arc::new(DataDir::open(directory).unwrap()));
        let context = Context::new(home.clone(), Settings::default());
        let clock = Arc::clone(&context.clock) as _;
        let (mut ranges, mut files) = (BTreeMap::new(), BTreeMap::new());
        for range in RANGES {
            let folder = database_path(range);
            let manifest = newest_manifest(&context.home.store, &clock, &folder).await;
            let manifest = manifest.unwrap().unwrap();
            let paths = PathResolver::new(folder, &manifest);
            for view in manifest.all_sst_views() {
                let path = paths.sst_path(&view.sst.id);
                if let Entry::Vacant(vacant) = files.entry(path.clone()) {
                    vacant.insert(StoredFile::read(&context, path, view.clone()).await);
                }
            }
            let part = |view: &SsTableView| {
                Some(VisiblePart {
                    path: paths.sst_path(&view.sst.id),
                    keys: file_layout::key_range(view)?,
                    is_clipped: view.visible_range().is_some(),
                })
            };
            let level0 = manifest.l0().iter().map(|view| part(view).into_iter());
            let level0 = level0.map(Iterator::collect);
            let sorted = manifest.compacted().iter();
            let sorted = sorted.map(|run| run.sst_views().iter().filter_map(part).collect());
            let runs: Vec<Vec<VisiblePart>> = level0.chain(sorted).collect();
            let stored = StoredRange {
                rows: rows_of(&runs, &files),
                level0_count: manifest.l0().len(),
                runs,
                manifest,
            };
            ranges.insert(range, stored);
        }
        Self {
            home,
            ranges,
            files,
        }
    }

    /// The files of level 0 of a range, and those of its sorted runs.
    pub(super) fn files_of(&self, range: RangeId) -> [Vec<&StoredFile>; 2] {
        let stored = &self.ranges[&range];
        let (level0, sorted) = stored.runs.split_at(stored.level0_count);
        [level0, sorted].map(|runs| {
            let parts = runs.iter().flatten();
            parts.map(|part| &self.files[&part.path]).collect()
        })
    }

    /// In how many clipped parts a range reads each file of a source.
    pub(super) fn clipped_parts_of(
        &self,
        range: RangeId,
        source: RangeId,
    ) -> BTreeMap<&ObjectPath, usize> {
        let folder = object_store::path::Path::from(database_path(source));
        let mut counts = BTreeMap::new();
        for part in self.ranges[&range].runs.iter().flatten() {
            if part.is_clipped && part.path.prefix_matches(&folder) {
                *counts.entry(&part.path).or_default() += 1;
            }
        }
        counts
    }
}

/// The newest version of each row in `runs`.
fn rows_of(
    runs: &[Vec<VisiblePart>],
    files: &BTreeMap<ObjectPath, StoredFile>,
) -> BTreeMap<Bytes, Option<Bytes>> {
    let mut rows = BTreeMap::new();
    for part in runs.iter().flatten() {
        for row in files[&part.path].rows() {
            if part.contains(&row.key) && !rows.contains_key(&row.key) {
                let value = match &row.value {
                    ValueDeletable::Value(value) => Some(value.clone()),
                    ValueDeletable::Tombstone => None,
                    ValueDeletable::Merge(_) => panic!("a merge operand"),
                };
                rows.insert(row.key.clone(), value);
            }
        }
    }
    rows
}
