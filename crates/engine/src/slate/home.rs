//! The storage of the databases of a process, and the clock of the machine.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::{Clock, DataDir, SystemClock};
use partita_wal::local::{LocalStorage, Options};
use partita_wal::remote::{self, RemoteStorage, SharedStorage};
use partita_wal::{SharedLogs, WalStorage};
use slatedb::object_store::ObjectStore;

use super::disk_cache::DiskCache;

/// How the WAL of an object store is written.
#[derive(Clone, Copy, Debug)]
pub struct LogSettings {
    /// The least time between the starts of two PUTs.
    pub gap: Duration,
    /// About the most bytes of rows that are not flushed yet. More than the default of 160 MiB has no effect.
    pub unflushed_bytes_max: u64,
}

impl From<LogSettings> for remote::Options {
    fn from(settings: LogSettings) -> Self {
        Self {
            gap: settings.gap,
            ..Self::within(settings.unflushed_bytes_max)
        }
    }
}

/// The storage of the databases of a process: an object store for files, and a storage for the common WAL. Also the
/// clock of the machine.
#[derive(Clone)]
pub struct Home {
    /// The files of all databases.
    pub store: Arc<dyn ObjectStore>,
    /// The WAL.
    pub wal: Arc<dyn WalStorage>,
    /// The directory of `store`, if the store is a directory. It stays locked, and empty folders of removed databases
    /// are deleted.
    pub directory: Option<Arc<DataDir>>,
    /// A cache of the files, if `store` is far away.
    pub disk_cache: Option<Arc<DiskCache>>,
    /// The clock of the machine.
    pub clock: Arc<dyn Clock>,
}

impl Home {
    /// The storage in a data directory, with the real clock.
    pub fn in_directory(data: Arc<DataDir>) -> Self {
        Self::with_wal_options(data, Options::default())
    }

    /// As [`Home::in_directory`], for a machine with little memory: limits the rows in memory that are not yet flushed
    /// to about `unflushed_bytes_max` bytes. More than the default has no effect.
    pub fn in_directory_within(data: Arc<DataDir>, unflushed_bytes_max: u64) -> Self {
        Self::with_wal_options(data, Options::within(unflushed_bytes_max))
    }

    /// The storage of a single server in an object store: the files in `store`, and the WAL in `log_store`, which may be
    /// the same. Each start takes over the WAL of the earlier ones, which [`crate::EngineSet::fenced`] tells them.
    ///
    /// The commit thread makes the requests of the WAL, and its runtime has timers but no I/O. So a `log_store` that
    /// speaks HTTP needs a client whose connections live on another runtime.
    pub fn in_object_store(
        store: Arc<dyn ObjectStore>,
        log_store: Arc<dyn ObjectStore>,
        options: impl Into<remote::Options>,
    ) -> Self {
        let clock = Arc::new(SystemClock);
        Self {
            store,
            wal: Arc::new(RemoteStorage::new(log_store, clock.clone(), options.into())),
            directory: None,
            disk_cache: None,
            clock,
        }
    }

    /// The storage of one process of a cluster in an object store that several processes use at the same time: the files
    /// in `store`, and the WALs of all processes in `log_store`, which may be the same. Each start begins a WAL of its own
    /// and takes nothing over: [`crate::EngineSet::take_over`] does that for one range. After a failure of the WAL or of a
    /// database, the engine set serves nothing more, and [`crate::EngineSet::fenced`] says why.
    ///
    /// `log_store` is as in [`Home::in_object_store`].
    pub fn in_shared_store(
        store: Arc<dyn ObjectStore>,
        log_store: Arc<dyn ObjectStore>,
        options: impl Into<remote::Options>,
    ) -> Self {
        let clock = Arc::new(SystemClock);
        Self {
            store,
            wal: Arc::new(SharedStorage::new(log_store, clock.clone(), options.into())),
            directory: None,
            disk_cache: None,
            clock,
        }
    }

    /// The WALs of all processes, if several use the store at the same time.
    pub(super) fn shared(&self) -> Option<&dyn SharedLogs> {
        self.wal.shared_logs()
    }

    /// Whether this process answers nothing from a database that another process has opened: no other can open one in its
    /// directory, and in a cluster a lease holds answers back.
    pub(super) fn is_exclusive(&self) -> bool {
        self.directory.is_some() || self.shared().is_some()
    }

    fn with_wal_options(data: Arc<DataDir>, options: Options) -> Self {
        Self {
            store: data.store(),
            wal: Arc::new(LocalStorage::new(data.log_path(), options)),
            directory: Some(data),
            disk_cache: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// Renames a folder of a directory in one step. Returns `false`, and changes nothing, if the store is not a
    /// directory, the folder is missing, or the new name is taken.
    pub(super) async fn rename_folder(&self, from: String, to: String) -> std::io::Result<bool> {
        let Some(directory) = self.directory.clone() else {
            return Ok(false);
        };
        let renaming =
            partita_rt::threads::spawn_blocking(move || directory.rename_folder(&from, &to));
        renaming.await.map_err(std::io::Error::other)?
    }

    /// Free bytes of the disk; `None` if they are unknown or the store is not a directory.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        self.directory.as_ref()?.free_bytes().ok()
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
