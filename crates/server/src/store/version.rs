//! The cluster version of a store: a program that does not support it must not use the store.

use std::sync::Arc;

use object_store::ObjectStore;
use partita_cluster::{VersionStore, VersionStoreError};
use partita_coordinator::{ClusterVersion, VersionRefused, Versions};

use super::identity::{IdentityError, is_new};

/// Why a program must not use a store.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// The program does not support the version.
    #[error(transparent)]
    Refused(#[from] VersionRefused),
    /// The version cannot be read.
    #[error(transparent)]
    Store(#[from] VersionStoreError),
    /// It cannot be read whether the store is new.
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// Refuses a program that does not support the version of the store. A new store, without an identity, gets the newest
/// version of the program.
pub(super) async fn check(
    files: &Arc<dyn ObjectStore>,
    program: Versions,
) -> Result<VersionStore, VersionError> {
    let versions = VersionStore::new(Arc::clone(files));
    let newest = program.newest();
    // The first version needs no object.
    if newest > ClusterVersion::FIRST && is_new(&**files).await? {
        versions.record(newest).await?;
    }
    program.check(versions.version().await?)?;
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::super::identity::identify;
    use super::*;

    async fn begin(versions: &str) -> (Arc<dyn ObjectStore>, Result<(), VersionError>) {
        let files: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let begun = start(&files, versions).await;
        (files, begun)
    }

    async fn start(files: &Arc<dyn ObjectStore>, versions: &str) -> Result<(), VersionError> {
        check(files, Versions::parse(versions).unwrap()).await?;
        identify(&**files, None).await?;
        Ok(())
    }

    #[tokio::test]
    async fn a_new_store_has_the_newest_version_of_its_program() {
        let (files, begun) = begin("2-3").await;
        begun.unwrap();
        let version = VersionStore::new(Arc::clone(&files)).version().await;
        assert_eq!(version.unwrap(), ClusterVersion(3));
        start(&files, "3-4").await.unwrap();
        for versions in ["1-2", "4-5"] {
            let refused = start(&files, versions).await.unwrap_err();
            assert!(matches!(refused, VersionError::Refused(_)), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_store_keeps_its_version_until_it_is_finalized() {
        let (files, begun) = begin("1-1").await;
        begun.unwrap();
        start(&files, "1-2").await.unwrap();
        start(&files, "1-1").await.unwrap();
        let refused = start(&files, "2-3").await.unwrap_err();
        assert!(matches!(refused, VersionError::Refused(_)), "{refused}");
    }
}
