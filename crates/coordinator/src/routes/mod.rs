//! A copy of all keys, kept current by a watch: which server owns which key, who is alive, who is the manager.
//!
//! A copy is always some revision behind. That is harmless: an owner refuses requests for ranges that it does not serve,
//! and every transaction compares revisions. A request that was refused because the copy is too old waits with
//! [`Routes::reached`].

mod table;

use std::sync::Arc;
use std::time::Duration;

use partita_rt::Tasks;
use tokio::sync::watch;

use crate::registry::{Registry, RegistryError, Revision, WatchEvent};

pub use table::{Stored, Table};

/// The pause after the registry failed.
const PAUSE: Duration = Duration::from_millis(100);

/// The current table. Clones share it; the task that follows the registry ends with the last clone, or at the shutdown
/// of its tasks.
#[derive(Clone, Debug)]
pub struct Routes {
    newest: watch::Receiver<Arc<Table>>,
}

impl Routes {
    /// Starts to follow the registry. Needs a tokio runtime. The table is empty until the first reading.
    #[must_use]
    pub fn follow(registry: Arc<dyn Registry>, tasks: &Tasks) -> Self {
        let (sender, newest) = watch::channel(Arc::default());
        let shutdown = tasks.shutdown();
        tasks.spawn("routes", async move {
            tokio::select! {
                () = shutdown.requested() => {}
                () = follow(&*registry, &sender) => {}
                () = sender.closed() => {}
            }
        });
        Self { newest }
    }

    /// The table as it is now.
    #[must_use]
    pub fn current(&self) -> Arc<Table> {
        Arc::clone(&self.newest.borrow())
    }

    /// Waits at most `patience` for a table for which `accept` is true. Cancel safe.
    pub async fn wait_for(
        &self,
        patience: Duration,
        mut accept: impl FnMut(&Table) -> bool,
    ) -> Option<Arc<Table>> {
        let mut newest = self.newest.clone();
        let found = newest.wait_for(|table| accept(table));
        let found = tokio::time::timeout(patience, found).await.ok()?.ok()?;
        Some(Arc::clone(&found))
    }

    /// Waits until the table is another one than at this call, for ever if nothing follows the registry any more. Cancel
    /// safe.
    pub fn changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut newest = self.newest.clone();
        newest.mark_unchanged();
        async move {
            if newest.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }

    /// Waits at most `patience` for a table of this revision or a later one. Cancel safe.
    pub async fn reached(&self, revision: Revision, patience: Duration) -> Option<Arc<Table>> {
        self.wait_for(patience, |table| table.revision() >= revision)
            .await
    }
}

/// Publishes a table for each change, for ever.
async fn follow(registry: &dyn Registry, sender: &watch::Sender<Arc<Table>>) {
    let mut reported = None;
    loop {
        match follow_once(registry, sender).await {
            Ok(why) => {
                reported = None;
                tracing::info!(why, "the routes are read anew");
            }
            Err(error) => {
                // Once, not ten times a second while the registry is down.
                if reported.as_ref() != Some(&error) {
                    tracing::warn!(%error, "cannot read the routes; retrying");
                    reported = Some(error);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Reads the table and follows it until the watch is over. Never resumes a watch: revisions that a registry gave before
/// it lost its data mean nothing after.
async fn follow_once(
    registry: &dyn Registry,
    sender: &watch::Sender<Arc<Table>>,
) -> Result<&'static str, RegistryError> {
    let mut table = Table::read(registry).await?;
    let mut watch = registry.watch("", Revision(table.revision().0 + 1)).await?;
    loop {
        sender.send_replace(Arc::new(table.clone()));
        match watch.next().await {
            WatchEvent::Changed(revision, changes) => table.apply(revision, changes),
            WatchEvent::Compacted => return Ok("the history was compacted"),
            WatchEvent::Lost => return Ok("the connection was lost"),
        }
    }
}
