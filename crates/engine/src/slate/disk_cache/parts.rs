//! The parts that the cache has.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use bytes::Bytes;
use parking_lot::Mutex;
use partita_rt::data_dir::{self, Lock};
use partita_rt::{random, threads};
use quick_cache::sync::{Cache, DefaultLifecycle, PlaceholderGuard};
use quick_cache::{OptionsBuilder, Weighter};

use super::part_file::{self, PARTIAL};
use crate::stats::DiskCacheStats;

/// The bytes of a part, but for the last one of a file.
pub(super) const PART_BYTES: u64 = 256 << 10;

/// The parts that are under one lock: a cache of few parts has one lock, so that it can be full.
const PARTS_OF_A_LOCK: usize = 1_024;

/// A part of a data file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PartKey {
    /// The name of the data file, without its folder. No other data file ever has it.
    pub(super) file: String,
    /// The number of the part.
    pub(super) number: u64,
}

/// A part in the cache. Its file is deleted when it is dropped, unless the process ends.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    stored_bytes: u64,
    /// The size of the data file.
    pub(super) file_bytes: u64,
    is_closing: Arc<AtomicBool>,
}

impl Part {
    /// Reads some of its bytes.
    pub(super) async fn read(self: Arc<Self>, wanted: Range<usize>) -> io::Result<Bytes> {
        let reading = threads::spawn_blocking(move || part_file::read(&self.path, wanted));
        reading.await.map_err(io::Error::other)?
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_closing.load(Ordering::Acquire) {
            // What remains is found at the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[derive(Clone)]
pub(super) struct StoredBytes;

impl Weighter<PartKey, Arc<Part>> for StoredBytes {
    fn weight(&self, _key: &PartKey, part: &Arc<Part>) -> u64 {
        part.stored_bytes
    }
}

type Parts = Cache<PartKey, Arc<Part>, StoredBytes>;

/// The place of a part that is not in the cache yet. Others who want the part wait until this is dropped or filled.
pub(super) type Missing<'c> = PlaceholderGuard<
    'c,
    PartKey,
    Arc<Part>,
    StoredBytes,
    quick_cache::DefaultHashBuilder,
    DefaultLifecycle<PartKey, Arc<Part>>,
>;

/// The open caches of this process.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<DiskCache>>> = Mutex::new(BTreeMap::new());

/// Parts of data files in a folder of this machine; see the module above.
pub struct DiskCache {
    folder: PathBuf,
    parts: Parts,
    is_closing: Arc<AtomicBool>,
    hits: AtomicU64,
    misses: AtomicU64,
    _lock: Lock,
}

impl std::fmt::Debug for DiskCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskCache")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Drop for DiskCache {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Release);
    }
}

impl DiskCache {
    /// The cache in `folder`, which is created if it is missing, with what is in it: at most `bytes_max` bytes. Files with
    /// other names are left alone. If this process has opened the folder already, it is the same cache: a server that
    /// takes its data over again may still end reads of before. Blocking: lists the folder.
    ///
    /// # Errors
    /// Another process uses the folder, or the file system fails.
    pub fn open(folder: impl Into<PathBuf>, bytes_max: u64) -> Result<Arc<Self>, data_dir::Error> {
        let folder = folder.into();
        let mut open = OPEN.lock();
        if let Some(cache) = open.get(&folder).and_then(Weak::upgrade) {
            return Ok(cache);
        }
        let cache = Arc::new(Self::open_alone(folder.clone(), bytes_max)?);
        open.insert(folder, Arc::downgrade(&cache));
        Ok(cache)
    }

    fn open_alone(folder: PathBuf, bytes_max: u64) -> Result<Self, data_dir::Error> {
        let io = |action, source| data_dir::Error::io(action, &folder, source);
        fs::create_dir_all(&folder).map_err(|source| io("create the directory", source))?;
        let lock = Lock::take(&folder)?;
        let parts_max = usize::try_from(bytes_max / PART_BYTES).unwrap_or(usize::MAX);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(parts_max.max(1))
            .weight_capacity(bytes_max)
            .shards((parts_max / PARTS_OF_A_LOCK).clamp(1, 64))
            .build()
            .expect("both capacities are given");
        let cache = Self {
            parts: Parts::with_options(
                options,
                StoredBytes,
                quick_cache::DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            is_closing: Arc::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            _lock: lock,
            folder: folder.clone(),
        };
        cache.find_stored().map_err(|source| io("list", source))?;
        Ok(cache)
    }

    /// Adds the parts in the folder, those that were written last at the end.
    fn find_stored(&self) -> io::Result<()> {
        let mut found: BTreeMap<(SystemTime, PathBuf), (PartKey, Part)> = BTreeMap::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str() else {
                continue;
            };
            if let Some((key, file_bytes)) = parsed(name.strip_suffix(PARTIAL).unwrap_or(name)) {
                let meta = entry.metadata()?;
                let part = self.part(path.clone(), meta.len(), file_bytes);
                // What a killed process was writing is dropped.
                if !name.ends_with(PARTIAL) {
                    found.insert((meta.modified()?, path), (key, part));
                }
            }
        }
        for (key, part) in found.into_values() {
            self.parts.insert(key, Arc::new(part));
        }
        Ok(())
    }

    fn part(&self, path: PathBuf, stored_bytes: u64, file_bytes: u64) -> Part {
        Part {
            path,
            stored_bytes,
            file_bytes,
            is_closing: Arc::clone(&self.is_closing),
        }
    }

    /// A part, or its place if it is missing. Waits while another caller fetches the part.
    pub(super) async fn find(&self, key: &PartKey) -> Result<Arc<Part>, Missing<'_>> {
        let found = self.parts.get_value_or_guard_async(key).await;
        let counter = if found.is_ok() {
            &self.hits
        } else {
            &self.misses
        };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Forgets a part whose file cannot be read, or has other bytes than it should.
    pub(super) fn remove(&self, key: &PartKey) {
        self.parts.remove(key);
    }

    /// Writes a part of a data file of `file_bytes` bytes.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) async fn write(
        &self,
        key: &PartKey,
        file_bytes: u64,
        part: Bytes,
    ) -> io::Result<Arc<Part>> {
        // Another name each time: a reader of an evicted part may still have its file, which is deleted later.
        let path = self.folder.join(name(key, file_bytes, random::u64()));
        let written = path.clone();
        let writing = threads::spawn_blocking(move || part_file::write(&written, &part));
        let stored_bytes = writing.await.map_err(io::Error::other)??;
        Ok(Arc::new(self.part(path, stored_bytes, file_bytes)))
    }

    /// Its counts since the start, and its size.
    pub(in crate::slate) fn stats(&self) -> DiskCacheStats {
        DiskCacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: self.parts.weight(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The name of a part's file: the name of the data file, the number of the part, the size of the data file, and a random
/// number.
fn name(key: &PartKey, file_bytes: u64, random: u64) -> String {
    format!("{}.{}.{file_bytes}.{random:016x}", key.file, key.number)
}

/// What [`name`] names.
fn parsed(name: &str) -> Option<(PartKey, u64)> {
    let mut fields = name.rsplitn(4, '.');
    let (_random, file_bytes, number, file) = (
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    );
    let key = PartKey {
        file: file.ends_with(".sst").then(|| file.to_owned())?,
        number: number.parse().ok()?,
    };
    Some((key, file_bytes.parse().ok()?))
}
