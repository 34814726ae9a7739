//! Restoring a backup into an empty object store, for the servers of a new cluster or a single server.

use futures::StreamExt as _;
use object_store::ObjectStore;
use partita_rt::place::Client;
use partita_snapshot::backup::{Backup, BackupError, Note, Progress, restore_into};
use std::sync::Arc;
use tokio::runtime::Handle;

use super::Error;
use super::engines::{ObjectStores, Sharing, opened};
use crate::config::ObjectStorePlace;
use crate::environment::Environment;

/// Why a backup was not restored into a store.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] Error),
    /// The store has objects, such as this one.
    #[error("the store {place} is not empty: it has {object}; choose another prefix")]
    NotEmpty {
        /// The URL of the store.
        place: String,
        /// The object.
        object: String,
    },
    /// The store cannot be listed.
    #[error("cannot list the store {place}")]
    List {
        /// The URL of the store.
        place: String,
        /// The error of the store.
        source: object_store::Error,
    },
    /// Rows were not copied.
    #[error(
        "the store {place} has only a part of the rows: delete its objects before you try again"
    )]
    Copy {
        /// The URL of the store.
        place: String,
        /// The error of the backup or of the new databases.
        source: BackupError,
    },
}

/// Restores a backup into an object store, which must be empty. Rows are copied byte for byte into the same ranges, so
/// ETags and Timestamps stay the same. No server starts on the store before it is complete.
///
/// # Errors
/// [`RestoreError`].
pub async fn restore_to_store(
    backup: &Backup,
    place: &ObjectStorePlace,
    note: Note<'_>,
) -> Result<Progress, RestoreError> {
    check_empty(&place.files).await?;
    if let Some(log) = &place.log {
        check_empty(log).await?;
    }
    let stores = ObjectStores::open(place, &Environment::default()).await?;
    let home = stores.home(place, Sharing::Alone);
    let restored = restore_into(backup, home, note).await;
    restored.map_err(|source| RestoreError::Copy {
        place: place.files.url(),
        source,
    })
}

/// Checks that a store has at most the objects that an earlier attempt makes before it copies.
async fn check_empty(place: &partita_rt::Place) -> Result<(), RestoreError> {
    let store: Arc<dyn ObjectStore> = opened(place, &Client::Files(Handle::current()))?;
    let mut objects = store.list(None);
    while let Some(object) = objects.next().await {
        let object = object.map_err(|source| RestoreError::List {
            place: place.url(),
            source,
        })?;
        let name = object.location.as_ref();
        let is_identity = matches!(name, "partita.json" | "partita-log.json");
        let is_known = name.starts_with("probe/") || name.starts_with("versions/");
        if !is_identity && !is_known {
            return Err(RestoreError::NotEmpty {
                place: place.url(),
                object: name.to_owned(),
            });
        }
    }
    Ok(())
}
