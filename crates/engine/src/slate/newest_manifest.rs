//! Reads the newest manifest of a database. Its number must not be lower than the one in the database's *witness*, an
//! object with a lower bound of the newest manifest's number ([`manifest_store`]).

use std::sync::Arc;

use slatedb::VersionedManifest;
use slatedb::admin::AdminBuilder;
use slatedb::object_store::ObjectStore;
use slatedb_common::SystemClock;

use super::manifest_store::{self, FoundWitness};
use super::store_error;
use crate::ChangeError;

/// The newest manifest of the database in a folder of the store; `None` if it has no manifest. `store` verifies the
/// checksums of manifests.
///
/// # Errors
/// The manifest cannot be read, or a newer one is missing.
pub(super) async fn newest_manifest(
    store: &Arc<dyn ObjectStore>,
    clock: &Arc<dyn SystemClock>,
    folder: &str,
) -> Result<Option<VersionedManifest>, ChangeError> {
    // Reads the witness first. It is written after its manifest, so the manifest that it names exists by then.
    let witness = manifest_store::witness(&**store, folder).await;
    let witness = witness.map_err(store_error)?;
    let admin = AdminBuilder::new(folder.to_owned(), Arc::clone(store))
        .with_system_clock(Arc::clone(clock))
        .build();
    let manifest = admin.read_manifest(None).await.map_err(store_error)?;
    if let (FoundWitness::Found(witness), Some(manifest)) = (witness, &manifest)
        && manifest.id() < witness.newest
    {
        let missing = manifest_store::manifest_path(folder, witness.newest);
        let found = manifest.id();
        let problem = format!("it is missing, and the newest manifest that exists is {found}");
        return Err(store_error(manifest_store::unusable(&missing, &problem)));
    }
    Ok(manifest)
}
