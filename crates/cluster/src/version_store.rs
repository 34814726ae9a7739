//! The cluster version in the object store, where it outlasts a coordinator that loses its data.
//!
//! One object for each version that was finalized, `versions/2.json`, created once and never deleted. The newest one is the
//! version of the store: a program that does not support it must not use the store. Without an object, the store has the
//! first version.

use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, PutMode, PutOptions};
use partita_coordinator::ClusterVersion;
use std::fmt;
use std::sync::Arc;

/// The folder of the versions.
const FOLDER: &str = "versions";

/// Reads and writes the cluster version of an object store.
#[derive(Clone)]
pub struct VersionStore {
    objects: Arc<dyn ObjectStore>,
}

/// The store failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store of the cluster version failed")]
pub struct VersionStoreError(#[source] Arc<object_store::Error>);

impl From<object_store::Error> for VersionStoreError {
    fn from(error: object_store::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl fmt::Debug for VersionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionStore").finish_non_exhaustive()
    }
}

impl VersionStore {
    /// The cluster version of this store.
    #[must_use]
    pub fn new(objects: Arc<dyn ObjectStore>) -> Self {
        Self { objects }
    }

    /// The version of the store. Takes one request.
    ///
    /// # Errors
    /// [`VersionStoreError`].
    pub async fn version(&self) -> Result<ClusterVersion, VersionStoreError> {
        let objects = self.objects.list(Some(&Path::from(FOLDER)));
        let objects: Vec<_> = objects.try_collect().await?;
        let numbers = objects.iter().filter_map(|object| {
            let number = object.location.filename()?.strip_suffix(".json")?;
            number.parse().ok().map(ClusterVersion)
        });
        Ok(numbers.max().unwrap_or(ClusterVersion::FIRST))
    }

    /// Gives the store a version, durably. Can be repeated. Not cancel safe: it may be given nevertheless.
    ///
    /// # Errors
    /// [`VersionStoreError`]; the store may have the version.
    pub async fn record(&self, version: ClusterVersion) -> Result<(), VersionStoreError> {
        let text = format!("{{\"format\":1,\"version\":{version}}}\n");
        let path = Path::from(format!("{FOLDER}/{version}.json"));
        let options = PutOptions::from(PutMode::Create);
        match self.objects.put_opts(&path, text.into(), options).await {
            Ok(_)
            | Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::ObjectStoreExt as _;
    use object_store::memory::InMemory;

    #[tokio::test]
    async fn the_newest_version_counts() {
        let objects = Arc::new(InMemory::new());
        let store = VersionStore::new(objects.clone());
        assert_eq!(store.version().await.unwrap(), ClusterVersion(1));
        for version in [2, 10, 9, 10] {
            store.record(ClusterVersion(version)).await.unwrap();
        }
        let other = Path::from("versions/notes.txt");
        objects.put(&other, "x".into()).await.unwrap();
        assert_eq!(store.version().await.unwrap(), ClusterVersion(10));
        let object = objects.get(&Path::from("versions/2.json")).await.unwrap();
        let text = object.bytes().await.unwrap();
        assert_eq!(text, "{\"format\":1,\"version\":2}\n");
    }
}
