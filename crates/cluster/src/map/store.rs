//! Storage of the partition map, one object per version, created only if absent; and of the serving records, one object
//! per served range.
//!
//! So a change of the map is one transaction: if two processes hold version N, only one of them can create N + 1.

use super::contents::{KeptServing, KeptVersion, MapContents};
use super::record::MapRecord;
use super::serving::ServingRecord;
use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use futures::future::{BoxFuture, join_all, try_join_all};
use object_store::path::Path;
use object_store::{self, ObjectStore, ObjectStoreExt, PutMode};
use partita_range::RangeId;
use std::sync::Arc;
use std::time::Duration;

/// The folder of the map.
const MAP: &str = "map";

/// The folder of the serving records.
const SERVED: &str = "served";

/// The number of older versions kept. They show the history of changes.
pub(super) const VERSIONS_KEPT: u64 = 100;

/// How many objects are read at the same time: an object store has a long latency.
const READS_AT_ONCE: usize = 8;

/// Pause before a failed read is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Stores the partition map. Used as `Arc<dyn MapStore>`.
#[async_trait]
pub trait MapStore: Send + Sync + 'static {
    /// The newest version; `None` in a new store. [`super::check`] decides whether versions are missing.
    ///
    /// # Errors
    /// [`MapError`].
    async fn load(&self) -> Result<Option<MapRecord>, MapError>;

    /// All kept versions and all serving records, readable or not.
    ///
    /// # Errors
    /// [`MapError::Store`].
    async fn contents(&self) -> Result<MapContents, MapError>;

    /// Stores a version, durably, if it is absent.
    ///
    /// # Errors
    /// [`MapError::Conflict`]: the version exists, from another process or an earlier attempt, or a later one does.
    /// [`MapError::Store`]: it may be stored or not.
    async fn save(&self, record: &MapRecord) -> Result<(), MapError>;

    /// Stores the serving record of a range, durably. Replaces an older one.
    ///
    /// # Errors
    /// [`MapError::Store`]: it may be stored or not.
    async fn save_serving(&self, record: &ServingRecord) -> Result<(), MapError>;

    /// Deletes the serving record of a range. A missing record is not an error.
    ///
    /// # Errors
    /// [`MapError::Store`]; it can be tried again.
    async fn remove_serving(&self, range: RangeId) -> Result<(), MapError>;
}

/// Why the map was not loaded or saved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MapError {
    /// The version exists.
    #[error("version {0} of the partition map already exists")]
    Conflict(u64),
    /// The stored record is invalid.
    #[error("version {version} of the partition map is invalid: {reason}")]
    Invalid {
        /// The number of the version.
        version: u64,
        /// What is wrong with the record.
        reason: String,
    },
    /// The store failed.
    #[error("the store of the partition map failed: {0}")]
    Store(#[source] Arc<object_store::Error>),
}

impl From<object_store::Error> for MapError {
    fn from(error: object_store::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// Stores a record, and returns only once the outcome is known. Not cancel safe: the store may finish an abandoned
/// write, which would conflict with the next version.
///
/// # Errors
/// [`MapError`]: the record is not stored.
pub(crate) async fn save_and_confirm(
    store: &dyn MapStore,
    record: &MapRecord,
) -> Result<(), MapError> {
    match store.save(record).await {
        Ok(()) => Ok(()),
        Err(failed) => confirm(failed, || Box::pin(stored_by_us(store, record))).await,
    }
}

/// The outcome of a save that returned the error `failed`. The record may be stored nevertheless, so the stored record
/// decides: `is_stored` reads it, again and again until it returns whether the record is stored, or a final error.
///
/// # Errors
/// `failed` if the record is not stored; or the final error.
pub async fn confirm<'a, E>(
    failed: E,
    is_stored: impl Fn() -> BoxFuture<'a, Result<Option<bool>, E>>,
) -> Result<(), E> {
    loop {
        match is_stored().await? {
            Some(true) => return Ok(()),
            Some(false) => return Err(failed),
            None => tokio::time::sleep(RETRY_PAUSE).await,
        }
    }
}

/// Stores the record that decides a change to these new ranges, while a manager may store one that decides otherwise.
/// Returns only once one of them is stored: an attempt that failed could succeed later.
///
/// # Errors
/// [`MapError`]: the change was decided otherwise.
pub(crate) async fn save_and_settle(
    store: &dyn MapStore,
    record: &MapRecord,
    new: &[RangeId],
) -> Result<(), MapError> {
    // Only the owner of the new ranges replaces them, so a later record still has them.
    let has_new = |found: &MapRecord| {
        let listed = |new: &RangeId| found.ranges.iter().any(|range| range.id == new.0);
        new.iter().all(listed)
    };
    loop {
        let saved = store.save(record).await;
        match store.load().await {
            Ok(Some(found)) if found.version >= record.version => {
                return match has_new(&found) {
                    true => Ok(()),
                    false => Err(MapError::Conflict(record.version)),
                };
            }
            Err(error @ MapError::Invalid { .. }) => return Err(error),
            loaded => {
                let error = saved.err().or(loaded.err());
                tracing::warn!(?error, "cannot decide a change of ranges; will retry");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

/// Whether the newest stored version is `record`; `None` if that cannot be read now.
async fn stored_by_us(store: &dyn MapStore, record: &MapRecord) -> Result<Option<bool>, MapError> {
    match store.load().await {
        Ok(found) => Ok(Some(found.is_some_and(|found| is_ours(&found, record)))),
        Err(error @ MapError::Invalid { .. }) => Err(error),
        Err(error) => {
            tracing::warn!(%error, "cannot read the partition map; will retry");
            Ok(None)
        }
    }
}

/// Stores the serving records of ranges that the stored map lists. Repeats a failed save until it succeeds, because the
/// change of ranges is already decided.
pub(crate) async fn save_all_serving(store: &dyn MapStore, records: &[ServingRecord]) {
    let saving = records.iter().map(|record| async move {
        let mut is_logged = false;
        while let Err(error) = store.save_serving(record).await {
            if !is_logged {
                let range = record.range;
                tracing::error!(%error, range, "cannot save the serving record of a range; its writes wait until it is saved");
                is_logged = true;
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    });
    join_all(saving).await;
}

/// Whether this process wrote the stored record. Equal content proves it because a single process writes the map; in a
/// cluster, because the content names the term of the manager.
fn is_ours(stored: &MapRecord, written: &MapRecord) -> bool {
    stored == written
}

/// The map in an object store.
#[derive(Debug)]
pub struct ObjectMapStore {
    store: Arc<dyn ObjectStore>,
}

impl ObjectMapStore {
    /// The map in the folder `map` of `store`, and the serving records in the folder `served`.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    /// The numbers in the names of the objects of a folder, in ascending order. Ignores other objects.
    async fn numbers(&self, folder: &str, path: fn(u64) -> Path) -> Result<Vec<u64>, MapError> {
        let folder = Path::from(folder);
        let objects: Vec<_> = self.store.list(Some(&folder)).try_collect().await?;
        let number = |object: &object_store::ObjectMeta| {
            let name = object.location.filename()?;
            let number = name.strip_suffix(".json")?.parse().ok()?;
            (path(number) == object.location).then_some(number)
        };
        let mut numbers: Vec<u64> = objects.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    async fn versions(&self) -> Result<Vec<u64>, MapError> {
        self.numbers(MAP, version_path).await
    }

    /// Reads an object; `None` if it was deleted in the meantime.
    async fn read(&self, path: &Path) -> Result<Option<Bytes>, MapError> {
        match self.store.get(path).await {
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn read_version(&self, version: u64) -> Result<Option<KeptVersion>, MapError> {
        let text = self.read(&version_path(version)).await?;
        Ok(text.map(|text| {
            let record = MapRecord::decode(version, &text).map_err(Arc::from);
            KeptVersion { version, record }
        }))
    }

    async fn read_serving(&self, range: u64) -> Result<Option<KeptServing>, MapError> {
        let text = self.read(&serving_path(range)).await?;
        let range = RangeId(range);
        Ok(text.map(|text| {
            let record = ServingRecord::decode(range, &text).map_err(Arc::from);
            KeptServing { range, record }
        }))
    }

    /// Deletes old ones of these versions. The next save retries a failed deletion.
    async fn prune(&self, versions: &[u64], newest: u64) -> Result<(), MapError> {
        for version in versions {
            if version + VERSIONS_KEPT < newest {
                self.store.delete(&version_path(*version)).await?;
            }
        }
        Ok(())
    }
}

/// The path of the object that holds a version of the map.
pub(super) fn version_path(version: u64) -> Path {
    Path::from(format!("{MAP}/{version:020}.json"))
}

/// The path of the object that holds a serving record.
pub(super) fn serving_path(range: u64) -> Path {
    Path::from(format!("{SERVED}/{range}.json"))
}

#[async_trait]
impl MapStore for ObjectMapStore {
    async fn load(&self) -> Result<Option<MapRecord>, MapError> {
        let Some(version) = self.versions().await?.pop() else {
            return Ok(None);
        };
        let invalid = |reason: Arc<str>| MapError::Invalid {
            version,
            reason: reason.to_string(),
        };
        let kept = self.read_version(version).await?;
        let kept = kept.ok_or_else(|| invalid("it was deleted while it was read".into()))?;
        kept.record.map(Some).map_err(invalid)
    }

    async fn contents(&self) -> Result<MapContents, MapError> {
        let mut contents = MapContents::default();
        for versions in self.versions().await?.chunks(READS_AT_ONCE) {
            let reading = versions.iter().map(|version| self.read_version(*version));
            let read = try_join_all(reading).await?;
            contents.versions.extend(read.into_iter().flatten());
        }
        for ranges in self
            .numbers(SERVED, serving_path)
            .await?
            .chunks(READS_AT_ONCE)
        {
            let reading = ranges.iter().map(|range| self.read_serving(*range));
            let read = try_join_all(reading).await?;
            contents.serving.extend(read.into_iter().flatten());
        }
        Ok(contents)
    }

    async fn save(&self, record: &MapRecord) -> Result<(), MapError> {
        let path = version_path(record.version);
        let text = record.encode().into();
        let put = self.store.put_opts(&path, text, PutMode::Create.into());
        match put.await {
            Ok(_) => {}
            Err(object_store::Error::AlreadyExists { .. }) => {
                return Err(MapError::Conflict(record.version));
            }
            Err(error) => return Err(error.into()),
        }
        // A process that stood still while others stored more versions than are kept has created a number that was
        // deleted before (rule I6). The newest version decides.
        let versions = self.versions().await?;
        let newest = versions.last().copied().unwrap_or(record.version);
        if let Err(error) = self.prune(&versions, newest).await {
            tracing::debug!(%error, "cannot delete old versions of the partition map");
        }
        match newest > record.version {
            true => Err(MapError::Conflict(record.version)),
            false => Ok(()),
        }
    }

    async fn save_serving(&self, record: &ServingRecord) -> Result<(), MapError> {
        let path = serving_path(record.range);
        self.store.put(&path, record.encode().into()).await?;
        Ok(())
    }

    async fn remove_serving(&self, range: RangeId) -> Result<(), MapError> {
        match self.store.delete(&serving_path(range.0)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{ChangeRecord, Epoch, RangeSpec};
    use object_store::memory::InMemory;
    use partita_range::Bounds;

    fn store() -> ObjectMapStore {
        ObjectMapStore::new(Arc::new(InMemory::new()))
    }

    #[tokio::test]
    async fn old_versions_are_pruned() {
        let store = store();
        assert!(store.load().await.unwrap().is_none());
        let mut record = MapRecord::first();
        store.save(&record).await.unwrap();
        for _ in 1..VERSIONS_KEPT + 20 {
            record = record.next();
            store.save(&record).await.unwrap();
        }
        assert_eq!(store.load().await.unwrap().unwrap(), record);
        assert_eq!(
            store.versions().await.unwrap().len() as u64,
            VERSIONS_KEPT + 1
        );
    }

    /// A manager that slept meanwhile has the number of a version that was deleted.
    #[tokio::test]
    async fn a_version_that_was_pruned_is_not_saved_again() {
        let store = store();
        let first = MapRecord::first();
        store.save(&first).await.unwrap();
        let late = MapRecord {
            next_range: 9,
            ..first.next()
        };
        let mut record = first;
        for _ in 0..VERSIONS_KEPT + 20 {
            record = record.next();
            store.save(&record).await.unwrap();
        }
        let refused = save_and_confirm(&store, &late).await;
        assert!(matches!(refused, Err(MapError::Conflict(2))), "{refused:?}");
        assert_eq!(store.load().await.unwrap().unwrap(), record);
        // Nothing of it is left, so no version seems to be missing before the next ones.
        let versions = store.versions().await.unwrap();
        assert_eq!(versions[0], record.version - VERSIONS_KEPT);
    }

    #[tokio::test]
    async fn a_version_is_created_once() {
        let store = store();
        let record = MapRecord::first();
        store.save(&record).await.unwrap();
        let again = store.save(&record).await;
        assert!(matches!(again, Err(MapError::Conflict(1))), "{again:?}");
    }

    #[tokio::test]
    async fn after_a_lost_response_the_stored_record_decides() {
        let store = store();
        let record = MapRecord::first();
        store.save(&record).await.unwrap();
        // The retry finds the record of the first attempt, whose response was lost.
        save_and_confirm(&store, &record).await.unwrap();
        let other = MapRecord {
            next_range: 9,
            ..record
        };
        let refused = save_and_confirm(&store, &other).await;
        assert!(matches!(refused, Err(MapError::Conflict(1))), "{refused:?}");
    }

    /// Two managers can want the same change: only the one that stored it may take it for its own.
    #[tokio::test]
    async fn an_equal_record_of_another_manager_is_not_ones_own() {
        let of_manager = |writer| MapRecord {
            writer: Some(writer),
            ..MapRecord::first()
        };
        let store = store();
        save_and_confirm(&store, &of_manager(7)).await.unwrap();
        save_and_confirm(&store, &of_manager(7)).await.unwrap();
        let refused = save_and_confirm(&store, &of_manager(8)).await;
        assert!(matches!(refused, Err(MapError::Conflict(1))), "{refused:?}");
    }

    /// The host decides a change, or a manager rolls it back: the record that is stored first counts for both, and for a
    /// host that slept while many versions were stored.
    #[tokio::test]
    async fn a_change_is_decided_once() {
        let first = MapRecord::first();
        let begun = first.begin(split());
        let middle = Bytes::from_static(b" a\0");
        let spec = |id, start: &Bytes, end: Option<&Bytes>| RangeSpec {
            id,
            epoch: first.next_epoch,
            bounds: Bounds {
                start: start.clone(),
                end: end.cloned(),
            },
        };
        let new = begun.created();
        let decided = begun.decide(&[
            spec(new[0], &Bytes::new(), Some(&middle)),
            spec(new[1], &middle, None),
        ]);
        let undone = begun.roll_back([]);
        for (winner, host_wins) in [(&decided, true), (&undone, false)] {
            let store = store();
            for record in [&first, &begun, winner] {
                store.save(record).await.unwrap();
            }
            let settled = save_and_settle(&store, &decided, &new).await;
            assert_eq!(settled.is_ok(), host_wins, "{settled:?}");
            let confirmed = save_and_confirm(&store, &undone).await;
            assert_eq!(confirmed.is_ok(), !host_wins, "{confirmed:?}");
            let mut record = winner.clone();
            for _ in 0..VERSIONS_KEPT + 20 {
                record = record.next();
                store.save(&record).await.unwrap();
            }
            // The number of the decision is free again.
            let settled = save_and_settle(&store, &decided, &new).await;
            assert_eq!(settled.is_ok(), host_wins, "{settled:?}");
        }
    }

    #[tokio::test]
    async fn invalid_records_are_refused() {
        type Spoil = fn(&mut MapRecord);
        let cases: [(&str, Spoil); 6] = [
            ("format", |record| record.format = 3),
            ("empty key", |record| record.ranges[0].start = "a".into()),
            ("id", |record| record.pending_deletion = vec![1]),
            ("id", |record| record.next_range = 1),
            ("epoch", |record| record.ranges[0].epoch = Epoch(9)),
            ("version before", |record| {
                record.previous = Some(record.checksum());
            }),
        ];
        for (reason, spoil) in cases {
            let store = store();
            let mut record = MapRecord::first();
            spoil(&mut record);
            store.save(&record).await.unwrap();
            let refused = store.load().await.unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
        let store = store();
        store.store.put(&version_path(3), "{".into()).await.unwrap();
        assert!(matches!(
            store.load().await,
            Err(MapError::Invalid { version: 3, .. })
        ));
    }

    /// This needs the checksum: without it, one flipped bit in the text of a range's first key could hide hundreds of
    /// rows.
    #[test]
    fn every_flipped_bit_of_a_version_is_noticed() {
        let record = MapRecord::first().begin(split());
        let text = record.encode();
        assert_eq!(MapRecord::decode(2, &text).unwrap(), record);
        for bit in 0..text.len() * 8 {
            let mut damaged = text.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let read = MapRecord::decode(2, &damaged);
            assert!(read.is_err(), "bit {bit}: {read:?}");
        }
        for bytes in 0..text.len() {
            let read = MapRecord::decode(2, &text[..bytes]);
            assert!(read.is_err(), "cut to {bytes} bytes: {read:?}");
        }
    }

    /// Earlier versions of Partita stored versions of the map without a checksum.
    #[test]
    fn a_version_without_a_checksum_is_read_and_followed() {
        let text = r#"{"format": 1, "version": 7, "next_range": 4, "next_epoch": 3,
            "ranges": [{"id": 2, "epoch": 2, "start": ""}, {"id": 3, "epoch": 2, "start": "IGEA"}],
            "change": null, "orphans": [1]}"#;
        let old = MapRecord::decode(7, text.as_bytes()).unwrap();
        assert!(old.is_unchecked());
        let next = old.next();
        assert_eq!(next.previous, Some(old.checksum()));
        let read = MapRecord::decode(8, &next.encode()).unwrap();
        assert_eq!(read, next);
        assert_eq!(read.ranges, old.ranges);
        let disguised = text.replace("\"change\"", "\"checksum\": \"00000000\", \"change\"");
        let refused = MapRecord::decode(7, disguised.as_bytes());
        assert!(refused.is_err(), "{refused:?}");
    }

    fn split() -> ChangeRecord {
        ChangeRecord::Split {
            range: 1,
            at: Bytes::from_static(b" a\0"),
            left: 2,
            right: 3,
        }
    }

    #[test]
    fn the_record_matches_the_format_document() {
        let record = MapRecord::first().begin(split());
        let document = include_str!("../../../../docs/format/map.md");
        let text = String::from_utf8(record.encode()).unwrap();
        assert!(document.contains(&text), "{text}");
    }
}
