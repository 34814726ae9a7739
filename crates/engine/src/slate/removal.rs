//! Removing databases whose files no clone and no pin reads: they go to the trash.

use std::collections::HashSet;

use futures::StreamExt;
use slatedb::VersionedManifest;

use super::admin;
use super::core::Core;
use super::names::database_path;
use super::newest_manifest::newest_manifest;
use super::{pin, store_error, trash};
use crate::{ChangeError, RangeId, Removal};

/// Moves the database of a closed range to the trash, unless a clone or a pin reads its files. An interrupted removal
/// resumes with the next call. A folder without a manifest is moved too: its removal was interrupted, or a compaction
/// wrote a file after the removal.
pub(super) async fn remove(core: &Core, range: RangeId) -> Result<Removal, ChangeError> {
    if core.open_range(range).is_some() {
        return Err(ChangeError::State(range));
    }
    let (store, clock) = (&core.context.home.store, admin::clock(core));
    let manifest = newest_manifest(store, &clock, &database_path(range)).await?;
    match manifest.as_ref().map_or(Readers::None, readers) {
        Readers::None => {}
        Readers::Pin => return Ok(Removal::Needed),
        Readers::Clones(lasting) => {
            if References::read(core).await?.has_any(range, &lasting) {
                return Ok(Removal::Needed);
            }
            // These checkpoints belong to clones in the trash, or to clones whose creation was interrupted.
            tracing::debug!(%range, checkpoints = ?lasting, "removing a database despite checkpoints that no clone uses");
        }
    }
    trash::move_database(core, range).await?;
    if let Some(wal) = core.wal() {
        wal.release_all(range);
    }
    let removed = core
        .context
        .home
        .remove_empty_folders(database_path(range))
        .await;
    removed.map_err(store_error)?;
    Ok(Removal::Gone)
}

/// The databases that [`remove`] would remove if no new clone starts. Advisory; [`remove`] decides.
pub(super) async fn removable(
    core: &Core,
    ranges: &[RangeId],
) -> Result<Vec<RangeId>, ChangeError> {
    let closed = ranges.iter().copied();
    let closed = closed.filter(|range| core.open_range(*range).is_none());
    let (mut unread, mut cloned) = (Vec::new(), Vec::new());
    let (store, clock) = (&core.context.home.store, admin::clock(core));
    let mut reading = admin::manifests(store, &clock, closed.collect());
    while let Some((range, manifest)) = reading.next().await {
        let manifest = match manifest {
            Ok(manifest) => manifest,
            // One unreadable database does not block the removal of others.
            Err(error) => {
                tracing::debug!(%error, %range, "cannot read the manifest of a closed database");
                continue;
            }
        };
        match manifest.as_ref().map_or(Readers::None, readers) {
            Readers::None => unread.push(range),
            Readers::Pin => {}
            Readers::Clones(lasting) => cloned.push((range, lasting)),
        }
    }
    if !cloned.is_empty() {
        let references = References::read(core).await?;
        cloned.retain(|(range, lasting)| !references.has_any(*range, lasting));
        unread.extend(cloned.into_iter().map(|(range, _)| range));
    }
    Ok(unread)
}

/// The readers of the files of a database.
enum Readers {
    None,
    /// A snapshot.
    Pin,
    /// Clones, if a manifest references one of these checkpoints.
    Clones(Vec<String>),
}

/// Ignores checkpoints with an expiry: a running clone operation replaces its temporary checkpoint by a permanent one,
/// and operators' checkpoints are removed with their range. A permanent checkpoint is a pin, or belongs to a clone
/// whose manifest references it.
fn readers(manifest: &VersionedManifest) -> Readers {
    let checkpoints = manifest.checkpoints().iter();
    let lasting = || checkpoints.clone().filter(|it| it.expire_time.is_none());
    if lasting().any(pin::is_pin) {
        return Readers::Pin;
    }
    let lasting: Vec<_> = lasting()
        .map(|checkpoint| checkpoint.id.to_string())
        .collect();
    if lasting.is_empty() {
        Readers::None
    } else {
        Readers::Clones(lasting)
    }
}

/// The checkpoints that manifests reference, by the path of the database whose files they keep.
struct References(HashSet<(String, String)>);

impl References {
    /// Reads the manifest of every database.
    async fn read(core: &Core) -> Result<Self, ChangeError> {
        let mut references = HashSet::new();
        let (store, clock) = (&core.context.home.store, admin::clock(core));
        let mut reading = admin::manifests(store, &clock, admin::list(store).await?);
        while let Some((_, manifest)) = reading.next().await {
            let Some(manifest) = manifest? else { continue };
            for source in manifest.external_dbs() {
                if let Some(checkpoint) = source.final_checkpoint_id {
                    references.insert((source.path.clone(), checkpoint.to_string()));
                }
            }
        }
        Ok(Self(references))
    }

    fn has_any(&self, range: RangeId, checkpoints: &[String]) -> bool {
        let path = database_path(range);
        let mut keys = checkpoints.iter().map(|id| (path.clone(), id.clone()));
        keys.any(|key| self.0.contains(&key))
    }
}
