//! The files that versions read, and a layer over the store that does not delete them.
//!
//! A version of a database holds its files. Garbage collection asks the layer to delete a file that the manifest no
//! longer names; while a version reads it, the layer leaves it, and a later collection asks again. So a scan never loses
//! its files, however long it runs, and files can be collected as soon as no scan needs them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures::StreamExt;
use parking_lot::Mutex;
use partita_rt::store_layer::{Layer, Paths};
use slatedb::manifest::SsTableHandle;
use slatedb::object_store::path::Path;
use slatedb::object_store::{ObjectStore, ObjectStoreExt};

use super::cache::ReadCache;
use super::file::{DataFile, path_of};

/// How many files are deleted at the same time.
const DELETIONS_AT_ONCE: usize = 8;

/// The data files that versions read, of all databases of a process.
pub(in crate::slate) struct Files {
    by_path: Mutex<BTreeMap<Path, Weak<DataFile>>>,
    next: AtomicU64,
    cache: Arc<ReadCache>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl Files {
    /// No files. Their blocks and metadata go into `cache`.
    pub(in crate::slate) fn new(cache: Arc<ReadCache>) -> Self {
        Self {
            by_path: Mutex::default(),
            next: AtomicU64::new(0),
            cache,
        }
    }

    /// The file of a database in `folder`. Two ranges that read one file share what is in memory of it.
    pub(super) fn open(&self, folder: &str, handle: &SsTableHandle) -> Arc<DataFile> {
        let path = path_of(folder, handle);
        let mut by_path = self.by_path.lock();
        if let Some(file) = by_path.get(&path).and_then(Weak::upgrade) {
            return file;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let cache = Arc::clone(&self.cache);
        let file = Arc::new(DataFile::new(
            number,
            folder.to_owned(),
            handle.clone(),
            cache,
        ));
        by_path.insert(path, Arc::downgrade(&file));
        file
    }

    /// Forgets the files that no version reads.
    pub(super) fn forget_unused(&self) {
        let mut by_path = self.by_path.lock();
        by_path.retain(|_, file| file.strong_count() > 0);
    }

    fn is_read(&self, path: &Path) -> bool {
        let by_path = self.by_path.lock();
        by_path
            .get(path)
            .is_some_and(|file| file.strong_count() > 0)
    }
}

/// The layer that does not delete files that versions read. It reports them as deleted.
#[derive(Debug)]
pub(in crate::slate) struct KeptFiles {
    store: Arc<dyn ObjectStore>,
    files: Arc<Files>,
}

impl KeptFiles {
    pub(in crate::slate) fn new(store: Arc<dyn ObjectStore>, files: Arc<Files>) -> Self {
        Self { store, files }
    }
}

impl Layer for KeptFiles {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    fn delete(&self, locations: Paths) -> Paths {
        let (store, files) = (Arc::clone(&self.store), Arc::clone(&self.files));
        let deleting = locations.map(move |location| {
            let (store, files) = (Arc::clone(&store), Arc::clone(&files));
            async move {
                let location = location?;
                if !files.is_read(&location) {
                    store.delete(&location).await?;
                }
                Ok(location)
            }
        });
        deleting.buffered(DELETIONS_AT_ONCE).boxed()
    }
}
