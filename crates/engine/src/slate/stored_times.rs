//! The times that the files of a database hold.

use std::sync::Arc;

use futures::future;
use slatedb::admin::AdminBuilder;
use slatedb::{VersionedCompactions, VersionedManifest};
use slatedb_common::SystemClock;

use super::context::Context;
use super::newest_manifest::newest_manifest;
use super::store_clock::StoreClock;
use super::store_error;
use crate::ChangeError;

/// Moves the clock past all times that the files of a database hold, before the database is opened: SlateDB refuses to
/// write an earlier time. The times of rows that are only in the WAL are passed when they are replayed. A missing
/// database has no times. Returns its newest manifest.
///
/// # Errors
/// The newest manifest is damaged or missing, or the store failed.
pub(super) async fn pass_stored_times(
    context: &Context,
    database: String,
) -> Result<Option<VersionedManifest>, ChangeError> {
    let store = Arc::clone(&context.home.store);
    let clock = Arc::clone(&context.clock) as Arc<dyn SystemClock>;
    let admin = AdminBuilder::new(database.clone(), Arc::clone(&store))
        .with_system_clock(Arc::clone(&clock))
        .build();
    let reading = async { admin.read_compactions(None).await.map_err(store_error) };
    let (manifest, compactions) =
        future::try_join(newest_manifest(&store, &clock, &database), reading).await?;
    let newest = manifest.iter().flat_map(times_of_manifest);
    let newest = newest.chain(compactions.iter().flat_map(times_of_compactions));
    if let Some(newest) = newest.max() {
        context.clock.pass(newest);
    }
    Ok(manifest)
}

/// Moves the clock past all times that the files of a manifest hold.
pub(super) fn pass_times_of(manifest: &VersionedManifest, clock: &StoreClock) {
    if let Some(newest) = times_of_manifest(manifest).max() {
        clock.pass(newest);
    }
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

/// The times of compaction jobs: their names, and the last heartbeats of their workers.
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
