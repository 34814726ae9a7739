//! Storage of snapshot records: one object each, created only if absent.

use super::{SnapshotName, SnapshotRecord};
use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{self, ObjectStore, ObjectStoreExt, PutMode};
use partita_cluster::confirm;
use std::sync::Arc;

/// The folder of the records.
const FOLDER: &str = "snapshots";

/// Stores snapshot records. Used as `Arc<dyn SnapshotStore>`.
#[async_trait]
pub trait SnapshotStore: Send + Sync + 'static {
    /// All readable records, in any order, and the unreadable records.
    ///
    /// # Errors
    /// [`SnapshotStoreError::Store`].
    async fn list(&self) -> Result<StoredSnapshots, SnapshotStoreError>;

    /// The record of that name; `None` if it is missing.
    ///
    /// # Errors
    /// [`SnapshotStoreError::Invalid`], [`SnapshotStoreError::Store`].
    async fn load(&self, name: &SnapshotName)
    -> Result<Option<SnapshotRecord>, SnapshotStoreError>;

    /// Stores a record durably, if no record has its name.
    ///
    /// # Errors
    /// [`SnapshotStoreError::Exists`]; [`SnapshotStoreError::Store`]: it may be stored or not.
    async fn save(&self, record: &SnapshotRecord) -> Result<(), SnapshotStoreError>;

    /// Deletes a record. Succeeds if it does not exist.
    ///
    /// # Errors
    /// [`SnapshotStoreError::Store`]: it may be deleted or not.
    async fn delete(&self, name: &SnapshotName) -> Result<(), SnapshotStoreError>;
}

/// All stored snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredSnapshots {
    /// The snapshots.
    pub records: Vec<SnapshotRecord>,
    /// Unreadable records, which may list any pin.
    pub unreadable: Vec<UnreadableSnapshot>,
}

/// An unreadable record: damaged, or in an unknown format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableSnapshot {
    /// The name of the object.
    pub object: String,
    /// Why the record is unreadable.
    pub reason: String,
}

/// Why snapshot records were not read or written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SnapshotStoreError {
    /// The name is taken.
    #[error("snapshot {0} already exists")]
    Exists(SnapshotName),
    /// A record is unreadable.
    #[error("the snapshot record {object} cannot be read: {reason}")]
    Invalid {
        /// The name of the object.
        object: String,
        /// Why the record is unreadable.
        reason: String,
    },
    /// The object store returned an error.
    #[error("cannot read or write snapshot records: {0}")]
    Store(#[source] Arc<object_store::Error>),
}

impl From<UnreadableSnapshot> for SnapshotStoreError {
    fn from(UnreadableSnapshot { object, reason }: UnreadableSnapshot) -> Self {
        Self::Invalid { object, reason }
    }
}

impl From<object_store::Error> for SnapshotStoreError {
    fn from(error: object_store::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// Stores the record of a new snapshot, and returns only once its outcome is known. A record has a random id, so equal
/// content proves that this process wrote it.
pub(crate) async fn save_and_confirm(
    store: &dyn SnapshotStore,
    record: &SnapshotRecord,
) -> Result<(), SnapshotStoreError> {
    match store.save(record).await {
        Ok(()) => Ok(()),
        Err(failed) => confirm(failed, || Box::pin(is_stored(store, record))).await,
    }
}

/// Whether the record is stored; `None` if that cannot be read now.
async fn is_stored(
    store: &dyn SnapshotStore,
    record: &SnapshotRecord,
) -> Result<Option<bool>, SnapshotStoreError> {
    match store.load(&record.name).await {
        Ok(found) => Ok(Some(found.as_ref() == Some(record))),
        Err(error @ SnapshotStoreError::Invalid { .. }) => Err(error),
        Err(error) => {
            tracing::warn!(
                %error, name = %record.name, "cannot read back the record of a new snapshot; will retry"
            );
            Ok(None)
        }
    }
}

/// Snapshot records in an object store.
#[derive(Debug)]
pub struct ObjectSnapshotStore {
    store: Arc<dyn ObjectStore>,
}

impl ObjectSnapshotStore {
    /// The records in the folder `snapshots` of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    /// The content of an object; `None` if it is absent.
    async fn bytes(&self, object: &Path) -> Result<Option<Bytes>, SnapshotStoreError> {
        match self.store.get(object).await {
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn path(name: &SnapshotName) -> Path {
    Path::from(format!("{FOLDER}/{name}.json"))
}

fn parse(object: &Path, bytes: &[u8]) -> Result<SnapshotRecord, UnreadableSnapshot> {
    let invalid = |reason: String| UnreadableSnapshot {
        object: object.to_string(),
        reason,
    };
    let record = SnapshotRecord::decode(bytes).map_err(invalid)?;
    if path(&record.name) != *object {
        return Err(invalid(
            "the name in the record differs from the object name".to_owned(),
        ));
    }
    Ok(record)
}

#[async_trait]
impl SnapshotStore for ObjectSnapshotStore {
    async fn list(&self) -> Result<StoredSnapshots, SnapshotStoreError> {
        let folder = Path::from(FOLDER);
        let objects: Vec<_> = self.store.list(Some(&folder)).try_collect().await?;
        let mut stored = StoredSnapshots::default();
        for object in objects {
            // If the object is missing, it was deleted after the listing.
            if let Some(bytes) = self.bytes(&object.location).await? {
                match parse(&object.location, &bytes) {
                    Ok(record) => stored.records.push(record),
                    Err(unreadable) => stored.unreadable.push(unreadable),
                }
            }
        }
        Ok(stored)
    }

    async fn load(
        &self,
        name: &SnapshotName,
    ) -> Result<Option<SnapshotRecord>, SnapshotStoreError> {
        let path = path(name);
        let bytes = self.bytes(&path).await?;
        Ok(bytes.map(|bytes| parse(&path, &bytes)).transpose()?)
    }

    async fn save(&self, record: &SnapshotRecord) -> Result<(), SnapshotStoreError> {
        let path = path(&record.name);
        let text = record.encode();
        let put = self
            .store
            .put_opts(&path, text.into(), PutMode::Create.into());
        match put.await {
            Ok(_) => Ok(()),
            Err(object_store::Error::AlreadyExists { .. }) => {
                Err(SnapshotStoreError::Exists(record.name.clone()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(&self, name: &SnapshotName) -> Result<(), SnapshotStoreError> {
        match self.store.delete(&path(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
