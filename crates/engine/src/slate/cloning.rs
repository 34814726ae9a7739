//! EngineSet made from pieces of others, and their removal.
//!
//! A derived database is a SlateDB clone: its manifest names files of its sources and which of their keys are visible. A source
//! keeps a checkpoint for each of its clones, so that its files stay. Once compaction has rewritten all that a clone saw of a
//! source, the clone's own garbage collection takes that checkpoint away ("detaches"), and a source without checkpoints can go.
//!
//! Each step can be asked for again after a crash: a clone that was begun is finished or removed, a removal goes on.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use slatedb::admin::{Admin, AdminBuilder, CloneSourceSpec};
use slatedb::config::CheckpointOptions;
use slatedb::object_store::path::Path;
use slatedb::wal::{WalAdmin, WalError, WalFileRange, WalGc};
use slatedb::{CheckpointCreateResult, VersionedManifest};

use super::core::Core;
use super::open::{DATABASE_PREFIX, database_path};
use super::{FLUSH_DEADLINE, Opened, file_layout, pin, settings};
use crate::{ChangeError, Collected, KeyPart, RangeId, Removal};

/// How long the checkpoint lives under which a clone is made; the clone makes lasting ones. Longer than making it can take. Nobody
/// takes it away: writes are waiting, and it ends by itself.
const CHECKPOINT_LIFETIME: Duration = Duration::from_secs(60);

/// How many manifests are read at the same time: an object store answers late.
const MANIFESTS_AT_ONCE: usize = 8;

pub(super) async fn clone_parts(
    core: &Core,
    target: RangeId,
    pieces: &[KeyPart],
) -> Result<(), ChangeError> {
    if core.slot(target).is_some() {
        return Err(ChangeError::State(target));
    }
    let mut sources = Vec::with_capacity(pieces.len());
    for piece in pieces {
        settle(core, piece.source).await?;
        let id = checkpoint(core, piece.source, CHECKPOINT_LIFETIME)
            .await?
            .id;
        let source = CloneSourceSpec::with_checkpoint(database_path(piece.source), id);
        let range: (Bound<Bytes>, Bound<Bytes>) =
            (piece.range.start.clone(), piece.range.end.clone());
        sources.push(source.with_projection_range(range));
    }
    let mut sources = sources.into_iter();
    let first = sources.next().ok_or(ChangeError::State(target))?;
    let builder = admin(core, target).create_clone_builder_from_source(first);
    let builder = sources.fold(builder, |builder, source| builder.with_source(source));
    builder.build().await.map_err(refused)?;
    core.known.lock().insert(target);
    Ok(())
}

/// Keeps the files of a range as they are now from being collected for a time.
pub(super) async fn checkpoint(
    core: &Core,
    range: RangeId,
    lifetime: Duration,
) -> Result<CheckpointCreateResult, ChangeError> {
    let options = CheckpointOptions {
        lifetime: Some(lifetime),
        ..CheckpointOptions::default()
    };
    let admin = admin(core, range);
    let made = admin.create_detached_checkpoint(&options).await;
    made.map_err(refused)
}

/// Moves all rows of an open range to its files, unless they are there.
async fn settle(core: &Core, range: RangeId) -> Result<(), ChangeError> {
    let slot = core.slot(range).ok_or(ChangeError::State(range))?;
    let (Some(opened), Some(wal)) = (slot.opened(), core.wal()) else {
        return Err(ChangeError::Unavailable);
    };
    // One that closed itself may have a write that failed and is there all the same, of which the log's marks say nothing.
    if opened.db.status().close_reason.is_some() {
        return Err(ChangeError::Unavailable);
    }
    if wal.is_flushed(range, opened.flushed()) {
        return Ok(());
    }
    let flushing = tokio::time::timeout(FLUSH_DEADLINE, opened.flush());
    let flushed = flushing.await.map_err(|_elapsed| ChangeError::Late)?;
    flushed.map_err(refused)
}

pub(super) async fn remove(core: &Core, range: RangeId) -> Result<Removal, ChangeError> {
    if core.slot(range).is_some() {
        return Err(ChangeError::State(range));
    }
    let admin = admin(core, range);
    let manifest = admin.read_manifest(None).await.map_err(refused)?;
    match manifest.as_ref().map_or(Need::Nobody, need) {
        Need::Nobody => {}
        Need::Pin => return Ok(Removal::Needed),
        Need::Clones(lasting) => {
            if Named::read(core).await?.has_any(range, &lasting) {
                return Ok(Removal::Needed);
            }
            // A clone that was removed while the process was killed can leave its checkpoint behind.
            tracing::info!(%range, left = ?lasting, "nobody reads the files of an old database, though checkpoints are left");
        }
    }
    if manifest.is_some() {
        admin.delete_db(true).await.map_err(refused)?;
    } else {
        delete_files(core, range).await?;
    }
    if let Some(wal) = core.wal() {
        wal.release_all(range);
    }
    let removed = core.home.remove_empty_folders(database_path(range)).await;
    removed.map_err(refused)?;
    Ok(Removal::Gone)
}

/// Deletes what is left of a database without a manifest, which SlateDB takes for a folder of somebody else: a removal that was cut
/// short, or a file that a compaction was writing when the database was closed, and that was there only after the removal.
async fn delete_files(core: &Core, range: RangeId) -> Result<(), ChangeError> {
    let store = Arc::clone(&core.home.store);
    let files = store.list(Some(&Path::from(database_path(range))));
    let deleting = store.delete_stream(files.map_ok(|file| file.location).boxed());
    deleting
        .try_for_each(async |_| Ok(()))
        .await
        .map_err(refused)
}

/// Those of some databases that [`remove`] would remove, if nothing is being derived from what reads them.
pub(super) async fn removable(
    core: &Core,
    ranges: &[RangeId],
) -> Result<Vec<RangeId>, ChangeError> {
    let closed = ranges.iter().copied().filter(|id| core.slot(*id).is_none());
    let (mut free, mut cloned) = (Vec::new(), Vec::new());
    let mut reading = manifests(core, closed.collect());
    while let Some((range, manifest)) = reading.next().await {
        let manifest = match manifest {
            Ok(manifest) => manifest,
            // The others can go all the same.
            Err(error) => {
                tracing::debug!(%error, %range, "an old database cannot be read");
                continue;
            }
        };
        match manifest.as_ref().map_or(Need::Nobody, need) {
            Need::Nobody => free.push(range),
            Need::Pin => {}
            Need::Clones(lasting) => cloned.push((range, lasting)),
        }
    }
    if !cloned.is_empty() {
        let named = Named::read(core).await?;
        cloned.retain(|(range, lasting)| !named.has_any(*range, lasting));
        free.extend(cloned.into_iter().map(|(range, _)| range));
    }
    Ok(free)
}

/// Who may still read the files of a database.
enum Need {
    Nobody,
    /// A snapshot.
    Pin,
    /// Clones, if they name one of these checkpoints.
    Clones(Vec<String>),
}

/// Checkpoints with an end are those of clones being made, which have made a lasting one or were given up, and those that an operator
/// asked for, which end with their range. A lasting one is a pin, or that of a clone, and then the clone names it.
fn need(manifest: &VersionedManifest) -> Need {
    let checkpoints = manifest.checkpoints().iter();
    let lasting = || checkpoints.clone().filter(|it| it.expire_time.is_none());
    if lasting().any(pin::is_pin) {
        return Need::Pin;
    }
    let lasting: Vec<_> = lasting()
        .map(|checkpoint| checkpoint.id.to_string())
        .collect();
    if lasting.is_empty() {
        Need::Nobody
    } else {
        Need::Clones(lasting)
    }
}

/// The checkpoints that databases name: each reads files of the database at that path.
struct Named(HashSet<(String, String)>);

impl Named {
    async fn read(core: &Core) -> Result<Self, ChangeError> {
        let mut named = HashSet::new();
        let mut reading = manifests(core, list(core).await?);
        while let Some((_, manifest)) = reading.next().await {
            let Some(manifest) = manifest? else { continue };
            for database in manifest.external_dbs() {
                if let Some(checkpoint) = database.final_checkpoint_id {
                    named.insert((database.path.clone(), checkpoint.to_string()));
                }
            }
        }
        Ok(Self(named))
    }

    fn has_any(&self, range: RangeId, checkpoints: &[String]) -> bool {
        let path = database_path(range).to_string();
        let mut keys = checkpoints.iter().map(|id| (path.clone(), id.clone()));
        keys.any(|key| self.0.contains(&key))
    }
}

/// The newest manifest of each database, in any order; some are read at the same time. `None` where there is none.
fn manifests(
    core: &Core,
    ranges: Vec<RangeId>,
) -> impl Stream<Item = (RangeId, Result<Option<VersionedManifest>, ChangeError>)> + Unpin {
    let reads = ranges.into_iter().map(async |range| {
        let manifest = admin(core, range).read_manifest(None).await;
        (range, manifest.map_err(refused))
    });
    let reading = futures::stream::iter(reads).buffer_unordered(MANIFESTS_AT_ONCE);
    Box::pin(reading)
}

/// The ranges that have a database, whole or in part, in ascending order.
pub(super) async fn list(core: &Core) -> Result<Vec<RangeId>, ChangeError> {
    let store = Arc::clone(&core.home.store);
    let found = store.list_with_delimiter(None).await.map_err(refused)?;
    let mut ranges: Vec<RangeId> = found
        .common_prefixes
        .iter()
        .filter_map(|path| path.as_ref().strip_prefix(DATABASE_PREFIX)?.parse().ok())
        .map(RangeId)
        .collect();
    ranges.sort_unstable();
    Ok(ranges)
}

/// Runs one pass of the database's garbage collection, detaching included, and looks for what no pass will remove.
pub(super) async fn collect(core: &Core, opened: &Opened) -> Result<Collected, ChangeError> {
    let options = settings::garbage_collection(core.settings.garbage_age);
    let collected = admin(core, opened.range).run_gc_once(options).await;
    collected.map_err(refused)?;
    let manifest = opened.db.manifest();
    let flushed = file_layout::newest_flushed(&manifest);
    let used: HashSet<String> = manifest
        .all_sst_views()
        .map(|view| view.sst.id.value().to_string())
        .collect();
    let folder = Path::from(database_path(opened.range)).join("compacted");
    let mut files = Arc::clone(&core.home.store).list(Some(&folder));
    while let Some(file) = files.try_next().await.map_err(refused)? {
        let name = file.location.filename().unwrap_or_default();
        let name = name.strip_suffix(".sst").unwrap_or(name);
        if flushed.as_deref().is_none_or(|flushed| name > flushed) && !used.contains(name) {
            return Ok(Collected::UntilFlush);
        }
    }
    Ok(Collected::All)
}

pub(super) fn admin(core: &Core, range: RangeId) -> Admin {
    AdminBuilder::new(database_path(range), Arc::clone(&core.home.store))
        .with_wal_admin(Arc::new(NoWal))
        .with_system_clock(Arc::clone(&core.clock))
        .build()
}

pub(super) fn refused(error: impl std::error::Error + Send + Sync + 'static) -> ChangeError {
    ChangeError::Store(Arc::new(error))
}

/// What SlateDB is told of the log: [`settled`] has seen to it that a source has nothing there, and the log gives up its
/// segments by itself.
struct NoWal;

#[async_trait]
impl WalAdmin for NoWal {
    fn garbage_collector(&self, _path: &Path) -> Arc<dyn WalGc> {
        Arc::new(NoWal)
    }

    async fn delete_wal(&self, _path: &Path, _dry_run: bool) -> Result<Vec<String>, WalError> {
        Ok(Vec::new())
    }

    async fn is_empty(&self, _path: &Path, _after: u64, _last: u64) -> Result<bool, WalError> {
        Ok(true)
    }

    /// The clone's own records begin at 1.
    async fn clone_wal(
        &self,
        _from: &Path,
        _manifest: VersionedManifest,
        _to: &Path,
    ) -> Result<(u64, u64), WalError> {
        Ok((0, 0))
    }
}

#[async_trait]
impl WalGc for NoWal {
    async fn collect(
        &self,
        _referenced: Vec<WalFileRange>,
        _min_age: Duration,
        _dry_run: bool,
    ) -> Result<(), WalError> {
        Ok(())
    }
}
