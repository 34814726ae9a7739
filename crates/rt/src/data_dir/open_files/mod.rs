//! The object store of a data directory, which keeps data files open.
//!
//! A read of an object store in a directory opens the file, reads its properties, reads the bytes and closes it, on two
//! threads for blocking work. A block of a data file that is in the page cache is copied in a microsecond or two, and
//! all other work of such a read took a hundred. So this layer keeps data files open, a bounded number of them, and
//! reads a block on the calling thread if the page cache has it ([`open_file`]).
//!
//! A data file is written once and never changed. So an open file stays valid until
//! - this layer deletes, renames or overwrites it, or its folder is renamed: then it is closed at once, because the
//!   disk keeps the bytes of a deleted file as long as it is open;
//! - something else replaces it, such as an operator who restores a damaged file. A `head` compares the open file with
//!   the one of that name, and closes it if they differ. Checks of a file begin with a `head`.

mod open_file;

use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, MultipartUpload,
    ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutResult, RenameOptions, Result,
};
use quick_cache::sync::Cache;

use self::open_file::OpenFile;
use super::whole_pages::{WholePages, in_whole_pages};
use crate::store_layer::{Layer, Paths, Put};

/// The extension of data files.
const DATA_FILE: &str = "sst";

/// The largest number of files that can be kept open.
const FILES_MAX: usize = 4_096;

/// The expected number of open files. The cache makes at most one lock for each 32 of them; each lock has its own share
/// of the open files.
const FILES_GUESS: usize = 512;

/// The number of files that are kept open unless the owner of the directory allows another number.
const FILES_DEFAULT: usize = 64;

/// A layer over the object store of a directory that keeps data files open.
#[derive(Debug)]
pub(super) struct OpenFiles {
    store: Arc<dyn ObjectStore>,
    files: Arc<FilesByName>,
}

/// The open files, by their names in the store.
type FilesByName = Cache<Path, Arc<OpenFile>>;

impl OpenFiles {
    /// Keeps data files of `store` open if `store` returns them as files ([`GetResultPayload::File`]).
    pub(super) fn new(store: impl ObjectStore) -> Self {
        let files = FilesByName::new(FILES_GUESS);
        files.set_capacity(FILES_DEFAULT as u64);
        Self {
            store: Arc::new(store),
            files: Arc::new(files),
        }
    }

    /// Sets how many files are kept open.
    pub(super) fn set_files_max(&self, files_max: usize) {
        self.files.set_capacity(files_max.min(FILES_MAX) as u64);
    }

    /// Closes the files in a folder that was renamed.
    pub(super) fn close_folder(&self, folder: &str) {
        let is_in_folder = |file: &Path| {
            let rest = file.as_ref().strip_prefix(folder);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.files.retain(|file, _| !is_in_folder(file));
    }

    /// The open file of this name. `None` if the store cannot open it as a file.
    async fn open(&self, location: &Path) -> Result<Option<Arc<OpenFile>>> {
        if let Some(open) = self.files.get(location) {
            return Ok(Some(open));
        }
        let found = self.store.get_opts(location, GetOptions::default()).await?;
        let GetResultPayload::File(file, _) = found.payload else {
            return Ok(None);
        };
        let open = Arc::new(OpenFile::new(file, found.meta));
        self.files.insert(location.clone(), Arc::clone(&open));
        // A deletion or renaming that ended before the insertion did not find the file.
        let now = self.store.head(location).await;
        self.close_unless(location, now.as_ref().ok());
        Ok(Some(open))
    }

    /// Closes the open file of this name, unless its ETag is that of `now`; `None` if the file is missing.
    fn close_unless(&self, location: &Path, now: Option<&ObjectMeta>) {
        if let Some(open) = self.files.get(location)
            && now.is_none_or(|now| now.e_tag != open.meta().e_tag)
        {
            self.files.remove(location);
        }
    }
}

/// Whether an object is kept open.
fn is_data_file(location: &Path) -> bool {
    location.extension() == Some(DATA_FILE)
}

/// Converts an error of the operating system in a read, or the error of an invalid range.
fn read_error(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Generic {
        store: "partita",
        source: Box::new(source),
    }
}

#[async_trait]
impl Layer for OpenFiles {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if !is_data_file(location) {
            return self.store.get_opts(location, options).await;
        }
        if options.head {
            let found = self.store.get_opts(location, options).await;
            self.close_unless(location, found.as_ref().ok().map(|found| &found.meta));
            return found;
        }
        let Some(wanted @ GetRange::Bounded(_)) = &options.range else {
            return self.store.get_opts(location, options).await;
        };
        let Some(open) = self.open(location).await? else {
            return self.store.get_opts(location, options).await;
        };
        let meta = open.meta().clone();
        options.check_preconditions(&meta)?;
        let range = wanted.as_range(meta.size).map_err(read_error)?;
        let bytes = open.read(range.clone()).await.map_err(read_error)?;
        let bytes = futures::stream::once(std::future::ready(Ok(bytes)));
        Ok(GetResult {
            payload: GetResultPayload::Stream(bytes.boxed()),
            meta,
            range,
            attributes: object_store::Attributes::default(),
            extensions: object_store::Extensions::default(),
        })
    }

    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        let Put { payload, options } = put;
        let payload = in_whole_pages(payload);
        let put = self.store.put_opts(location, payload, options).await;
        self.files.remove(location);
        put
    }

    async fn put_parts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        // A data file is written under a new name, so no file of this name can be open when the upload ends.
        self.files.remove(location);
        let upload = self.store.put_multipart_opts(location, options).await?;
        Ok(Box::new(WholePages(upload)))
    }

    fn delete(&self, locations: Paths) -> Paths {
        let files = Arc::clone(&self.files);
        let deleted = self.store.delete_stream(locations);
        // Not before the deletion, because a read may open the file until then.
        let closed = deleted.inspect_ok(move |location| drop(files.remove(location)));
        closed.boxed()
    }

    async fn copy(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let copied = self.store.copy_opts(from, to, options).await;
        self.files.remove(to);
        copied
    }

    async fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let renamed = self.store.rename_opts(from, to, options).await;
        self.files.remove(from);
        self.files.remove(to);
        renamed
    }
}

#[cfg(test)]
mod tests;
