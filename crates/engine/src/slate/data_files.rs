//! The sizes of all data files in the store, and the bytes that flushes and compactions wrote.
//!
//! A layer over the object store counts each data file when it is written and when it is deleted, so that reading the
//! numbers needs no listing. The files that exist at the start are listed once, in the background.
//!
//! The names of data files are unique over all databases, and a file keeps its name when its database moves to the
//! trash. So the name alone identifies a file, and ranges that share a file count it once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use partita_rt::Shutdown;
use partita_rt::store_layer::{Layer, Paths, Put};
use slatedb::manifest::SsTableId;
use slatedb::object_store::path::Path;
use slatedb::object_store::{
    Error, Extensions, MultipartUpload, ObjectStore, PutMultipartOptions, PutPayload, PutResult,
    Result, UploadPart,
};
use slatedb::object_store_tag::{ObjectStoreCallTag, TableStoreKind};

/// The pause before a failed listing is repeated.
const LIST_RETRY: Duration = Duration::from_secs(10);

/// The data files in the store.
#[derive(Debug, Default)]
pub(super) struct DataFiles {
    flushed_bytes: AtomicU64,
    compacted_bytes: AtomicU64,
    sizes: Mutex<Sizes>,
}

#[derive(Debug, Default)]
struct Sizes {
    /// Whether other processes write and delete files, too. Then no sizes are kept.
    is_shared: bool,
    by_file: HashMap<SsTableId, u64>,
    /// Whether the files that existed at the start are in `by_file`.
    is_complete: bool,
    /// The files that were deleted before `is_complete`: the listing may still return them.
    deleted: HashSet<SsTableId>,
}

impl DataFiles {
    /// The data files in a store that other processes write, too. Their sizes are not known; only what this process writes
    /// is counted.
    pub(super) fn in_shared_store() -> Self {
        let files = Self::default();
        files.sizes.lock().is_shared = true;
        files
    }

    /// Bytes of the files that flushes wrote since the start.
    pub(super) fn flushed_bytes(&self) -> u64 {
        self.flushed_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the files that compactions wrote since the start.
    pub(super) fn compacted_bytes(&self) -> u64 {
        self.compacted_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the `live` files, and of all others; `None` until the files of the start are listed, and in a shared store.
    pub(super) fn live_and_others(&self, live: &HashSet<SsTableId>) -> Option<(u64, u64)> {
        let sizes = self.sizes.lock();
        sizes.is_complete.then(|| {
            let (mut live_bytes, mut other_bytes) = (0, 0);
            for (file, bytes) in &sizes.by_file {
                if live.contains(file) {
                    live_bytes += bytes;
                } else {
                    other_bytes += bytes;
                }
            }
            (live_bytes, other_bytes)
        })
    }

    fn add_written(&self, new: &NewFile, bytes: u64) {
        let written_bytes = match new.writer {
            Some(TableStoreKind::Main) => Some(&self.flushed_bytes),
            Some(TableStoreKind::Compactor) => Some(&self.compacted_bytes),
            _ => None,
        };
        if let Some(written_bytes) = written_bytes {
            written_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        let mut sizes = self.sizes.lock();
        if !sizes.is_shared {
            sizes.by_file.insert(new.file, bytes);
        }
    }

    fn remove(&self, file: SsTableId) {
        let mut sizes = self.sizes.lock();
        sizes.by_file.remove(&file);
        if !sizes.is_complete && !sizes.is_shared {
            sizes.deleted.insert(file);
        }
    }

    /// Adds the files that exist in the store. Files may be written and deleted at the same time.
    async fn add_stored(&self, store: &dyn ObjectStore) -> Result<()> {
        let mut listed = store.list(None);
        while let Some(object) = listed.try_next().await? {
            if let Some(file) = data_file(object.location.as_ref()) {
                let mut sizes = self.sizes.lock();
                if !sizes.deleted.contains(&file) {
                    sizes.by_file.entry(file).or_insert(object.size);
                }
            }
        }
        let mut sizes = self.sizes.lock();
        sizes.is_complete = true;
        sizes.deleted = HashSet::new();
        Ok(())
    }
}

/// Counts the files that exist at the start. Retries until it succeeds or the engine set closes.
pub(super) async fn count_stored(
    files: Arc<DataFiles>,
    store: Arc<dyn ObjectStore>,
    shutdown: Shutdown,
) {
    let counting = async {
        while let Err(error) = files.add_stored(&*store).await {
            tracing::warn!(%error, "failed to list the files of the store; will retry");
            tokio::time::sleep(LIST_RETRY).await;
        }
    };
    tokio::select! {
        biased;
        () = shutdown.requested() => {}
        () = counting => {}
    }
}

/// The file with this path; `None` if it is not a data file.
fn data_file(path: &str) -> Option<SsTableId> {
    let (_folder, name) = path.rsplit_once('/')?;
    let name = name.strip_suffix(".sst")?;
    name.parse().ok().map(SsTableId::new)
}

/// A data file that is being written.
#[derive(Debug)]
struct NewFile {
    file: SsTableId,
    /// The part of SlateDB that writes the file.
    writer: Option<TableStoreKind>,
}

impl NewFile {
    fn of(location: &Path, extensions: &Extensions) -> Option<Self> {
        let tag = extensions.get::<ObjectStoreCallTag>();
        Some(Self {
            file: data_file(location.as_ref())?,
            writer: tag.map(|tag| tag.kind),
        })
    }
}

/// The layer that counts data files.
#[derive(Debug)]
pub(super) struct CountedFiles {
    store: Arc<dyn ObjectStore>,
    files: Arc<DataFiles>,
}

impl CountedFiles {
    pub(super) fn new(store: Arc<dyn ObjectStore>, files: Arc<DataFiles>) -> Self {
        Self { store, files }
    }
}

#[async_trait]
impl Layer for CountedFiles {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        let Put { payload, options } = put;
        let new = NewFile::of(location, &options.extensions);
        let bytes = payload.content_length() as u64;
        let done = self.store.put_opts(location, payload, options).await?;
        if let Some(new) = new {
            self.files.add_written(&new, bytes);
        }
        Ok(done)
    }

    async fn put_parts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let new = NewFile::of(location, &options.extensions);
        let upload = self.store.put_multipart_opts(location, options).await?;
        Ok(match new {
            None => upload,
            Some(new) => Box::new(CountedUpload {
                upload,
                new,
                bytes: 0,
                files: Arc::clone(&self.files),
            }),
        })
    }

    fn delete(&self, locations: Paths) -> Paths {
        let files = Arc::clone(&self.files);
        let deleting = self.store.delete_stream(locations);
        let counting = deleting.inspect(move |deleted| {
            let path = match deleted {
                Ok(path) => path.as_ref(),
                // An earlier call that seemed to fail has deleted the file.
                Err(Error::NotFound { path, .. }) => path,
                Err(_failed) => return,
            };
            if let Some(file) = data_file(path) {
                files.remove(file);
            }
        });
        counting.boxed()
    }
}

/// The upload of a data file in parts.
#[derive(Debug)]
struct CountedUpload {
    upload: Box<dyn MultipartUpload>,
    new: NewFile,
    /// Bytes of the parts so far.
    bytes: u64,
    files: Arc<DataFiles>,
}

#[async_trait]
impl MultipartUpload for CountedUpload {
    fn put_part(&mut self, part: PutPayload) -> UploadPart {
        self.bytes += part.content_length() as u64;
        self.upload.put_part(part)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let done = self.upload.complete().await?;
        self.files.add_written(&self.new, self.bytes);
        Ok(done)
    }

    async fn abort(&mut self) -> Result<()> {
        self.upload.abort().await
    }
}

#[cfg(test)]
mod tests {
    use partita_rt::store_layer::Layered;
    use slatedb::object_store::memory::InMemory;
    use slatedb::object_store::{ObjectStoreExt, PutOptions};
    use slatedb::object_store_tag::SstType;

    use super::*;

    const FIRST: &str = "range-1/compacted/01KAQ2J7Z7Q1X4M0V6T7H8B9CD.sst";
    const SECOND: &str = "range-1/compacted/01KAQ2J7Z7Q1X4M0V6T7H8B9CE.sst";

    fn store() -> (Arc<InMemory>, Arc<DataFiles>, Layered<CountedFiles>) {
        let (inner, files) = (Arc::new(InMemory::new()), Arc::new(DataFiles::default()));
        let counted = CountedFiles::new(inner.clone(), files.clone());
        (inner, files, Layered(counted))
    }

    fn tag(writer: TableStoreKind) -> Extensions {
        ObjectStoreCallTag::new(writer, SstType::Compacted).into()
    }

    /// Bytes of the first file, and of all others.
    fn bytes(files: &DataFiles) -> Option<(u64, u64)> {
        files.live_and_others(&[data_file(FIRST).unwrap()].into())
    }

    #[tokio::test]
    async fn files_count_towards_their_writers() {
        let (_, files, store) = store();
        files.add_stored(&store).await.unwrap();
        let options = PutOptions {
            extensions: tag(TableStoreKind::Main),
            ..PutOptions::default()
        };
        let (first, second) = (FIRST.into(), SECOND.into());
        let put = store.put_opts(&first, "12345".into(), options);
        put.await.unwrap();
        let options = PutMultipartOptions {
            extensions: tag(TableStoreKind::Compactor),
            ..PutMultipartOptions::default()
        };
        let upload = store.put_multipart_opts(&second, options);
        let mut upload = upload.await.unwrap();
        upload.put_part("123".into()).await.unwrap();
        upload.put_part("4567".into()).await.unwrap();
        assert_eq!(bytes(&files), Some((5, 0)), "the upload is not complete");
        upload.complete().await.unwrap();
        assert_eq!(bytes(&files), Some((5, 7)));
        assert_eq!((files.flushed_bytes(), files.compacted_bytes()), (5, 7));
        for other in [
            "range-1/manifest/00000000000000000001.manifest",
            "range-1/wal/00000000000000000001.sst",
        ] {
            store.put(&other.into(), "123".into()).await.unwrap();
        }
        assert_eq!(bytes(&files), Some((5, 7)));
        store.delete(&FIRST.into()).await.unwrap();
        assert_eq!(bytes(&files), Some((0, 7)));
        assert_eq!((files.flushed_bytes(), files.compacted_bytes()), (5, 7));
    }

    /// A file that is deleted during the listing must not be counted, although the listing may return it.
    #[tokio::test]
    async fn a_file_deleted_during_the_listing_is_not_counted() {
        let (inner, files, store) = store();
        for file in [FIRST, SECOND] {
            inner.put(&file.into(), "12345".into()).await.unwrap();
        }
        assert_eq!(bytes(&files), None);
        store.delete(&FIRST.into()).await.unwrap();
        inner.put(&FIRST.into(), "12345".into()).await.unwrap();
        files.add_stored(&store).await.unwrap();
        assert_eq!(bytes(&files), Some((0, 5)));
    }

    /// A deletion may succeed without an answer. Its repetition finds no file.
    #[tokio::test]
    async fn a_file_that_is_gone_is_not_counted() {
        let directory = tempfile::tempdir().unwrap();
        let inner = partita_rt::DataDir::open(directory.path()).unwrap().store();
        let files = Arc::new(DataFiles::default());
        let store = Layered(CountedFiles::new(inner.clone(), Arc::clone(&files)));
        store.put(&SECOND.into(), "12345".into()).await.unwrap();
        files.add_stored(&store).await.unwrap();
        assert_eq!(bytes(&files), Some((0, 5)));
        inner.delete(&SECOND.into()).await.unwrap();
        let missing = store.delete(&SECOND.into()).await;
        assert!(
            matches!(missing, Err(Error::NotFound { .. })),
            "{missing:?}"
        );
        assert_eq!(bytes(&files), Some((0, 0)));
    }
}
