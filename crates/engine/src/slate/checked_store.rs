//! The object store of one database, which distinguishes damaged files from temporary failures.
//!
//! SlateDB repeats a failed call of its store without limit, because a full disk or a short outage must not close a
//! database. But a read beyond the end of a truncated file would be repeated forever. So this store returns such errors
//! as [`NonRetryable`], and records the file in [`Damage`]. SlateDB repeats a read once if the content fails its
//! checksum; the repeated call has a tag that says so, and this store then records the file, too.
//!
//! Only reads of data files are checked. Each has an [`ObjectStoreCallTag`], which names the calling part of SlateDB.

use std::error::Error as StdError;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream;
use partita_rt::store_layer::Layer;
use rustix::io::Errno;
use slatedb::object_store::path::Path;
use slatedb::object_store::{
    Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore,
    ObjectStoreExt, Result,
};
use slatedb::object_store_tag::{ObjectStoreCallTag, RetryReason, TableStoreKind};
use slatedb_common::retry::NonRetryable;

use super::damage::{Damage, path_in_directory, version_of};
use crate::RangeId;

/// How long a compaction waits after it read a damaged file. SlateDB restarts a failed compaction at once. Without the
/// wait it would read the same files all the time.
const COMPACTION_PAUSE: Duration = Duration::from_secs(60);

/// The store of one database.
#[derive(Debug)]
pub(super) struct CheckedStore {
    store: Arc<dyn ObjectStore>,
    damage: Arc<Damage>,
    range: RangeId,
}

/// The error of a read of a damaged file.
#[derive(Debug, thiserror::Error)]
#[error("{file} is damaged: {problem}")]
pub(super) struct Unreadable {
    pub(super) file: String,
    pub(super) problem: String,
}

impl Unreadable {
    /// The `Unreadable` among the causes of an error.
    pub(super) fn find<'e>(mut error: &'e (dyn StdError + 'static)) -> Option<&'e Self> {
        loop {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            error = error.source()?;
        }
    }
}

/// Why a read failed.
pub(super) enum Failure {
    /// The call may be repeated.
    Passing(Error),
    /// The file is missing.
    Missing(Error),
    /// The file is damaged, and a repetition would fail, too.
    Damaged(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if matches!(error, Error::NotFound { .. }) {
            return Self::Missing(error);
        }
        match find_io(&error).filter(|error| is_final(error)) {
            Some(io) => Self::Damaged(format!("the disk cannot read it: {io}")),
            None => Self::Passing(error),
        }
    }
}

impl CheckedStore {
    /// The store of the database of `range`.
    pub(super) fn new(store: Arc<dyn ObjectStore>, damage: Arc<Damage>, range: RangeId) -> Self {
        Self {
            store,
            damage,
            range,
        }
    }

    /// Reads a data file, or only its properties. Truncation is detected only by reads of a bounded range.
    async fn read(
        &self,
        file: &Path,
        options: GetOptions,
    ) -> std::result::Result<GetResult, Failure> {
        let wanted = match &options.range {
            Some(GetRange::Bounded(wanted)) if !options.head => wanted.clone(),
            _ => return Ok(self.store.get_opts(file, options).await?),
        };
        if wanted.is_empty() {
            return Err(Failure::Damaged("its metadata is invalid".to_owned()));
        }
        let failure = match self.store.get_opts(file, options).await {
            Ok(found) => match cut(&found.meta, &wanted) {
                None => return Ok(drain(found).await?),
                Some(problem) => return Err(Failure::Damaged(problem)),
            },
            Err(error) => Failure::from(error),
        };
        // The error of a read that begins beyond the end of the file looks like a temporary failure, so the length is
        // compared.
        if let Failure::Passing(_) = failure
            && let Ok(meta) = self.store.head(file).await
            && let Some(problem) = cut(&meta, &wanted)
        {
            return Err(Failure::Damaged(problem));
        }
        Err(failure)
    }

    /// Records that the file is damaged. If the caller is a compaction, waits for [`COMPACTION_PAUSE`].
    async fn note(&self, file: &Path, problem: String, caller: TableStoreKind) {
        let version = version_of(&*self.store, file).await;
        self.damage.note(self.range, file, problem, version);
        if caller == TableStoreKind::Compactor {
            tokio::time::sleep(COMPACTION_PAUSE).await;
        }
    }
}

/// The problem of a file that has fewer bytes than a read needs; `None` if it has enough.
fn cut(meta: &ObjectMeta, wanted: &Range<u64>) -> Option<String> {
    let ObjectMeta { size, .. } = meta;
    (wanted.end > *size).then(|| {
        format!(
            "it was truncated: it has {size} bytes, and a read needs {}",
            wanted.end
        )
    })
}

/// Reads the content here instead of leaving that to SlateDB, so that a read error of the disk is found here.
async fn drain(found: GetResult) -> Result<GetResult> {
    let (meta, range) = (found.meta.clone(), found.range.clone());
    let (attributes, extensions) = (found.attributes.clone(), found.extensions.clone());
    let content = found.bytes().await?;
    let content = stream::once(std::future::ready(Ok(content))).boxed();
    Ok(GetResult {
        payload: GetResultPayload::Stream(content),
        meta,
        range,
        attributes,
        extensions,
    })
}

/// The error of the operating system among the causes of an error.
fn find_io<'e>(mut error: &'e (dyn StdError + 'static)) -> Option<&'e io::Error> {
    loop {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        error = error.source()?;
    }
}

/// Whether a read with this error fails again until the file or the disk is repaired.
fn is_final(error: &io::Error) -> bool {
    let Some(errno) = Errno::from_io_error(error) else {
        return false;
    };
    #[cfg(target_os = "linux")]
    if errno == Errno::UCLEAN {
        return true;
    }
    matches!(
        errno,
        Errno::IO | Errno::BADMSG | Errno::ACCESS | Errno::PERM | Errno::NOTDIR | Errno::LOOP
    )
}

#[async_trait]
impl Layer for CheckedStore {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn get(&self, file: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(tag) = options.extensions.get::<ObjectStoreCallTag>() else {
            return self.store.get_opts(file, options).await;
        };
        let caller = tag.kind;
        if let Some(reason) = &tag.retry {
            let problem = match reason {
                RetryReason::CrcMismatch => "its content does not match its checksum",
                _ => "its content has a format that is unknown to this version",
            };
            self.note(file, problem.to_owned(), caller).await;
        }
        match self.read(file, options).await {
            Ok(found) => Ok(found),
            Err(Failure::Passing(error)) => Err(error),
            Err(Failure::Missing(error)) => {
                self.note(file, "it is missing".to_owned(), caller).await;
                Err(error)
            }
            Err(Failure::Damaged(problem)) => {
                let unreadable = Unreadable {
                    file: path_in_directory(file),
                    problem: problem.clone(),
                };
                self.note(file, problem, caller).await;
                Err(Error::Generic {
                    store: "partita",
                    source: Box::new(NonRetryable(Box::new(unreadable))),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use partita_rt::store_layer::Layered;
    use slatedb::object_store::memory::InMemory;
    use slatedb::object_store_tag::SstType;

    use super::*;

    /// The failure for an error of the operating system that an object store returns.
    fn failure(errno: Errno) -> Failure {
        Failure::from(Error::Generic {
            store: "test",
            source: Box::new(io::Error::from(errno)),
        })
    }

    fn tagged(range: Range<u64>, caller: TableStoreKind) -> GetOptions {
        GetOptions {
            range: Some(GetRange::Bounded(range)),
            extensions: ObjectStoreCallTag::new(caller, SstType::Compacted).into(),
            ..GetOptions::default()
        }
    }

    async fn store() -> (Layered<CheckedStore>, Arc<Damage>, Path) {
        let (inner, file) = (Arc::new(InMemory::new()), Path::from("range-1/a.sst"));
        inner.put(&file, "0123456789".into()).await.unwrap();
        let damage = Arc::new(Damage::new(Arc::new(partita_rt::SystemClock)));
        let checked = CheckedStore::new(inner, Arc::clone(&damage), RangeId(1));
        (Layered(checked), damage, file)
    }

    /// Whether SlateDB would repeat the call.
    fn is_repeated(error: &Error) -> bool {
        slatedb_common::retry::should_retry(error)
    }

    #[test]
    fn only_permanent_failures_count_as_damage() {
        for errno in [Errno::IO, Errno::ACCESS, Errno::BADMSG] {
            assert!(matches!(failure(errno), Failure::Damaged(_)), "{errno}");
        }
        for errno in [Errno::NOSPC, Errno::MFILE, Errno::TIMEDOUT, Errno::STALE] {
            assert!(matches!(failure(errno), Failure::Passing(_)), "{errno}");
        }
    }

    #[tokio::test]
    async fn a_read_beyond_the_end_is_final_and_noted() {
        let (store, damage, file) = store().await;
        for range in [4..11, 10..12, 500..600] {
            let read = store.get_opts(&file, tagged(range, TableStoreKind::Main));
            let error = read.await.unwrap_err();
            assert!(!is_repeated(&error), "{error}");
            assert!(error.to_string().contains("store/range-1/a.sst is damaged"));
        }
        assert_eq!(damage.list(|_| false).len(), 1);
        damage.clear(RangeId(1));

        let whole = store.get_opts(&file, tagged(4..10, TableStoreKind::Main));
        assert_eq!(whole.await.unwrap().bytes().await.unwrap(), "456789");
        let missing = Path::from("range-1/b.sst");
        let error = store.get_opts(&missing, tagged(0..1, TableStoreKind::Main));
        assert!(matches!(error.await, Err(Error::NotFound { .. })));
        let listed = damage.list(|_| true);
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].file, "store/range-1/b.sst");
        assert!(listed[0].blocks_writes);
    }

    #[tokio::test]
    async fn calls_without_a_tag_are_not_checked() {
        let (store, damage, _) = store().await;
        let missing = Path::from("range-1/manifest/1.manifest");
        assert!(store.head(&missing).await.is_err());
        assert_eq!(damage.list(|_| false), []);
    }

    /// The store delays the error, because SlateDB restarts a failed compaction at once.
    #[tokio::test(start_paused = true)]
    async fn a_compaction_that_meets_damage_is_delayed() {
        let (store, _, file) = store().await;
        let began = tokio::time::Instant::now();
        let read = store.get_opts(&file, tagged(0..1, TableStoreKind::Compactor));
        read.await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        let read = store.get_opts(&file, tagged(4..11, TableStoreKind::Compactor));
        read.await.unwrap_err();
        assert_eq!(began.elapsed(), COMPACTION_PAUSE);
    }

    /// SlateDB repeats a read whose content failed its checksum, with a tag; the store must record the file then.
    #[tokio::test]
    async fn a_failed_checksum_is_noted() {
        let (store, damage, file) = store().await;
        let mut tag = ObjectStoreCallTag::new(TableStoreKind::Main, SstType::Compacted);
        tag.retry = Some(RetryReason::CrcMismatch);
        let options = GetOptions {
            extensions: tag.into(),
            ..tagged(0..10, TableStoreKind::Main)
        };
        store.get_opts(&file, options).await.unwrap();
        assert!(damage.list(|_| false)[0].problem.contains("checksum"));
    }
}
