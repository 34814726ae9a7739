//! Storage of the partition map: one object per version, created only if absent.
//!
//! So a change of the map is one transaction: if two processes hold version N, only one of them can create N + 1.
//! Several processes could use the same trait over a shared store.

use super::record::MapRecord;
use async_trait::async_trait;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{self, ObjectStore, ObjectStoreExt, PutMode};
use std::sync::Arc;
use std::time::Duration;

/// The folder of the records.
const FOLDER: &str = "map";

/// The number of older versions kept, to show the history of changes.
const VERSIONS_KEPT: u64 = 100;

/// Pause before a failed read is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Stores the partition map. Used as `Arc<dyn MapStore>`.
#[async_trait]
pub trait MapStore: Send + Sync + 'static {
    /// The newest version; `None` in a new store.
    ///
    /// # Errors
    /// [`MapError`].
    async fn load(&self) -> Result<Option<MapRecord>, MapError>;

    /// Stores a version, durably, if it is absent.
    ///
    /// # Errors [`MapError::Conflict`]: the version exists, from another process or an earlier attempt.
    /// [`MapError::Store`]: it may be stored or not.
    async fn save(&self, record: &MapRecord) -> Result<(), MapError>;
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
        /// Which version.
        version: u64,
        /// Why.
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
    let Err(failed) = store.save(record).await else {
        return Ok(());
    };
    // The response may be lost: the stored record decides.
    loop {
        match store.load().await {
            Ok(Some(found)) if is_ours(&found, record) => return Ok(()),
            Ok(_) => return Err(failed),
            Err(error @ MapError::Invalid { .. }) => return Err(error),
            Err(error) => tracing::warn!(%error, "cannot read the partition map; will retry"),
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Whether this process wrote the stored record. Equal content proves it only because a single process writes the map:
/// the data directory is locked. With several writers, a record needs the identity of its writer (a term and a nonce,
/// in a later format), and this comparison must include it.
fn is_ours(stored: &MapRecord, written: &MapRecord) -> bool {
    stored == written
}

/// The map in an object store.
#[derive(Debug)]
pub struct ObjectMapStore {
    store: Arc<dyn ObjectStore>,
}

impl ObjectMapStore {
    /// The map in the folder `map` of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    async fn versions(&self) -> Result<Vec<u64>, MapError> {
        let folder = Path::from(FOLDER);
        let objects: Vec<_> = self.store.list(Some(&folder)).try_collect().await?;
        let version = |object: &object_store::ObjectMeta| {
            let name = object.location.filename()?;
            name.strip_suffix(".json")?.parse().ok()
        };
        let mut versions: Vec<u64> = objects.iter().filter_map(version).collect();
        versions.sort_unstable();
        Ok(versions)
    }

    /// Deletes old versions. The next save retries a failed deletion.
    async fn prune(&self, newest: u64) -> Result<(), MapError> {
        let versions = self.versions().await?;
        for version in versions {
            if version + VERSIONS_KEPT < newest {
                self.store.delete(&path(version)).await?;
            }
        }
        Ok(())
    }
}

fn path(version: u64) -> Path {
    Path::from(format!("{FOLDER}/{version:020}.json"))
}

#[async_trait]
impl MapStore for ObjectMapStore {
    async fn load(&self) -> Result<Option<MapRecord>, MapError> {
        let Some(version) = self.versions().await?.pop() else {
            return Ok(None);
        };
        let invalid = |reason: String| MapError::Invalid { version, reason };
        let bytes = self.store.get(&path(version)).await?.bytes().await?;
        let record: MapRecord =
            serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        record
            .check()
            .map_err(|reason| invalid(reason.to_owned()))?;
        if record.version != version {
            return Err(invalid(
                "the version in the record differs from the object name".to_owned(),
            ));
        }
        Ok(Some(record))
    }

    async fn save(&self, record: &MapRecord) -> Result<(), MapError> {
        let bytes = serde_json::to_vec_pretty(record).map_err(|error| MapError::Invalid {
            version: record.version,
            reason: error.to_string(),
        })?;
        let put = self
            .store
            .put_opts(&path(record.version), bytes.into(), PutMode::Create.into())
            .await;
        match put {
            Ok(_) => {}
            Err(object_store::Error::AlreadyExists { .. }) => {
                return Err(MapError::Conflict(record.version));
            }
            Err(error) => return Err(error.into()),
        }
        if let Err(error) = self.prune(record.version).await {
            tracing::debug!(%error, "cannot delete old versions of the partition map");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{ChangeRecord, Epoch};
    use bytes::Bytes;
    use object_store::memory::InMemory;

    fn store() -> ObjectMapStore {
        ObjectMapStore::new(Arc::new(InMemory::new()))
    }

    #[tokio::test]
    async fn old_versions_are_pruned() {
        let store = store();
        assert!(store.load().await.unwrap().is_none());
        let mut record = MapRecord::first();
        for version in 1..=VERSIONS_KEPT + 20 {
            record.version = version;
            store.save(&record).await.unwrap();
        }
        assert_eq!(store.load().await.unwrap().unwrap(), record);
        assert_eq!(
            store.versions().await.unwrap().len() as u64,
            VERSIONS_KEPT + 1
        );
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

    #[tokio::test]
    async fn invalid_records_are_refused() {
        type Spoil = fn(&mut MapRecord);
        let cases: [(&str, Spoil); 5] = [
            ("format", |record| record.format = 2),
            ("empty key", |record| record.ranges[0].start = "a".into()),
            ("id", |record| record.pending_deletion = vec![1]),
            ("id", |record| record.next_range = 1),
            ("epoch", |record| record.ranges[0].epoch = Epoch(9)),
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
        store.store.put(&path(3), "{".into()).await.unwrap();
        assert!(matches!(
            store.load().await,
            Err(MapError::Invalid { version: 3, .. })
        ));
    }

    #[test]
    fn the_record_matches_the_format_document() {
        let mut record = MapRecord::first();
        record.change = Some(ChangeRecord::Split {
            range: 1,
            at: Bytes::from_static(b" a\0"),
            left: 2,
            right: 3,
        });
        record.next_range = 4;
        let document = include_str!("../../../../docs/format/map.md");
        let text = serde_json::to_string_pretty(&record).unwrap();
        assert!(document.contains(&text), "{text}");
    }
}
