//! A cache on a disk of this machine for the data files of a distant object store.
//!
//! A read of a block takes an object store some 5 to 30 ms and costs a request. The cache fetches 256 KiB around it by one
//! ranged GET, and keeps them in a folder, up to a number of bytes. It outlives the process. Which parts stay is decided
//! like that of blocks in memory: what is read again and again, not what a scan read once.
//!
//! ```text
//!  reader ─▶ blocks in memory ─▶ parts on the disk ─▶ object store
//! ```
//!
//! - Only reads of data files of at most 128 KiB go through the cache. Scans read more ahead and would fill it, and
//!   compactions read each file once.
//! - Data files never change, and no name is used twice, so no part is ever out of date.
//! - A checksum of each chunk is verified when it is read from the disk. If it is wrong, or the file is missing or short,
//!   the part is fetched again: the disk of the cache cannot damage data, and may lose it.
//! - If the cache cannot be written, reads go on without it.

mod part_file;
mod parts;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use chrono::DateTime;
use futures::StreamExt;
use futures::stream;
use partita_rt::LogLimit;
use partita_rt::store_layer::Layer;
use slatedb::object_store::path::Path;
use slatedb::object_store::{
    Attributes, Extensions, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta,
    ObjectStore, Result,
};
use slatedb::object_store_tag::{ObjectStoreCallTag, SstType, TableStoreKind};

use self::parts::{PART_BYTES, Part, PartKey};

pub use self::parts::DiskCache;

/// The extension of data files.
const DATA_FILE: &str = "sst";

/// The longest read that goes through the cache. Blocks and filters are shorter; what a scan reads ahead is longer.
const READ_BYTES_MAX: u64 = PART_BYTES / 2;

/// Limits the log lines about writes that failed.
static WRITE_FAILED: LogLimit = LogLimit::new();

/// The layer that reads data files through a [`DiskCache`].
#[derive(Debug)]
pub(super) struct CachedFiles {
    store: Arc<dyn ObjectStore>,
    cache: Arc<DiskCache>,
}

/// A read that goes through the cache.
struct CachedRead {
    /// The name of the data file.
    file: String,
    wanted: Range<u64>,
    /// Whether what was read before has a wrong checksum.
    is_repeated: bool,
}

/// Some bytes of a data file, and the size of the file.
struct Found {
    bytes: Bytes,
    file_bytes: u64,
}

impl CachedFiles {
    pub(super) fn new(store: Arc<dyn ObjectStore>, cache: Arc<DiskCache>) -> Self {
        Self { store, cache }
    }

    /// Reads the wanted bytes from one part or two.
    async fn read(&self, location: &Path, read: &CachedRead) -> Result<Found> {
        let CachedRead { wanted, .. } = read;
        let first = wanted.start / PART_BYTES;
        let found = self.read_in_part(location, read, first).await?;
        let second_begins = (first + 1) * PART_BYTES;
        if wanted.end.min(found.file_bytes) <= second_begins {
            return Ok(found);
        }
        let rest = self.read_in_part(location, read, first + 1).await?;
        let mut bytes = BytesMut::from(found.bytes);
        bytes.extend_from_slice(&rest.bytes);
        Ok(Found {
            bytes: bytes.freeze(),
            ..rest
        })
    }

    /// Reads those of the wanted bytes that are in a part.
    async fn read_in_part(&self, location: &Path, read: &CachedRead, number: u64) -> Result<Found> {
        let key = PartKey {
            file: read.file.clone(),
            number,
        };
        if read.is_repeated {
            self.cache.remove(&key);
        }
        let begin = number * PART_BYTES;
        let missing = match self.cache.find(&key).await {
            Ok(part) => match read_cached(&part, &read.wanted, begin).await {
                Ok(found) => return Ok(found),
                Err(error) => {
                    let folder = self.cache.folder().display();
                    tracing::warn!(%folder, %error, "a part in the disk cache cannot be read, and is fetched again");
                    self.cache.remove(&key);
                    None
                }
            },
            Err(missing) => Some(missing),
        };
        let fetched = self.fetch(location, begin).await?;
        if let Some(missing) = missing {
            let written = self
                .cache
                .write(&key, fetched.file_bytes, fetched.bytes.clone());
            match written.await {
                // Fails if the part was removed meanwhile.
                Ok(part) => drop(missing.insert(part)),
                Err(error) => {
                    if WRITE_FAILED.permits(&error.kind().to_string(), Instant::now()) {
                        let folder = self.cache.folder().display();
                        tracing::warn!(%folder, %error, "the disk cache cannot be written");
                    }
                }
            }
        }
        let wanted = in_part(&read.wanted, begin, fetched.file_bytes);
        Ok(Found {
            bytes: fetched.bytes.slice(wanted),
            ..fetched
        })
    }

    /// Fetches the part that begins at `begin`.
    async fn fetch(&self, location: &Path, begin: u64) -> Result<Found> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(begin..begin + PART_BYTES)),
            ..GetOptions::default()
        };
        let found = self.store.get_opts(location, options).await?;
        let file_bytes = found.meta.size;
        let bytes = found.bytes().await?;
        let expected = file_bytes.saturating_sub(begin).min(PART_BYTES);
        if bytes.len() as u64 != expected {
            return Err(slatedb::object_store::Error::Generic {
                store: "partita",
                source: format!("{} bytes instead of {expected}", bytes.len()).into(),
            });
        }
        Ok(Found { bytes, file_bytes })
    }
}

/// Reads those of the wanted bytes that are in a part in the cache.
async fn read_cached(part: &Arc<Part>, wanted: &Range<u64>, begin: u64) -> std::io::Result<Found> {
    let file_bytes = part.file_bytes;
    let bytes = Arc::clone(part).read(in_part(wanted, begin, file_bytes));
    Ok(Found {
        bytes: bytes.await?,
        file_bytes,
    })
}

/// Where the wanted bytes are in the part that begins at `begin`. Empty if the file has none of them.
fn in_part(wanted: &Range<u64>, begin: u64, file_bytes: u64) -> Range<usize> {
    let within = |place: u64| {
        let place = place.min(file_bytes).saturating_sub(begin);
        place.min(PART_BYTES) as usize
    };
    within(wanted.start)..within(wanted.end)
}

/// The read, if it goes through the cache.
fn cached_read(location: &Path, options: &GetOptions) -> Option<CachedRead> {
    let tag: &ObjectStoreCallTag = options.extensions.get()?;
    let is_reader = matches!(tag.kind, TableStoreKind::Main | TableStoreKind::Reader);
    let Some(GetRange::Bounded(wanted)) = &options.range else {
        return None;
    };
    let is_plain = !options.head
        && options.if_match.is_none()
        && options.if_none_match.is_none()
        && options.if_modified_since.is_none()
        && options.if_unmodified_since.is_none()
        && options.version.is_none();
    let is_short = wanted.start < wanted.end && wanted.end - wanted.start <= READ_BYTES_MAX;
    let is_data = tag.sst_type == SstType::Compacted && location.extension() == Some(DATA_FILE);
    (is_reader && is_plain && is_short && is_data).then(|| CachedRead {
        file: location.filename().unwrap_or_default().to_owned(),
        wanted: wanted.clone(),
        is_repeated: tag.retry.is_some(),
    })
}

#[async_trait::async_trait]
impl Layer for CachedFiles {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(read) = cached_read(location, &options) else {
            return self.store.get_opts(location, options).await;
        };
        let Found { bytes, file_bytes } = self.read(location, &read).await?;
        if bytes.is_empty() {
            // After the end of the file: the store has the error.
            return self.store.get_opts(location, options).await;
        }
        let range = read.wanted.start..read.wanted.start + bytes.len() as u64;
        let content = stream::once(std::future::ready(Ok(bytes))).boxed();
        Ok(GetResult {
            payload: GetResultPayload::Stream(content),
            meta: ObjectMeta {
                location: location.clone(),
                // Readers of data files do not ask for it.
                last_modified: DateTime::UNIX_EPOCH,
                size: file_bytes,
                e_tag: None,
                version: None,
            },
            range,
            attributes: Attributes::default(),
            extensions: Extensions::default(),
        })
    }
}
