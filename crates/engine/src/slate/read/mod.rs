//! Reading: gets and scans over SlateDB's files and over rows that are not flushed yet.
//!
//! SlateDB writes, flushes, compacts, clones, pins and fences. Its iterators take a microsecond a row, nearly all of it in
//! boxed futures and allocations, so Partita reads with this module instead:
//!
//! ```text
//!  WAL, after its sync ──▶ memtables ─┐                        get: memtables, then runs; the first with the key decides
//!  SlateDB's manifest  ──▶ runs ──────┴─▶ Version ──▶ Merge    scan: all of them, merged
//! ```
//!
//! # Rules
//! 1. A row is added to the first memtable after its WAL record is durable, and before the batch is completed. Then the
//!    sequence number of the record becomes the *visible* one. So reads see durable rows only, and a batch at once.
//! 2. A version changes in one step. When a manifest has flushed the last record of a memtable, one step adds the
//!    manifest's files and drops the memtable: a row is always in one of them, and possibly in both.
//! 3. A snapshot is a version and a sequence number, taken in this order. All rows in the version's files were visible
//!    when the version was made, so only rows of memtables are compared with the number.
//! 4. A version holds its files: they are not deleted while it is read ([`files`]).
//!
//! A checksum is verified whenever bytes come from the store. A part of a file that is missing, short, damaged or of an
//! unknown format is an error that names the file; it never changes what the other rows look like.

mod block;
mod cache;
mod cursor;
mod file;
mod files;
mod filter;
mod get_many;
mod index;
mod memtable;
mod merge;
#[cfg(feature = "planted-bugs")]
mod planted;
mod scan;
mod version;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use parking_lot::Mutex;
use partita_wal::WalId;
use slatedb::manifest::SsTableView;
use slatedb::object_store::ObjectStore;
use slatedb::{Db, DbSnapshot, RowEntry, VersionedManifest};

use self::block::BlockCursor;
use self::filter::KeyHash;
use self::index::BlockIndex;
use self::version::{Part, Version};
use super::context::Context;
use super::file_layout;
use super::names::database_path;
use crate::{RangeId, ReadError};

pub(super) use self::cache::ReadCache;
pub(super) use self::file::FORMAT_VERSION;
pub(super) use self::files::{Files, KeptFiles};

/// A memtable with this many bytes of keys and values gets no further rows. Smaller than SlateDB's, so that a flush
/// lets most of the rows go that it has written.
const MEMTABLE_BYTES: usize = 16 << 20;

/// The shortest time between two versions. The database tells of each WAL record, and most do not change the manifest.
const VERSION_PAUSE: Duration = Duration::from_millis(50);

/// A version, and the sequence number of the newest row in it to show. Rule 3.
pub(super) struct Snapshot {
    version: Arc<Version>,
    seq: u64,
}

/// The rows of one database.
pub(super) struct Reader {
    folder: String,
    store: Arc<dyn ObjectStore>,
    files: Arc<Files>,
    version: ArcSwap<Version>,
    /// Taken to change the version, and to add rows.
    change: Mutex<()>,
    /// The sequence number of the newest row that readers may see.
    visible: AtomicU64,
}

impl Reader {
    /// No rows yet.
    pub(super) fn new(context: &Context, range: RangeId) -> Self {
        Self {
            folder: database_path(range),
            store: context.store_of(range),
            files: Arc::clone(&context.files),
            version: ArcSwap::from_pointee(Version::new(Arc::default())),
            change: Mutex::new(()),
            visible: AtomicU64::new(0),
        }
    }

    /// The rows of a manifest, without a memtable.
    pub(super) fn of_manifest(
        context: &Context,
        range: RangeId,
        manifest: &VersionedManifest,
    ) -> Self {
        let reader = Self::new(context, range);
        reader.set_manifest(manifest);
        reader
    }

    /// Adds the rows of a WAL record that is durable. Records come in order.
    pub(super) fn add(&self, rows: &[RowEntry], record: WalId) {
        #[cfg(feature = "planted-bugs")]
        let rows = &planted::rows(rows)[..];
        let Some(newest) = rows.iter().map(|row| row.seq).max() else {
            return;
        };
        let _change = self.change.lock();
        let mut version = self.version.load_full();
        let is_full = |version: &Version| {
            let first = version.memtables.first();
            first.is_none_or(|first| first.bytes() >= MEMTABLE_BYTES)
        };
        if is_full(&version) {
            if let Some(full) = version.memtables.first() {
                full.merge();
            }
            version = Arc::new(version.with_new_memtable());
            self.version.store(Arc::clone(&version));
        }
        if let Some(first) = version.memtables.first() {
            first.add(rows, record);
        }
        self.visible.fetch_max(newest, Ordering::AcqRel);
    }

    /// Reads the files of a manifest from now on.
    pub(super) fn set_manifest(&self, manifest: &VersionedManifest) {
        let runs = version::runs(&self.files, &self.folder, manifest);
        let flushed = WalId(manifest.replay_after_wal_id());
        #[cfg(feature = "planted-bugs")]
        let flushed = planted::flushed(flushed);
        let before = {
            let _change = self.change.lock();
            let version = self.version.load();
            self.version
                .swap(Arc::new(version.with_runs(runs, flushed)))
        };
        drop(before);
        self.files.forget_unused();
    }

    /// The share of a file's blocks that the database shows; `None` if the index of the file is not in memory. Two
    /// databases that share a file share its index.
    pub(super) fn visible_share(&self, view: &SsTableView) -> Option<f64> {
        let keys = file_layout::key_range(view)?;
        let version = self.version.load();
        let mut parts = version.runs.iter().flat_map(|run| &run.parts);
        let part = parts.find(|part| part.file.is_of(&view.sst))?;
        Some(part.file.kept_index()?.share(&keys))
    }

    /// Follows the manifests of the database until it is closed.
    pub(super) async fn follow(self: Arc<Self>, db: Db) {
        let mut status = db.subscribe();
        drop(db);
        let mut last: Option<VersionedManifest> = None;
        loop {
            let changed = {
                let status = status.borrow_and_update();
                let is_changed = last.as_ref() != Some(&status.current_manifest);
                is_changed.then(|| status.current_manifest.clone())
            };
            if let Some(manifest) = changed {
                self.set_manifest(&manifest);
                self.warm().await;
                last = Some(manifest);
            }
            tokio::time::sleep(VERSION_PAUSE).await;
            if status.changed().await.is_err() {
                return;
            }
        }
    }

    /// Reads the filters of the files and then the indexes, the newest first, as long as they may stay in memory. A reader
    /// that needs one earlier reads it, too.
    async fn warm(&self) {
        let version = self.version.load_full();
        // The read that needs the file reports the error.
        for file in version.files() {
            if file.filter(&self.store).await.is_ok() && file.kept_filter().is_none() {
                return;
            }
        }
        for file in version.files() {
            if file.index(&self.store).await.is_ok() && file.kept_index().is_none() {
                return;
            }
        }
    }

    /// The rows that are visible now.
    fn snapshot(&self) -> Snapshot {
        let version = self.version.load_full();
        let seq = self.visible.load(Ordering::Acquire);
        Snapshot { version, seq }
    }

    /// A snapshot of SlateDB, and one of this reader with the same rows.
    ///
    /// SlateDB shows a row a moment after this reader does, so both use the sequence number of SlateDB's snapshot. The
    /// version is loaded before it: SlateDB flushes only rows that it shows, so the version's files have no newer row.
    /// The version is still the current one after it, so its memtables and files have all rows of the snapshot.
    ///
    /// # Errors
    /// The database is closed.
    pub(super) fn snapshot_with(
        &self,
        db: &Db,
    ) -> Result<(Snapshot, Arc<DbSnapshot>), slatedb::Error> {
        loop {
            let version = self.version.load_full();
            let other = db.snapshot()?;
            if Arc::ptr_eq(&version, &self.version.load()) {
                let seq = other.seq();
                return Ok((Snapshot { version, seq }, other));
            }
        }
    }

    /// The value of a key that is visible now, or `None`.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`]. Has no deadline.
    pub(super) fn get(
        &self,
        key: &[u8],
    ) -> impl Future<Output = Result<Option<Bytes>, ReadError>> + Send {
        self.get_at(self.snapshot(), key)
    }

    /// The value of a key in a snapshot, or `None`.
    ///
    /// # Errors
    /// See [`Reader::get`].
    pub(super) async fn get_at(
        &self,
        snapshot: Snapshot,
        key: &[u8],
    ) -> Result<Option<Bytes>, ReadError> {
        let Snapshot { version, seq } = snapshot;
        let hash = KeyHash::of(key);
        for memtable in &version.memtables {
            if let Some(found) = memtable.get(key, hash, seq) {
                return Ok(found);
            }
        }
        for run in version.runs.iter() {
            let Some(part) = run.part_of(key) else {
                continue;
            };
            if let Some(found) = self.get_in_part(part, key, hash).await? {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The newest version of a row in a part: `Some(None)` if it is a deletion, `None` if the part has none.
    #[inline]
    async fn get_in_part(
        &self,
        part: &Part,
        key: &[u8],
        hash: KeyHash,
    ) -> Result<Option<Option<Bytes>>, ReadError> {
        let read;
        let filter = match part.file.kept_filter() {
            Some(filter) => filter,
            None => {
                read = Box::pin(part.file.filter(&self.store)).await?;
                &read
            }
        };
        if !filter.may_contain(hash) {
            return Ok(None);
        }
        let read;
        let index = match part.file.kept_index() {
            Some(index) => index,
            None => {
                read = Box::pin(part.file.index(&self.store)).await?;
                &read
            }
        };
        self.get_in(part, index, key).await
    }

    /// The newest version of a row in a file: `Some(None)` if it is a deletion, `None` if the file has none.
    async fn get_in(
        &self,
        part: &Part,
        index: &BlockIndex,
        key: &[u8],
    ) -> Result<Option<Option<Bytes>>, ReadError> {
        let mut cursor = BlockCursor::default();
        let mut number = index.find(key);
        while let Some(place) = index.block(number) {
            let block = match part.file.cached_block(number) {
                Some(block) => block,
                None => Box::pin(part.file.read_block(&self.store, (number, place), true)).await?,
            };
            let found = cursor.seek(&block, key);
            if found.map_err(|error| part.file.damaged(error))? {
                // A copy: the block has other rows, which a row in the entity cache must not keep in memory.
                let value = |value| block.content().get(value).map(Bytes::copy_from_slice);
                return Ok((cursor.key() == key).then(|| cursor.value().and_then(value)));
            }
            number += 1;
        }
        Ok(None)
    }
}
