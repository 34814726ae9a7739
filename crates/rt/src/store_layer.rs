//! Layers over object stores. A layer changes some calls, and [`Layered`] passes all others on to the store below.

use std::fmt::{self, Debug, Display};
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

/// The objects of a deletion, or those that it has deleted.
pub type Paths = BoxStream<'static, Result<Path>>;

/// The objects of a folder and of the folders in it.
pub type Listing = BoxStream<'static, Result<ObjectMeta>>;

/// The content of a new object.
#[derive(Debug, Clone)]
pub struct Put {
    /// The bytes.
    pub payload: PutPayload,
    /// What the object store does with them.
    pub options: PutOptions,
}

/// The calls that a layer changes. Each method has the errors of the method of [`ObjectStore`] that its description names.
#[async_trait]
pub trait Layer: Debug + Send + Sync + 'static {
    /// The store below.
    fn below(&self) -> &dyn ObjectStore;

    /// See [`ObjectStore::get_opts`].
    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.below().get_opts(location, options).await
    }

    /// See [`ObjectStore::get_ranges`].
    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.below().get_ranges(location, ranges).await
    }

    /// See [`ObjectStore::put_opts`].
    async fn put(&self, location: &Path, put: Put) -> Result<PutResult> {
        let below = self.below();
        below.put_opts(location, put.payload, put.options).await
    }

    /// See [`ObjectStore::put_multipart_opts`].
    async fn put_parts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.below().put_multipart_opts(location, options).await
    }

    /// See [`ObjectStore::delete_stream`].
    fn delete(&self, locations: Paths) -> Paths {
        self.below().delete_stream(locations)
    }

    /// See [`ObjectStore::list`], and [`ObjectStore::list_with_offset`] if `after` is given.
    fn list(&self, prefix: Option<&Path>, after: Option<&Path>) -> Listing {
        match after {
            None => self.below().list(prefix),
            Some(after) => self.below().list_with_offset(prefix, after),
        }
    }

    /// See [`ObjectStore::list_with_delimiter`].
    async fn list_folder(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.below().list_with_delimiter(prefix).await
    }

    /// See [`ObjectStore::copy_opts`].
    async fn copy(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.below().copy_opts(from, to, options).await
    }

    /// See [`ObjectStore::rename_opts`].
    async fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.below().rename_opts(from, to, options).await
    }
}

/// The object store of a layer.
#[derive(Debug)]
pub struct Layered<L>(pub L);

impl<L: Layer> Display for Layered<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self.0.below(), f)
    }
}

#[async_trait]
impl<L: Layer> ObjectStore for Layered<L> {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.0.put(location, Put { payload, options }).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_parts(location, options).await
    }

    fn delete_stream(&self, locations: Paths) -> Paths {
        self.0.delete(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> Listing {
        self.0.list(prefix, None)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> Listing {
        self.0.list(prefix, Some(offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_folder(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.rename(from, to, options).await
    }
}
