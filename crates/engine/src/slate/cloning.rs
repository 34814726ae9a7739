//! Databases cloned from parts of others, without copying rows.
//!
//! A clone is a SlateDB clone: its manifest names files of its sources and the visible key range of each. A source
//! keeps a checkpoint for each of its clones, so that garbage collection keeps its files. Once compaction has rewritten
//! all rows that a clone reads from a source, the clone's garbage collection removes that checkpoint (the clone
//! *detaches*), and a source without checkpoints can be removed ([`super::removal`]).
//!
//! A clone interrupted by a crash is cloned again or removed.

use std::ops::Bound;
use std::time::Duration;

use bytes::Bytes;
use slatedb::CheckpointCreateResult;
use slatedb::admin::CloneSourceSpec;
use slatedb::config::CheckpointOptions;

use super::admin::admin;
use super::core::Core;
use super::names::database_path;
use super::{FLUSH_DEADLINE, store_error};
use crate::{ChangeError, KeyPart, RangeId};

/// The lifetime of the temporary checkpoint for a clone operation: longer than the operation. The clone itself gets
/// permanent checkpoints. The temporary one is left to expire, because deleting it would delay waiting writes.
const CHECKPOINT_LIFETIME: Duration = Duration::from_secs(60);

/// Clones parts of open databases into a new database for `target`.
pub(super) async fn clone_parts(
    core: &Core,
    target: RangeId,
    parts: &[KeyPart],
) -> Result<(), ChangeError> {
    if core.open_range(target).is_some() {
        return Err(ChangeError::State(target));
    }
    let mut sources = Vec::with_capacity(parts.len());
    for part in parts {
        ensure_flushed(core, part.source).await?;
        let made = checkpoint(core, part.source, CHECKPOINT_LIFETIME).await?;
        let source = CloneSourceSpec::with_checkpoint(database_path(part.source), made.id);
        let range: (Bound<Bytes>, Bound<Bytes>) =
            (part.range.start.clone(), part.range.end.clone());
        sources.push(source.with_projection_range(range));
    }
    let mut sources = sources.into_iter();
    let first = sources.next().ok_or(ChangeError::State(target))?;
    let builder = admin(core, target).create_clone_builder_from_source(first);
    let builder = sources.fold(builder, |builder, source| builder.with_source(source));
    builder.build().await.map_err(store_error)?;
    core.context.known.lock().insert(target);
    Ok(())
}

/// Protects the current files of a range from garbage collection for `lifetime`.
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
    made.map_err(store_error)
}

/// Flushes an open range, unless all its rows are in files already.
async fn ensure_flushed(core: &Core, range: RangeId) -> Result<(), ChangeError> {
    let open = core.open_range(range).ok_or(ChangeError::State(range))?;
    let (Some(database), Some(wal)) = (open.database(), core.wal()) else {
        return Err(ChangeError::Unavailable);
    };
    // After a failed write a database closes itself. Its rows in memory may then differ from the WAL, so it is not
    // cloned.
    if database.is_closed() {
        return Err(ChangeError::Unavailable);
    }
    if wal.is_flushed(range, database.stored_up_to(&core.context).await) {
        return Ok(());
    }
    let flushing = tokio::time::timeout(FLUSH_DEADLINE, database.flush());
    let flushed = flushing.await.map_err(|_elapsed| ChangeError::Late)?;
    flushed.map_err(store_error)
}
