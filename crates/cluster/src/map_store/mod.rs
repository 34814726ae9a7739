//! Where the partition map is kept: one object for each version, made only if it is not there yet.
//!
//! So a change of the map is one transaction, and two managers that believe themselves alone cannot both make it. Over a cluster
//! the same trait stands over its coordinator.

mod record;

use crate::snapshot::{SnapshotName, SnapshotRecord};
use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};
use std::sync::Arc;

pub use record::{ChangeRecord, MapRecord, RangeRecord};

/// The folder of the records.
const FOLDER: &str = "map";

/// The folder of the snapshots' records.
const SNAPSHOTS_FOLDER: &str = "snapshots";

/// How many versions before the newest are kept, for people who look for what happened.
const VERSIONS_KEPT: u64 = 100;

/// Keeps the partition map.
#[async_trait]
pub trait MapStore: Send + Sync + 'static {
    /// The newest version; `None` if there never was one.
    ///
    /// # Errors
    /// [`MapError`].
    async fn load(&self) -> Result<Option<MapRecord>, MapError>;

    /// Stores a version, durably, if it is not there yet.
    ///
    /// # Errors
    /// [`MapError::Conflict`]: that version was made by somebody else, or by an earlier try. [`MapError::Store`]: it may be
    /// stored or not.
    async fn save(&self, record: &MapRecord) -> Result<(), MapError>;

    /// The snapshots there are, in no order, and those that cannot be used.
    ///
    /// # Errors
    /// [`MapError::Store`].
    async fn snapshots(&self) -> Result<StoredSnapshots, MapError>;

    /// One of them; `None` if there is none of that name.
    ///
    /// # Errors
    /// [`MapError::InvalidSnapshot`], [`MapError::Store`].
    async fn snapshot(&self, name: &SnapshotName) -> Result<Option<SnapshotRecord>, MapError>;

    /// Stores a snapshot, durably, if there is none of its name.
    ///
    /// # Errors
    /// [`MapError::SnapshotExists`]; [`MapError::Store`]: it may be stored or not.
    async fn save_snapshot(&self, record: &SnapshotRecord) -> Result<(), MapError>;

    /// Removes a snapshot's record. One that is not there is no error.
    ///
    /// # Errors
    /// [`MapError::Store`]: it may be removed or not.
    async fn delete_snapshot(&self, name: &SnapshotName) -> Result<(), MapError>;
}

/// What is stored of snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredSnapshots {
    /// The snapshots.
    pub records: Vec<SnapshotRecord>,
    /// What was to be one, and may name any pin.
    pub unreadable: Vec<UnreadableSnapshot>,
}

/// A stored snapshot that cannot be used: a damaged record, or one of another version's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableSnapshot {
    /// Where it is.
    pub object: String,
    /// Why not.
    pub what: String,
}

/// Why the map was not loaded or saved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MapError {
    /// The version exists.
    #[error("version {0} of the partition map exists already")]
    Conflict(u64),
    /// What is stored cannot be used.
    #[error("version {version} of the partition map cannot be used: {what}")]
    Invalid {
        /// Which version.
        version: u64,
        /// Why not.
        what: String,
    },
    /// There is a snapshot of that name.
    #[error("there is a snapshot {0} already")]
    SnapshotExists(SnapshotName),
    /// A stored snapshot cannot be used.
    #[error("the snapshot in {object} cannot be used: {what}")]
    InvalidSnapshot {
        /// Where it is.
        object: String,
        /// Why not.
        what: String,
    },
    /// The store did not answer.
    #[error("the store of the partition map failed: {0}")]
    Store(#[source] Arc<object_store::Error>),
}

impl From<UnreadableSnapshot> for MapError {
    fn from(UnreadableSnapshot { object, what }: UnreadableSnapshot) -> Self {
        Self::InvalidSnapshot { object, what }
    }
}

impl From<object_store::Error> for MapError {
    fn from(error: object_store::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// The map in an object store.
#[derive(Debug)]
pub struct ObjectMapStore {
    store: Arc<dyn ObjectStore>,
}

impl ObjectMapStore {
    /// The map in `store`, in the folder `map`.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    async fn versions(&self) -> Result<Vec<u64>, MapError> {
        let objects: Vec<_> = self
            .store
            .list(Some(&Path::from(FOLDER)))
            .try_collect()
            .await?;
        let mut versions: Vec<u64> = objects
            .iter()
            .filter_map(|object| {
                object
                    .location
                    .filename()?
                    .strip_suffix(".json")?
                    .parse()
                    .ok()
            })
            .collect();
        versions.sort_unstable();
        Ok(versions)
    }

    /// What an object holds; `None` if it is not there.
    async fn bytes(&self, object: &Path) -> Result<Option<Bytes>, MapError> {
        match self.store.get(object).await {
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes old versions; what fails is tried again at the next change.
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

fn snapshot_path(name: &SnapshotName) -> Path {
    Path::from(format!("{SNAPSHOTS_FOLDER}/{name}.json"))
}

fn snapshot(object: &Path, bytes: &[u8]) -> Result<SnapshotRecord, UnreadableSnapshot> {
    let invalid = |what: String| UnreadableSnapshot {
        object: object.to_string(),
        what,
    };
    let record: SnapshotRecord =
        serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
    record.check().map_err(|what| invalid(what.to_owned()))?;
    if snapshot_path(&record.name) != *object {
        return Err(invalid("it is not named after its snapshot".to_owned()));
    }
    Ok(record)
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
        let invalid = |what: String| MapError::Invalid { version, what };
        let bytes = self.store.get(&path(version)).await?.bytes().await?;
        let record: MapRecord =
            serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        record.check().map_err(|what| invalid(what.to_owned()))?;
        if record.version != version {
            return Err(invalid("its name is not its version".to_owned()));
        }
        Ok(Some(record))
    }

    async fn save(&self, record: &MapRecord) -> Result<(), MapError> {
        let bytes = serde_json::to_vec_pretty(record).map_err(|error| MapError::Invalid {
            version: record.version,
            what: error.to_string(),
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
            tracing::debug!(%error, "old versions of the partition map were not removed");
        }
        Ok(())
    }

    async fn snapshots(&self) -> Result<StoredSnapshots, MapError> {
        let folder = Path::from(SNAPSHOTS_FOLDER);
        let objects: Vec<_> = self.store.list(Some(&folder)).try_collect().await?;
        let mut stored = StoredSnapshots::default();
        for object in objects {
            // Else it was deleted just now.
            if let Some(bytes) = self.bytes(&object.location).await? {
                match snapshot(&object.location, &bytes) {
                    Ok(record) => stored.records.push(record),
                    Err(unreadable) => stored.unreadable.push(unreadable),
                }
            }
        }
        Ok(stored)
    }

    async fn snapshot(&self, name: &SnapshotName) -> Result<Option<SnapshotRecord>, MapError> {
        let path = snapshot_path(name);
        let bytes = self.bytes(&path).await?;
        Ok(bytes.map(|bytes| snapshot(&path, &bytes)).transpose()?)
    }

    async fn save_snapshot(&self, record: &SnapshotRecord) -> Result<(), MapError> {
        let path = snapshot_path(&record.name);
        let bytes =
            serde_json::to_vec_pretty(record).map_err(|error| MapError::InvalidSnapshot {
                object: path.to_string(),
                what: error.to_string(),
            })?;
        let put = self
            .store
            .put_opts(&path, bytes.into(), PutMode::Create.into());
        match put.await {
            Ok(_) => Ok(()),
            Err(object_store::Error::AlreadyExists { .. }) => {
                Err(MapError::SnapshotExists(record.name.clone()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn delete_snapshot(&self, name: &SnapshotName) -> Result<(), MapError> {
        match self.store.delete(&snapshot_path(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    fn store() -> ObjectMapStore {
        ObjectMapStore::new(Arc::new(InMemory::new()))
    }

    #[tokio::test]
    async fn versions_follow_each_other_and_old_ones_go() {
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
    async fn a_version_is_made_once() {
        let store = store();
        let record = MapRecord::first();
        store.save(&record).await.unwrap();
        let again = store.save(&record).await;
        assert!(matches!(again, Err(MapError::Conflict(1))), "{again:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_refused() {
        type Spoil = fn(&mut MapRecord);
        let cases: [(&str, Spoil); 5] = [
            ("format", |record| record.format = 2),
            ("first key", |record| record.ranges[0].start = "a".into()),
            ("id", |record| record.orphans = vec![1]),
            ("id", |record| record.next_range = 1),
            ("epoch", |record| record.ranges[0].epoch = crate::Epoch(9)),
        ];
        for (what, spoil) in cases {
            let store = store();
            let mut record = MapRecord::first();
            spoil(&mut record);
            store.save(&record).await.unwrap();
            let refused = store.load().await.unwrap_err().to_string();
            assert!(refused.contains(what), "{refused}");
        }
        let store = store();
        store.store.put(&path(3), "{".into()).await.unwrap();
        assert!(matches!(
            store.load().await,
            Err(MapError::Invalid { version: 3, .. })
        ));
    }

    #[test]
    fn the_record_is_as_its_document_shows_it() {
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
