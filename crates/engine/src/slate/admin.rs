//! The databases in the store, open or closed: their names, manifests and times.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{Stream, StreamExt, future};
use slatedb::admin::{Admin, AdminBuilder};
use slatedb::object_store::path::Path;
use slatedb::wal::{WalAdmin, WalError, WalFileRange, WalGc};
use slatedb::{VersionedCompactions, VersionedManifest};

use super::context::Context;
use super::core::Core;
use super::database::{DATABASE_PREFIX, database_path};
use super::store_error;
use crate::{ChangeError, RangeId};

/// How many manifests are read at the same time: an object store has a long latency.
const MANIFESTS_AT_ONCE: usize = 8;

/// SlateDB's administration of a range's database.
pub(super) fn admin(core: &Core, range: RangeId) -> Admin {
    admin_in(&core.context, range)
}

fn admin_in(context: &Context, range: RangeId) -> Admin {
    AdminBuilder::new(database_path(range), Arc::clone(&context.home.store))
        .with_wal_admin(Arc::new(NoWal))
        .with_system_clock(Arc::clone(&context.clock) as _)
        .build()
}

/// Moves the clock past all times that the files of a database hold, before the database is opened: SlateDB refuses to
/// write an earlier time. Rows that are only in the WAL follow when they are replayed. A missing database has no times.
pub(super) async fn pass_stored_times(
    context: &Context,
    range: RangeId,
) -> Result<(), slatedb::Error> {
    let admin = admin_in(context, range);
    let (manifest, compactions) =
        future::try_join(admin.read_manifest(None), admin.read_compactions(None)).await?;
    let newest = manifest.iter().flat_map(times_of_manifest);
    let newest = newest.chain(compactions.iter().flat_map(times_of_compactions));
    if let Some(newest) = newest.max() {
        context.clock.pass(newest);
    }
    Ok(())
}

/// The times of the rows in files, and of the files: a file name is a ULID, which starts with a time. In milliseconds
/// since 1970.
fn times_of_manifest(manifest: &VersionedManifest) -> impl Iterator<Item = i64> {
    let files = manifest.all_sst_views();
    let names = files.flat_map(|view| [view.id, view.sst.id.value()]);
    let compacted = [
        manifest.last_compacted_l0_sst_id(),
        manifest.last_compacted_l0_sst_view_id(),
    ];
    let names = names.chain(compacted.into_iter().flatten());
    std::iter::once(manifest.last_l0_clock_tick())
        .chain(names.map(|name| signed(name.timestamp_ms())))
}

/// The times of compaction jobs: their names, and the last signs of life of their workers.
fn times_of_compactions(compactions: &VersionedCompactions) -> impl Iterator<Item = i64> {
    compactions.recent_compactions().flat_map(|job| {
        let alive = job.worker().map(|worker| worker.last_heartbeat_ms);
        [Some(job.id().timestamp_ms()), alive]
            .into_iter()
            .flatten()
            .map(signed)
    })
}

fn signed(time_ms: u64) -> i64 {
    i64::try_from(time_ms).unwrap_or(i64::MAX)
}

/// The ranges that have a database, whole or in part, in ascending order.
pub(super) async fn list(core: &Core) -> Result<Vec<RangeId>, ChangeError> {
    let found = core.context.home.store.list_with_delimiter(None).await;
    let mut ranges: Vec<RangeId> = found
        .map_err(store_error)?
        .common_prefixes
        .iter()
        .filter_map(|path| path.as_ref().strip_prefix(DATABASE_PREFIX)?.parse().ok())
        .map(RangeId)
        .collect();
    ranges.sort_unstable();
    Ok(ranges)
}

/// The newest manifest of each database, in any order; `None` if the manifest is missing. Reads several at the same
/// time.
pub(super) fn manifests(
    core: &Core,
    ranges: Vec<RangeId>,
) -> impl Stream<Item = (RangeId, Result<Option<VersionedManifest>, ChangeError>)> + Unpin {
    let reads = ranges.into_iter().map(async |range| {
        let manifest = admin(core, range).read_manifest(None).await;
        (range, manifest.map_err(store_error))
    });
    let reading = futures::stream::iter(reads).buffer_unordered(MANIFESTS_AT_ONCE);
    Box::pin(reading)
}

/// An empty WAL for SlateDB's administration. A source is flushed before it is cloned, and Partita's WAL removes its
/// own segments.
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

    /// The records of a clone start at number 1.
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
