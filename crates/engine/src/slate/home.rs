//! The storage of the databases of a process.

use std::sync::Arc;

use partita_rt::DataDir;
use partita_wal::WalStorage;
use partita_wal::local::LocalStorage;
use slatedb::object_store::ObjectStore;

/// The storage of the databases of a process: an object store for their files, and a storage for their common WAL.
#[derive(Clone)]
pub struct Home {
    /// The files of all databases.
    pub store: Arc<dyn ObjectStore>,
    /// The WAL.
    pub wal: Arc<dyn WalStorage>,
    /// The directory behind `store`, if there is one. It stays locked, and folders that removed databases leave empty are removed.
    pub directory: Option<Arc<DataDir>>,
}

impl Home {
    /// In a data directory.
    pub fn in_directory(data: Arc<DataDir>) -> Self {
        Self {
            store: data.store(),
            wal: Arc::new(LocalStorage::new(data.log_path())),
            directory: Some(data),
        }
    }

    /// Removes the empty folders that the deleted objects under `prefix` leave in a directory.
    pub(super) async fn remove_empty_folders(&self, prefix: String) -> std::io::Result<()> {
        let Some(directory) = self.directory.clone() else {
            return Ok(());
        };
        let removing =
            partita_rt::threads::spawn_blocking(move || directory.remove_empty_folders(&prefix));
        removing.await.map_err(std::io::Error::other)?
    }
}
