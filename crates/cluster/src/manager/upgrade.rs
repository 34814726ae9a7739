//! The version of the cluster: which one is active, and when the next one becomes active.
//!
//! ```text
//!  registry: active 1 ─▶ next 2: a server that does not support 2 cannot join ─▶ list the servers: all support 2
//!      ─▶ store: version 2, the point of no return ─▶ registry: active 2, all servers write it
//! ```
//!
//! The store has the version, because the registry may lose its data. Each server compares itself with the store before it
//! joins. Another manager completes an interrupted step: it finds `next` in the registry, or a greater version in the store.

use crate::error::error_chain;
use crate::version_store::{VersionStore, VersionStoreError};
use parking_lot::Mutex;
use partita_coordinator::{ClusterVersion, Revision, Table, Term, TermError, VersionRecord};
use partita_rt::Clock;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Why the next version was not made active.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FinalizeRefused {
    /// No server supports a later version.
    #[error("there is nothing to finalize: no server supports a cluster version after {0}")]
    Nothing(ClusterVersion),
    /// Some servers do not support the next version.
    #[error(
        "cluster version {next} cannot be finalized, because these servers do not support it: {}; upgrade them or stop them first",
        servers.join(", ")
    )]
    Unable {
        /// The next version.
        next: ClusterVersion,
        /// The names of the servers, each with the version of its program.
        servers: Vec<String>,
    },
    /// The registry or the store failed, or the term is over. The manager completes what it has begun.
    #[error("cannot finalize the cluster version: {0}")]
    Failed(Arc<str>),
}

impl From<TermError> for FinalizeRefused {
    fn from(error: TermError) -> Self {
        Self::Failed(error_chain(&error))
    }
}

impl From<VersionStoreError> for FinalizeRefused {
    fn from(error: VersionStoreError) -> Self {
        Self::Failed(error_chain(&error))
    }
}

/// Raises the version of the cluster, for the elected manager.
#[derive(Debug)]
pub(crate) struct Upgrade {
    term: Arc<Term>,
    store: VersionStore,
    clock: Arc<dyn Clock>,
    /// How long all servers must have supported the next version before it becomes active without a request.
    after: Duration,
    /// One call at a time changes the version.
    changing: Semaphore,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The version that the store has at least; nothing before it was read.
    stored: Option<ClusterVersion>,
    /// Since when all servers support this version, which follows the active one.
    able: Option<(ClusterVersion, Instant)>,
    /// The last failure, which is logged once.
    reported: String,
}

impl Upgrade {
    pub(crate) fn new(
        term: Arc<Term>,
        store: VersionStore,
        clock: Arc<dyn Clock>,
        after: Duration,
    ) -> Self {
        Self {
            term,
            store,
            clock,
            after,
            changing: Semaphore::new(1),
            known: Mutex::default(),
        }
    }

    /// Makes the version after the active one active, if all servers support it. Returns it.
    ///
    /// # Errors
    /// [`FinalizeRefused`].
    pub(crate) async fn finalize(&self) -> Result<ClusterVersion, FinalizeRefused> {
        let active = self.term.table().await.map_err(TermError::from)?;
        let next = active.active_version().next();
        self.raise(next).await?;
        tracing::info!(version = next.0, "finalized the version of the cluster");
        Ok(next)
    }

    /// Completes what another manager has begun, and raises the version once all servers have supported the next one for
    /// long enough. `table` may be behind.
    pub(crate) async fn tick(&self, table: &Table) {
        let error = match self.try_tick(table).await {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        let mut known = self.known.lock();
        if error != known.reported && !error.is_empty() {
            tracing::warn!(%error, "the version of the cluster is not the intended one; retrying");
        }
        known.reported = error;
    }

    async fn try_tick(&self, table: &Table) -> Result<(), FinalizeRefused> {
        let stored = self.stored().await?;
        let version = table.version().map(|key| key.record);
        match version {
            Some(VersionRecord {
                next: Some(next), ..
            }) => self.raise(next.max(stored)).await,
            Some(VersionRecord { active, .. }) if active >= stored => {
                let next = active.next();
                if self.is_due(table, next) {
                    self.raise(next).await?;
                    let after = self.after;
                    tracing::info!(
                        version = next.0,
                        ?after,
                        "all servers have supported the next version of the cluster for long enough: finalized it"
                    );
                }
                Ok(())
            }
            // New, or lost with the data of the registry.
            Some(_) | None => self.raise(stored).await,
        }
    }

    /// Whether all servers have supported a version for long enough.
    fn is_due(&self, table: &Table, next: ClusterVersion) -> bool {
        let mut known = self.known.lock();
        if table.servers().is_empty() || !table.unable(next).is_empty() {
            known.able = None;
            return false;
        }
        let now = self.clock.monotonic();
        match known.able {
            Some((version, since)) if version == next => {
                now.saturating_duration_since(since) >= self.after
            }
            _ => {
                known.able = Some((next, now));
                false
            }
        }
    }

    /// The version of the store, which only this manager raises.
    async fn stored(&self) -> Result<ClusterVersion, VersionStoreError> {
        let stored = self.known.lock().stored;
        match stored {
            Some(stored) => Ok(stored),
            None => {
                let stored = self.store.version().await?;
                self.known.lock().stored = Some(stored);
                Ok(stored)
            }
        }
    }

    /// Makes a version active, if all servers support it. Not cancel safe: it may be completed by a later tick.
    async fn raise(&self, to: ClusterVersion) -> Result<(), FinalizeRefused> {
        let changing = self.changing.acquire().await;
        let _changing = changing.expect("the semaphore is never closed");
        let is_stored = self.stored().await? >= to;
        loop {
            let table = self.term.table().await.map_err(TermError::from)?;
            let (seen, record) = match table.version() {
                Some(key) if key.record.active >= to => return Ok(()),
                Some(key) => (key.revision, key.record),
                None => (Revision(0), VersionRecord::default()),
            };
            let active = record.active;
            let checked = check_servers(&table, to);
            #[cfg(feature = "planted-bugs")]
            let checked = match partita_engine::planted::is_active("cluster-finalizes-early") {
                true => Ok(()),
                false => checked,
            };
            if let Err(refused) = checked {
                if record.next.is_some() {
                    let without = VersionRecord { active, next: None };
                    self.term.set_version(seen, without).await?;
                }
                return Err(refused);
            }
            // Every server that could join since the listing supports the version.
            if is_stored || record.next == Some(to) {
                self.store.record(to).await?;
                self.known.lock().stored = Some(to);
                let raised = VersionRecord {
                    active: to,
                    next: None,
                };
                self.term.set_version(seen, raised).await?;
                return Ok(());
            }
            let next = Some(to);
            self.term
                .set_version(seen, VersionRecord { active, next })
                .await?;
        }
    }
}

/// Refuses a version that a living server does not support.
fn check_servers(table: &Table, to: ClusterVersion) -> Result<(), FinalizeRefused> {
    let unable = table.unable(to);
    if unable.is_empty() {
        return Ok(());
    }
    if unable.len() == table.servers().len() {
        return Err(FinalizeRefused::Nothing(table.active_version()));
    }
    let described = unable.into_iter().map(|name| {
        let server = table.servers().get(name);
        let program = server.map_or("", |server| &server.record.info.version);
        format!("{name} (partita {program})")
    });
    Err(FinalizeRefused::Unable {
        next: to,
        servers: described.collect(),
    })
}
