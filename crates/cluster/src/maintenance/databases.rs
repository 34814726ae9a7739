//! Removing databases. Which ones, and when, the controller decides.

use crate::controller::Removed;
use partita_engine::{ChangeError, EngineSet, Removal};
use partita_range::RangeId;

/// Removes databases one after the other, until the store is too slow. The caller holds the change lock.
pub(crate) async fn remove(engines: &dyn EngineSet, databases: &[RangeId]) -> Removed {
    let mut removed = Removed::default();
    for database in databases {
        match engines.remove(*database).await {
            Ok(Removal::Gone) => removed.gone.push(*database),
            Ok(Removal::Needed) => {}
            Err(error) => {
                tracing::debug!(%error, %database, "cannot delete a database; maintenance will retry");
                removed.late = matches!(error, ChangeError::Late);
                if removed.late {
                    break;
                }
            }
        }
    }
    removed
}

/// The databases in the store.
pub(crate) async fn list(engines: &dyn EngineSet) -> Option<Vec<RangeId>> {
    let listed = engines.list().await;
    listed
        .inspect_err(|error| tracing::debug!(%error, "cannot list the databases"))
        .ok()
}

/// Those of some databases that nothing reads. Takes seconds with hundreds of them, and needs no lock: removal looks again.
pub(crate) async fn removable(
    engines: &dyn EngineSet,
    databases: &[RangeId],
) -> Option<Vec<RangeId>> {
    let removable = engines.removable(databases).await;
    removable
        .inspect_err(|error| {
            tracing::debug!(%error, "cannot find out which databases can be deleted");
        })
        .ok()
}
