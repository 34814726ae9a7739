//! Verifies the files of a database: its manifests, the state of its compactions, and every byte of the data files.
//!
//! [`Verifier`] is for a closed store: the check of a data directory. The scrub of a running server
//! ([`super::scrub`]) verifies the data files of open databases with the same code, [`data_file::verify`].

pub(super) mod data_file;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use partita_rt::store_layer::Layered;
use partita_wal::WalId;
use slatedb::object_store::ObjectStore;
use slatedb::object_store::path::Path;
use slatedb::{PathResolver, VersionedManifest};
use slatedb_common::{DefaultSystemClock, SystemClock};

use self::data_file::FileState;
use super::checked_store::Unreadable;
use super::damage::path_in_directory;
use super::manifest_store::{self, FoundWitness, ManifestStore, WITNESS};
use super::names::database_path;
use super::newest_manifest::newest_manifest;
use super::{admin, pin, store_error};
use crate::{ChangeError, Meter, PinId, RangeId};

/// A file of a database that is missing, damaged or unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// Its path in the data directory.
    pub file: String,
    /// What the database uses it for.
    pub kind: FileKind,
    /// What is wrong with it.
    pub problem: String,
}

/// What a database uses a file for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The newest manifest. Without it no row of the range can be read.
    Manifest,
    /// An older manifest.
    OldManifest {
        /// Whether a snapshot or a clone reads it.
        is_needed: bool,
    },
    /// The state of compactions.
    Compactions,
    /// The object with the number of the newest manifest (module `manifest_store`).
    Witness,
    /// A data file.
    Data {
        /// Its first and its last key, as far as the manifest names them.
        keys: Option<(Bytes, Bytes)>,
        /// Whether the range reads it; otherwise only snapshots and clones do.
        is_live: bool,
    },
    /// A data file that could not be read, for a reason that may be temporary.
    Unread,
}

/// The result of [`Verifier::database`].
#[derive(Clone, Debug, Default)]
pub struct CheckedDatabase {
    /// The last WAL record whose rows are in files; `None` without a readable manifest.
    pub flushed_up_to: Option<WalId>,
    /// The pins of snapshots.
    pub pins: Vec<PinId>,
    /// The paths in the data directory of the witness, also if it is missing, and of all data files that the database
    /// or one of its checkpoints reads.
    pub files: BTreeSet<String>,
    /// The files that are missing, damaged or unreadable.
    pub faults: Vec<FileFault>,
}

/// Verifies databases of a closed store. Changes nothing. A file that several databases read is read once.
pub struct Verifier<'m> {
    store: Arc<dyn ObjectStore>,
    clock: Arc<dyn SystemClock>,
    meter: &'m dyn Meter,
    verified: BTreeMap<Path, FileState>,
}

impl<'m> Verifier<'m> {
    /// Verifies databases of `store`.
    pub fn new(store: Arc<dyn ObjectStore>, meter: &'m dyn Meter) -> Self {
        Self {
            store: Arc::new(Layered(ManifestStore::new(store))),
            clock: Arc::new(DefaultSystemClock::new()),
            meter,
            verified: BTreeMap::new(),
        }
    }

    /// Verifies the database of a range: all its manifests, the state of its compactions, and all files that it and its
    /// checkpoints read.
    ///
    /// # Errors
    /// The store failed. Damage is not an error.
    pub async fn database(&mut self, range: RangeId) -> Result<CheckedDatabase, ChangeError> {
        let folder = database_path(range);
        let mut checked = CheckedDatabase::default();
        self.witness(&folder, &mut checked).await?;
        self.compactions(&folder, &mut checked).await;
        let newest = newest_manifest(&self.store, &self.clock, &folder).await;
        let numbers = self.numbers(&folder).await?;
        let newest = match newest {
            Ok(Some(newest)) => newest,
            Ok(None) => return Ok(checked),
            Err(error) => {
                let last = numbers.last().copied().unwrap_or_default();
                let path = manifest_store::manifest_path(&folder, last);
                checked.add_error(&path, FileKind::Manifest, &error);
                return Ok(checked);
            }
        };
        checked.flushed_up_to = Some(WalId(newest.replay_after_wal_id()));
        let pins = newest.checkpoints().iter().filter(|it| pin::is_pin(it));
        checked.pins = pins.map(|pin| PinId::new(&pin.id.to_string())).collect();
        let needed: BTreeSet<u64> = newest
            .checkpoints()
            .iter()
            .map(|it| it.manifest_id)
            .collect();
        let mut older = Vec::new();
        for number in numbers.iter().chain(&needed) {
            if *number != newest.id() {
                older.extend(
                    self.old_manifest(&folder, *number, &needed, &mut checked)
                        .await,
                );
            }
        }
        self.data_files(&folder, &newest, true, &mut checked).await;
        for manifest in older.iter().filter(|it| needed.contains(&it.id())) {
            self.data_files(&folder, manifest, false, &mut checked)
                .await;
        }
        Ok(checked)
    }

    async fn witness(
        &self,
        folder: &str,
        checked: &mut CheckedDatabase,
    ) -> Result<(), ChangeError> {
        let path = Path::from(format!("{folder}/{WITNESS}"));
        checked.files.insert(path_in_directory(&path));
        let found = manifest_store::witness(&*self.store, folder).await;
        if found.map_err(store_error)? == FoundWitness::Damaged {
            let problem = "its content does not match its checksum".to_owned();
            checked.add(&path, FileKind::Witness, problem);
        }
        Ok(())
    }

    async fn compactions(&self, folder: &str, checked: &mut CheckedDatabase) {
        let admin = admin::admin_of(&self.store, &self.clock, folder);
        let path = Path::from(format!("{folder}/compactions"));
        if let Err(error) = admin.read_compactions(None).await {
            checked.add_error(&path, FileKind::Compactions, &error);
        }
    }

    /// The numbers of the manifests in a folder, in ascending order.
    async fn numbers(&self, folder: &str) -> Result<Vec<u64>, ChangeError> {
        let folder = Path::from(format!("{folder}/manifest"));
        let listed: Vec<_> = self
            .store
            .list(Some(&folder))
            .try_collect()
            .await
            .map_err(store_error)?;
        let mut numbers: Vec<u64> = listed
            .iter()
            .filter_map(|file| {
                file.location
                    .filename()?
                    .strip_suffix(".manifest")?
                    .parse()
                    .ok()
            })
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    async fn old_manifest(
        &self,
        folder: &str,
        number: u64,
        needed: &BTreeSet<u64>,
        checked: &mut CheckedDatabase,
    ) -> Option<VersionedManifest> {
        let path = manifest_store::manifest_path(folder, number);
        if checked
            .faults
            .iter()
            .any(|fault| fault.file == path_in_directory(&path))
        {
            return None;
        }
        let admin = admin::admin_of(&self.store, &self.clock, folder);
        let kind = FileKind::OldManifest {
            is_needed: needed.contains(&number),
        };
        match admin.read_manifest(Some(number)).await {
            Ok(Some(manifest)) => return Some(manifest),
            Ok(None) => checked.add(&path, kind, "it is missing".to_owned()),
            Err(error) => checked.add_error(&path, kind, &error),
        }
        None
    }

    /// Verifies the files that a manifest names.
    async fn data_files(
        &mut self,
        folder: &str,
        manifest: &VersionedManifest,
        is_live: bool,
        checked: &mut CheckedDatabase,
    ) {
        let paths = PathResolver::new(folder.to_owned(), manifest);
        for view in manifest.all_sst_views() {
            let path = paths.sst_path(&view.sst.id);
            if !checked.files.insert(path_in_directory(&path)) {
                continue;
            }
            let state = match self.verified.get(&path) {
                Some(state) => state.clone(),
                None => {
                    let state = data_file::verify(&self.store, &path, view, self.meter).await;
                    self.verified.insert(path.clone(), state.clone());
                    state
                }
            };
            let info = &view.sst.info;
            let keys = info.first_entry.clone().zip(info.last_entry.clone());
            let kind = FileKind::Data { keys, is_live };
            match state {
                FileState::Sound => {}
                FileState::Missing => checked.add(&path, kind, "it is missing".to_owned()),
                FileState::Damaged(problem) => checked.add(&path, kind, problem),
                FileState::Unread(problem) => checked.add(&path, FileKind::Unread, problem),
            }
        }
    }
}

impl CheckedDatabase {
    fn add(&mut self, path: &Path, kind: FileKind, problem: String) {
        let file = path_in_directory(path);
        self.faults.push(FileFault {
            file,
            kind,
            problem,
        });
    }

    /// Adds a fault of the file that an error names, or of `path` if it names none.
    fn add_error(
        &mut self,
        path: &Path,
        kind: FileKind,
        error: &(dyn std::error::Error + 'static),
    ) {
        let (file, problem) = named(error);
        self.faults.push(FileFault {
            file: file.unwrap_or_else(|| path_in_directory(path)),
            kind,
            problem,
        });
    }
}

/// The file that an error names, if any, and the text of the error's innermost cause.
fn named(error: &(dyn std::error::Error + 'static)) -> (Option<String>, String) {
    if let Some(Unreadable { file, problem }) = Unreadable::find(error) {
        return (Some(file.clone()), problem.clone());
    }
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    (None, cause.to_string())
}

#[cfg(test)]
mod tests;
