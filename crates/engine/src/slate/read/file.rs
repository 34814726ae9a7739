//! A data file: its metadata and its blocks.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use slatedb::config::CompressionCodec;
use slatedb::manifest::SsTableHandle;
use slatedb::object_store::path::Path;
use slatedb::object_store::{GetOptions, GetRange, ObjectStore};
use slatedb::object_store_tag::{ObjectStoreCallTag, RetryReason, SstType, TableStoreKind};
use slatedb::{ErrorKind, SstReader};
use slatedb_common::retry::should_retry;

use super::block::{BadBlock, Block, unpack};
use super::cache::{Key, Metadata, ReadCache};
use super::filter::Filter;
use super::index::BlockIndex;
use crate::ReadError;
use crate::slate::checked_store::Unreadable;
use crate::slate::damage::path_in_directory;
use crate::slate::read_error;

/// The last bytes of a file: the place of the metadata (u64) and the version of the format (u16).
const FOOTER_BYTES: u64 = 10;

/// The version of the format of files that this reader knows. SlateDB 0.18 reads version 1, too, but writes only this one.
pub(in crate::slate) const FORMAT_VERSION: [u8; 2] = [0, 2];

/// The pause before a read is repeated that failed for a reason that may pass.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A data file of the store. Nothing changes it, and it is not deleted while a version reads it ([`super::files`]).
pub(super) struct DataFile {
    /// Unique in this process.
    pub(super) number: u64,
    path: Path,
    folder: String,
    handle: SsTableHandle,
    /// The filter, if it stays in memory for as long as the file is read.
    filter: OnceLock<Arc<Filter>>,
    /// The index, if it stays in memory for as long as the file is read.
    index: OnceLock<Arc<BlockIndex>>,
    /// Whether the format of the file is known.
    is_known: OnceLock<()>,
    cache: Arc<ReadCache>,
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DataFile").field(&self.path).finish()
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if let Some(filter) = self.filter.get() {
            self.cache.release(filter.bytes());
        }
        if let Some(index) = self.index.get() {
            self.cache.release(index.bytes());
        }
    }
}

impl DataFile {
    /// The file of a database in `folder`; reads nothing.
    pub(super) fn new(
        number: u64,
        folder: String,
        handle: SsTableHandle,
        cache: Arc<ReadCache>,
    ) -> Self {
        Self {
            number,
            path: path_of(&folder, &handle),
            folder,
            handle,
            filter: OnceLock::new(),
            index: OnceLock::new(),
            is_known: OnceLock::new(),
            cache,
        }
    }

    /// Whether this is the file of a handle.
    pub(super) fn is_of(&self, handle: &SsTableHandle) -> bool {
        self.handle.id == handle.id
    }

    /// The filter, if it is kept in memory.
    #[inline]
    pub(super) fn kept_filter(&self) -> Option<&Arc<Filter>> {
        self.filter.get()
    }

    /// The index, if it is kept in memory.
    #[inline]
    pub(super) fn kept_index(&self) -> Option<&Arc<BlockIndex>> {
        self.index.get()
    }

    /// The filter, which is read if it is not in memory.
    pub(super) async fn filter(
        &self,
        store: &Arc<dyn ObjectStore>,
    ) -> Result<Arc<Filter>, ReadError> {
        let read = || Box::pin(self.read_filter(store)) as BoxFuture<'_, _>;
        self.metadata(&self.filter, read).await
    }

    /// The index, which is read if it is not in memory.
    pub(super) async fn index(
        &self,
        store: &Arc<dyn ObjectStore>,
    ) -> Result<Arc<BlockIndex>, ReadError> {
        let read = || Box::pin(self.read_index(store)) as BoxFuture<'_, _>;
        self.metadata(&self.index, read).await
    }

    /// Metadata that is kept, in the cache, or read, in this order. It is kept from then on if there is room.
    async fn metadata<'f, M: Metadata>(
        &self,
        kept: &OnceLock<Arc<M>>,
        read: impl FnOnce() -> BoxFuture<'f, Result<M, ReadError>>,
    ) -> Result<Arc<M>, ReadError> {
        if let Some(found) = kept.get() {
            return Ok(Arc::clone(found));
        }
        // Many readers of a new file wait for one that reads its metadata.
        let found = self.cache.metadata(self.number, read()).await?;
        if self.cache.keep(&*found) {
            if kept.set(Arc::clone(&found)).is_err() {
                self.cache.release(found.bytes());
            }
            self.cache.remove(Key::metadata::<M>(self.number));
        }
        Ok(found)
    }

    async fn read_index(&self, store: &Arc<dyn ObjectStore>) -> Result<BlockIndex, ReadError> {
        let info = &self.handle.info;
        let reader = SstReader::new(self.folder.clone(), Arc::clone(store), None, None);
        let opened = reader.open_with_handle(self.handle.clone());
        let index = opened.map_err(read_error)?.index().await;
        let index = index.map_err(|error| match error.kind() {
            // The checked store has named the file already.
            ErrorKind::Unavailable => read_error(error),
            _ => self.damaged(BadBlock::Format),
        })?;
        let tail = [info.filter_offset, info.stats_offset, info.index_offset];
        let blocks_end = tail.into_iter().filter(|offset| *offset > 0).min();
        let index = BlockIndex::new(&index, blocks_end.unwrap_or_default())
            .ok_or_else(|| self.damaged(BadBlock::Format))?;
        #[cfg(feature = "planted-bugs")]
        let index = super::planted::index(index);
        self.check_version(store).await?;
        Ok(index)
    }

    async fn read_filter(&self, store: &Arc<dyn ObjectStore>) -> Result<Filter, ReadError> {
        let info = &self.handle.info;
        if info.filter_len == 0 {
            return Ok(Filter::of_all_keys());
        }
        let place = info.filter_offset..info.filter_offset.saturating_add(info.filter_len);
        let decode = |part| {
            let part = unpack(part, self.codec())?;
            Filter::decode(&part).map_err(|()| BadBlock::Format)
        };
        let filter = self
            .read_checked(store, GetRange::Bounded(place), decode)
            .await?;
        self.check_version(store).await?;
        Ok(filter)
    }

    /// An error if the format of the file is unknown. Called last, because an error of a cut file should say that it was
    /// cut.
    async fn check_version(&self, store: &Arc<dyn ObjectStore>) -> Result<(), ReadError> {
        if self.is_known.get().is_none() {
            let version = |footer: Bytes| match footer.ends_with(&FORMAT_VERSION) {
                true => Ok(()),
                false => Err(BadBlock::Format),
            };
            self.read_checked(store, GetRange::Suffix(FOOTER_BYTES), version)
                .await?;
            let _ = self.is_known.set(());
        }
        Ok(())
    }

    fn codec(&self) -> Option<CompressionCodec> {
        self.handle.info.compression_codec
    }

    /// Reads a block that is not in the cache. `keep`: whether the cache takes it.
    pub(super) async fn read_block(
        &self,
        store: &Arc<dyn ObjectStore>,
        (number, place): (usize, Range<u64>),
        keep: bool,
    ) -> Result<Arc<Block>, ReadError> {
        let key = Key::block(self.number, number);
        let decode = |part| Block::decode(part, self.codec()).map(Arc::new);
        let place = GetRange::Bounded(place);
        let block = self.read_checked(store, place, decode).await?;
        if keep {
            self.cache.insert_block(key, Arc::clone(&block));
        }
        Ok(block)
    }

    /// A block that is in the cache.
    pub(super) fn cached_block(&self, number: usize) -> Option<Arc<Block>> {
        self.cache.block(Key::block(self.number, number))
    }

    /// Reads adjacent blocks, which the cache does not take.
    pub(super) async fn read_blocks(
        &self,
        store: &Arc<dyn ObjectStore>,
        places: &[Range<u64>],
    ) -> Result<Vec<Arc<Block>>, ReadError> {
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return Ok(Vec::new());
        };
        let start = first.start;
        let decode = |content: Bytes| {
            let blocks = places.iter().map(|place| {
                let at = |place: u64| usize::try_from(place - start).unwrap_or(usize::MAX);
                let part = at(place.start)..at(place.end);
                if part.end > content.len() {
                    return Err(BadBlock::Checksum);
                }
                Block::decode(content.slice(part), self.codec()).map(Arc::new)
            });
            blocks.collect()
        };
        let all = GetRange::Bounded(start..last.end);
        self.read_checked(store, all, decode).await
    }

    /// Reads a part of the file and decodes it. Reads it once more if it cannot be decoded, as SlateDB does.
    async fn read_checked<T>(
        &self,
        store: &Arc<dyn ObjectStore>,
        place: GetRange,
        decode: impl Fn(Bytes) -> Result<T, BadBlock>,
    ) -> Result<T, ReadError> {
        let options = |retry| {
            let mut tag = ObjectStoreCallTag::new(TableStoreKind::Main, SstType::Compacted);
            tag.retry = retry;
            GetOptions {
                range: Some(place.clone()),
                extensions: tag.into(),
                ..GetOptions::default()
            }
        };
        let part = self.get(store, options(None)).await?;
        let reason = match decode(part) {
            Ok(decoded) => return Ok(decoded),
            Err(BadBlock::Checksum) => RetryReason::CrcMismatch,
            Err(BadBlock::Format) => RetryReason::BlockDecodeError,
        };
        // The tag tells the checked store to list the file as damaged.
        let part = self.get(store, options(Some(reason))).await?;
        decode(part).map_err(|error| self.damaged(error))
    }

    /// Reads a part of the file. Repeats a read that failed for a reason that may pass; a caller's deadline ends it.
    async fn get(
        &self,
        store: &Arc<dyn ObjectStore>,
        options: GetOptions,
    ) -> Result<Bytes, ReadError> {
        loop {
            let read = async {
                let found = store.get_opts(&self.path, options.clone()).await?;
                found.bytes().await
            };
            match read.await {
                Ok(bytes) => return Ok(bytes),
                Err(error) if should_retry(&error) => tokio::time::sleep(RETRY_PAUSE).await,
                Err(error) => return Err(ReadError::Corrupt(Arc::new(error))),
            }
        }
    }

    /// The error of a part of the file that cannot be decoded.
    pub(super) fn damaged(&self, error: BadBlock) -> ReadError {
        ReadError::Corrupt(Arc::new(Unreadable {
            file: path_in_directory(&self.path),
            problem: error.to_string(),
        }))
    }
}

/// The path of a file of a database.
pub(super) fn path_of(folder: &str, handle: &SsTableHandle) -> Path {
    Path::from(format!("{folder}/compacted/{}.sst", handle.id.value()))
}
