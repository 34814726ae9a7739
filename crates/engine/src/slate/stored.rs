//! Reads the databases, the WAL records and the trash of a store: for the check at startup, and for a check of a closed
//! store.

use std::sync::Arc;

use futures::StreamExt;
use partita_rt::store_layer::Layered;
use slatedb::VersionedManifest;
use slatedb::object_store::ObjectStore;
use slatedb_common::{DefaultSystemClock, SystemClock};

use super::core::Core;
use super::manifest_store::ManifestStore;
use super::{admin, file_layout, trash, within_store_deadline};
use crate::{ChangeError, RangeId, StoredDatabase, StoredFiles, StoredRanges};

/// The databases and the trash of an open store, and the ranges with WAL records that are not replayed yet.
pub(super) async fn read(core: &Core) -> Result<StoredRanges, ChangeError> {
    let mut stored = read_store(&core.context.home.store, &admin::clock(core)).await?;
    if let Some(wal) = core.wal() {
        stored.logged = wal.wal.recovered_ranges();
    }
    Ok(stored)
}

/// The databases and the trash of a closed store. Changes nothing, and leaves out the WAL.
///
/// # Errors
/// [`ChangeError`].
pub async fn stored_ranges(store: Arc<dyn ObjectStore>) -> Result<StoredRanges, ChangeError> {
    let clock: Arc<dyn SystemClock> = Arc::new(DefaultSystemClock::new());
    let store: Arc<dyn ObjectStore> = Arc::new(Layered(ManifestStore::new(store)));
    within_store_deadline(read_store(&store, &clock)).await
}

async fn read_store(
    store: &Arc<dyn ObjectStore>,
    clock: &Arc<dyn SystemClock>,
) -> Result<StoredRanges, ChangeError> {
    let ranges = admin::list(store).await?;
    let mut databases = Vec::with_capacity(ranges.len());
    let mut reading = admin::manifests(store, clock, ranges);
    while let Some((range, manifest)) = reading.next().await {
        let files = files(manifest);
        databases.push(StoredDatabase { range, files });
    }
    databases.sort_unstable_by_key(|database| database.range);
    let mut trashed: Vec<RangeId> = trash::entries(store)
        .await?
        .into_iter()
        .map(|entry| entry.range)
        .collect();
    trashed.sort_unstable();
    trashed.dedup();
    Ok(StoredRanges {
        databases,
        logged: Vec::new(),
        trashed,
    })
}

fn files(manifest: Result<Option<VersionedManifest>, ChangeError>) -> StoredFiles {
    match manifest {
        Ok(Some(manifest)) => StoredFiles::Keys(file_layout::key_ranges(&manifest)),
        Ok(None) => StoredFiles::NoManifest,
        Err(error) => StoredFiles::Unreadable(error.to_string().into()),
    }
}
