//! Two releases of the program: the second one supports the next cluster version too.

use std::sync::Arc;

use anyhow::bail;
use partita_coordinator::{MemoryRegistry, Registry, Routes, Table, Versions};
use partita_rt::Tasks;

use super::DURATION_MAX;

/// A release of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// It supports the first cluster version.
    Old,
    /// It supports the first two.
    New,
}

impl Release {
    pub(super) fn versions(self) -> Versions {
        let newest = match self {
            Self::Old => 1,
            Self::New => 2,
        };
        Versions::new(1, newest).unwrap_or(Versions::OWN)
    }

    /// The release that an operator installs next: mostly the new one, sometimes the old one again.
    pub(super) fn next(self, random: &mut fastrand::Rng) -> Self {
        match (self, random.u32(..4)) {
            (Self::New, 0) => Self::Old,
            _ => Self::New,
        }
    }
}

/// Runs until a server is a member of the cluster that does not support its active version.
///
/// # Errors
/// There is such a server.
pub(super) async fn watch(registry: MemoryRegistry) -> anyhow::Result<()> {
    let tasks = Tasks::new();
    let registry: Arc<dyn Registry> = Arc::new(registry);
    let routes = Routes::follow(registry, &tasks);
    let is_mixed = |table: &Table| !table.unable(table.active_version()).is_empty();
    if let Some(table) = routes.wait_for(DURATION_MAX, is_mixed).await {
        let active = table.active_version();
        let unable = table.unable(active).join(", ");
        bail!("the cluster has version {active}, which these servers do not support: {unable}");
    }
    Ok(())
}
