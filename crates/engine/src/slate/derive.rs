//! Databases made from pieces of others, and their removal.
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
use futures::TryStreamExt;
use slatedb::admin::{Admin, AdminBuilder, CloneSourceSpec};
use slatedb::config::CheckpointOptions;
use slatedb::object_store::path::Path;
use slatedb::wal::{WalAdmin, WalError, WalFileRange, WalGc};
use slatedb::{CheckpointCreateResult, VersionedManifest};

use super::core::Core;
use super::open::{DATABASE_PREFIX, database_path};
use super::{FLUSH_DEADLINE, Opened, pin, settings, shape};
use crate::{ChangeError, Collected, Piece, RangeId, Removal};

/// How long the checkpoint lives under which a clone is made; the clone makes lasting ones. Longer than making it can take. Nobody
/// takes it away: writes are waiting, and it ends by itself.
const CHECKPOINT_LIFETIME: Duration = Duration::from_secs(60);

pub(super) async fn derive(
    core: &Core,
    target: RangeId,
    pieces: &[Piece],
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
    let (Some(opened), Some(journal)) = (slot.opened(), core.journal()) else {
        return Err(ChangeError::Unavailable);
    };
    // One that closed itself may have a write that failed and is there all the same, of which the log's marks say nothing.
    if opened.db.status().close_reason.is_some() {
        return Err(ChangeError::Unavailable);
    }
    if journal.is_settled(range, opened.flushed()) {
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
    if let Some(manifest) = admin.read_manifest(None).await.map_err(refused)?
        && is_needed(core, range, &manifest).await?
    {
        return Ok(Removal::Needed);
    }
    admin.delete_db(true).await.map_err(refused)?;
    let (data, journal) = (Arc::clone(&core.data), core.journal());
    let forgetting = tokio::task::spawn_blocking(move || {
        if let Some(journal) = journal {
            journal.forget(range);
        }
        data.remove_empty_folders(&database_path(range))
    });
    forgetting.await.map_err(refused)?.map_err(refused)?;
    Ok(Removal::Gone)
}

/// Whether somebody still reads its files. Checkpoints with an end are those of clones being made, which have made a lasting one or
/// were given up, and those that an operator asked for, which end with their range. A lasting one is a pin, or that of a clone,
/// and then the clone names it.
async fn is_needed(
    core: &Core,
    range: RangeId,
    manifest: &VersionedManifest,
) -> Result<bool, ChangeError> {
    let lasting = manifest.checkpoints().iter();
    let lasting: Vec<_> = lasting.filter(|it| it.expire_time.is_none()).collect();
    if lasting.is_empty() {
        return Ok(false);
    }
    if lasting.iter().any(|checkpoint| pin::is_pin(checkpoint)) {
        return Ok(true);
    }
    let path = database_path(range).to_string();
    for other in list(core).await? {
        let Some(other) = admin(core, other)
            .read_manifest(None)
            .await
            .map_err(refused)?
        else {
            continue;
        };
        let mut shared = other.external_dbs().iter().filter(|db| db.path == path);
        if shared.any(|db| {
            lasting
                .iter()
                .any(|it| Some(it.id) == db.final_checkpoint_id)
        }) {
            return Ok(true);
        }
    }
    // A clone that was removed while the process was killed can leave its checkpoint behind.
    let left: Vec<_> = lasting.iter().map(|checkpoint| checkpoint.id).collect();
    tracing::info!(%range, ?left, "nobody reads the files of an old database, though checkpoints are left");
    Ok(false)
}

/// The ranges that have a database, whole or in part, in ascending order.
pub(super) async fn list(core: &Core) -> Result<Vec<RangeId>, ChangeError> {
    let store = core.data.store();
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
    let flushed = shape::newest_flushed(&manifest);
    let used: HashSet<String> = manifest
        .all_sst_views()
        .map(|view| view.sst.id.value().to_string())
        .collect();
    let folder = Path::from(database_path(opened.range)).join("compacted");
    let mut files = core.data.store().list(Some(&folder));
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
    AdminBuilder::new(database_path(range), core.data.store())
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
