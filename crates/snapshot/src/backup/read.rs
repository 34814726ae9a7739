//! Reading a backup back.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use partita_rt::place;

use super::manifest::{Manifest, Origin, sha256};
use super::new_store::{NewDirectory, NewStore};
use super::part::Part;
use super::{BackupError, CHECKSUMS, MANIFEST, Progress};

/// A finished backup.
#[derive(Debug)]
pub struct Backup {
    store: Arc<dyn ObjectStore>,
    pub(super) manifest: Manifest,
}

impl Backup {
    /// Opens the backup in a place, once its list is what it was.
    ///
    /// # Errors
    /// [`BackupError::NotThere`], [`BackupError::Damaged`], [`BackupError::Store`].
    pub fn open(store: Arc<dyn ObjectStore>) -> BoxFuture<'static, Result<Self, BackupError>> {
        Box::pin(async move {
            let list = place::read(&*store, MANIFEST).await?;
            let list = list.ok_or(BackupError::NotThere)?;
            let manifest = Manifest::parse(&list)?;
            let told = place::read(&*store, CHECKSUMS).await?.unwrap_or_default();
            if list.as_ref() != manifest.bytes() || told.as_ref() != manifest.checksums().as_bytes()
            {
                let what = format!("{MANIFEST} and {CHECKSUMS} do not fit each other");
                return Err(BackupError::Damaged(what));
            }
            Ok(Self { store, manifest })
        })
    }

    /// Of which snapshot it is.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.manifest.snapshot
    }

    /// A part, checked against the list.
    async fn part(&self, at: usize) -> Result<Option<Part>, BackupError> {
        let Some(entry) = self.manifest.parts.get(at) else {
            return Ok(None);
        };
        let damaged = |what: String| BackupError::Damaged(format!("{}: {what}", entry.name));
        let file = place::read(&*self.store, &entry.name).await?;
        let file = file.ok_or_else(|| damaged("it is missing".to_owned()))?;
        let checking =
            partita_rt::threads::spawn_blocking(move || (sha256(&file), Part::decode(&file)));
        let (digest, part) = checking.await.map_err(|error| damaged(error.to_string()))?;
        if digest != entry.sha256 {
            return Err(damaged("its checksum is wrong".to_owned()));
        }
        let part = part.map_err(|error| damaged(error.to_string()))?;
        if part.rows.len() as u64 != entry.rows {
            return Err(damaged("its number of rows is wrong".to_owned()));
        }
        Ok(Some(part))
    }
}

/// Makes a data directory from a backup; it is not there yet, or is empty. The rows are the same, byte for byte, so the same ETags
/// and Timestamps, in the same ranges. The directory is there once all of it is.
///
/// # Errors
/// [`BackupError`].
pub fn restore<'a>(
    backup: &'a Backup,
    directory: &'a Path,
    note: &'a (dyn Fn(Progress) + Sync),
) -> BoxFuture<'a, Result<Progress, BackupError>> {
    Box::pin(async move {
        let starts = backup.manifest.starts.iter();
        let new = NewDirectory::begin(directory, starts.map(|start| start.0.clone())).await?;
        let mut progress = Progress::default();
        let filled = fill(&new.store, backup, &mut progress, note).await;
        new.end(filled).await?;
        Ok(progress)
    })
}

/// Copies all rows.
async fn fill(
    store: &NewStore,
    backup: &Backup,
    progress: &mut Progress,
    note: &(dyn Fn(Progress) + Sync),
) -> Result<(), BackupError> {
    let (mut last, mut at) = (Bytes::new(), 0);
    while let Some(part) = backup.part(at).await? {
        at += 1;
        if part.after != last {
            return Err(BackupError::Damaged(format!(
                "part {at} does not follow the one before"
            )));
        }
        if let Some((key, _)) = part.rows.last() {
            last = key.clone();
        }
        progress.rows += part.rows.len() as u64;
        progress.bytes += part.row_bytes();
        store.put(part.rows).await?;
        note(*progress);
    }
    if progress.rows != backup.manifest.rows {
        return Err(BackupError::Damaged("rows are missing".to_owned()));
    }
    Ok(())
}
