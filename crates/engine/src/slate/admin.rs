//! The databases in the store, open or closed: their names and manifests.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{Stream, StreamExt};
use slatedb::VersionedManifest;
use slatedb::admin::{Admin, AdminBuilder};
use slatedb::object_store::ObjectStore;
use slatedb::object_store::path::Path;
use slatedb::wal::{WalAdmin, WalError, WalFileRange, WalGc};
use slatedb_common::SystemClock;

use super::core::Core;
use super::names::{DATABASE_PREFIX, database_path};
use super::newest_manifest::newest_manifest;
use super::store_error;
use crate::{ChangeError, RangeId};

/// How many manifests are read at the same time: several, because an object store has a long latency.
const MANIFESTS_AT_ONCE: usize = 8;

/// SlateDB's administration of a range's database.
pub(super) fn admin(core: &Core, range: RangeId) -> Admin {
    admin_of(
        &core.context.home.store,
        &clock(core),
        &database_path(range),
    )
}

/// The clock of all databases.
pub(super) fn clock(core: &Core) -> Arc<dyn SystemClock> {
    core.context.clock.clone()
}

/// SlateDB's administration of the database in a folder of the store.
pub(super) fn admin_of(
    store: &Arc<dyn ObjectStore>,
    clock: &Arc<dyn SystemClock>,
    folder: &str,
) -> Admin {
    AdminBuilder::new(folder.to_owned(), Arc::clone(store))
        .with_wal_admin(Arc::new(NoWal))
        .with_system_clock(Arc::clone(clock))
        .build()
}

/// The ranges that have a database, whole or in part, in ascending order.
pub(super) async fn list(store: &Arc<dyn ObjectStore>) -> Result<Vec<RangeId>, ChangeError> {
    let found = store.list_with_delimiter(None).await;
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
    store: &Arc<dyn ObjectStore>,
    clock: &Arc<dyn SystemClock>,
    ranges: Vec<RangeId>,
) -> impl Stream<Item = (RangeId, Result<Option<VersionedManifest>, ChangeError>)> + Unpin {
    let reads = ranges.into_iter().map(async |range| {
        let manifest = newest_manifest(store, clock, &database_path(range)).await;
        (range, manifest)
    });
    let reading = futures::stream::iter(reads).buffer_unordered(MANIFESTS_AT_ONCE);
    Box::pin(reading)
}

/// An empty WAL for SlateDB's administration, which needs no other: a source is flushed before it is cloned, and
/// Partita's WAL removes its own segments.
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
