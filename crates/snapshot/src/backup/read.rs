//! Restoring a backup.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use partita_engine::slate::Home;
use partita_rt::place;

use super::manifest::{Manifest, Origin, sha256};
use super::new_store::{RowSource, fill_directory, fill_home};
use super::part::Part;
use super::{BackupError, CHECKSUMS, MANIFEST, Note, Progress};

/// A finished backup.
#[derive(Debug)]
pub struct Backup {
    store: Arc<dyn ObjectStore>,
    pub(super) manifest: Manifest,
}

impl Backup {
    /// Opens the backup in an object store, and checks its manifest.
    ///
    /// # Errors
    /// [`BackupError::NotThere`], [`BackupError::Damaged`], [`BackupError::Store`].
    pub fn open(store: Arc<dyn ObjectStore>) -> BoxFuture<'static, Result<Self, BackupError>> {
        Box::pin(async move {
            let list = place::read(&*store, MANIFEST).await?;
            let list = list.ok_or(BackupError::NotThere)?;
            let manifest = Manifest::parse(&list)?;
            let sums = place::read(&*store, CHECKSUMS).await?.unwrap_or_default();
            if list.as_ref() != manifest.bytes() || sums.as_ref() != manifest.checksums().as_bytes()
            {
                let what = format!("{MANIFEST} and {CHECKSUMS} do not match");
                return Err(BackupError::Damaged(what));
            }
            Ok(Self { store, manifest })
        })
    }

    /// The snapshot that the backup was made from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.manifest.snapshot
    }

    /// The first keys of the ranges.
    fn starts(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.manifest.starts.iter().map(|start| start.0.clone())
    }

    /// Reads a part and checks it against the manifest; `None` after the last part.
    async fn part(&self, at: usize) -> Result<Option<Part>, BackupError> {
        let Some(entry) = self.manifest.parts.get(at) else {
            return Ok(None);
        };
        let damaged = |what: String| BackupError::Damaged(format!("{}: {what}", entry.name));
        let file = place::read(&*self.store, &entry.name).await?;
        let file = file.ok_or_else(|| damaged("the file is missing".to_owned()))?;
        let checking =
            partita_rt::threads::spawn_blocking(move || (sha256(&file), Part::decode(&file)));
        let (digest, part) = checking.await.map_err(|error| damaged(error.to_string()))?;
        if digest != entry.sha256 {
            return Err(damaged("checksum mismatch".to_owned()));
        }
        let part = part.map_err(|error| damaged(error.to_string()))?;
        if part.rows.len() as u64 != entry.rows {
            return Err(damaged("wrong number of rows".to_owned()));
        }
        Ok(Some(part))
    }
}

/// Creates a data directory, which must be absent or empty, from a backup. Rows are copied byte for byte into the same
/// ranges, so ETags and Timestamps stay the same. The directory appears when it is complete.
///
/// # Errors
/// [`BackupError`].
pub fn restore<'a>(
    backup: &'a Backup,
    directory: &'a Path,
    note: Note<'a>,
) -> BoxFuture<'a, Result<Progress, BackupError>> {
    Box::pin(async move {
        fill_directory(directory, backup.starts(), PartRows::new(backup), note).await
    })
}

/// As [`restore`], into the databases of `home`, which must be empty. After an error it has a part of the rows and no
/// partition map, so no server starts on it: delete its objects.
///
/// # Errors
/// [`BackupError`].
pub fn restore_into<'a>(
    backup: &'a Backup,
    home: Home,
    note: Note<'a>,
) -> BoxFuture<'a, Result<Progress, BackupError>> {
    Box::pin(async move { fill_home(home, backup.starts(), PartRows::new(backup), note).await })
}

/// The rows of a backup, part after part.
struct PartRows<'b> {
    backup: &'b Backup,
    parts_read: usize,
    rows_read: u64,
    /// The last key that was read.
    last: Bytes,
}

impl<'b> PartRows<'b> {
    fn new(backup: &'b Backup) -> Self {
        Self {
            backup,
            parts_read: 0,
            rows_read: 0,
            last: Bytes::new(),
        }
    }
}

impl RowSource for PartRows<'_> {
    async fn next(&mut self) -> Result<Vec<(Bytes, Bytes)>, BackupError> {
        let Some(part) = self.backup.part(self.parts_read).await? else {
            return match self.rows_read == self.backup.manifest.rows {
                true => Ok(Vec::new()),
                false => Err(BackupError::Damaged("rows are missing".to_owned())),
            };
        };
        self.parts_read += 1;
        if part.after != self.last {
            return Err(BackupError::Damaged(format!(
                "part {} does not follow the previous part",
                self.parts_read
            )));
        }
        if let Some((key, _)) = part.rows.last() {
            self.last = key.clone();
        }
        self.rows_read += part.rows.len() as u64;
        Ok(part.rows)
    }
}
