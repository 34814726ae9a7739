//! Deleting the logs of dead processes.

use partita_coordinator::Table;
use partita_engine::{EngineSet, LogNumber};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long a log must be needed by no range before it is deleted. A process that has begun its log joins the cluster
/// within this time.
const UNNEEDED_FOR: Duration = Duration::from_secs(60);

/// Since when each log is needed by no range and no living server.
#[derive(Debug, Default)]
pub(crate) struct OldLogs(BTreeMap<LogNumber, Instant>);

impl OldLogs {
    /// Deletes the logs that were not needed for a while. `read_again` reads the registry, after the logs were sealed: a
    /// process that was only slow may have begun to use its log. From the seal on it acknowledges nothing, so what it
    /// acknowledged before is in a log that the registry names. `None`: no log is deleted.
    pub(crate) async fn collect(
        &mut self,
        engines: &dyn EngineSet,
        table: &Table,
        now: Instant,
        read_again: impl Future<Output = Option<Table>>,
    ) {
        let needed = needed(table);
        let logs = match engines.uncollected_logs().await {
            Ok(logs) => logs,
            Err(error) => return tracing::debug!(%error, "cannot list the logs of the store"),
        };
        self.0
            .retain(|log, _| logs.contains(log) && !needed.contains(log));
        let mut old = Vec::new();
        for log in logs.into_iter().filter(|log| !needed.contains(log)) {
            let since = *self.0.entry(log).or_insert(now);
            if now.saturating_duration_since(since) >= UNNEEDED_FOR {
                old.push(log);
            }
        }
        if old.is_empty() {
            return;
        }
        if let Err(error) = engines.seal_logs(&old).await {
            return tracing::warn!(%error, "cannot seal the logs of dead servers");
        }
        let Some(table) = read_again.await else {
            return;
        };
        let needed = self::needed(&table);
        old.retain(|log| !needed.contains(log));
        match engines.collect_logs(&old).await {
            Ok(()) => tracing::info!(logs = old.len(), "deleted the logs of dead servers"),
            Err(error) => tracing::warn!(%error, "cannot delete the logs of dead servers"),
        }
    }
}

/// The logs that ranges need, and those of living servers.
fn needed(table: &Table) -> BTreeSet<LogNumber> {
    let of_ranges = table.ranges().values().flat_map(|key| &key.record.logs);
    let of_servers = table.servers().values();
    let of_servers = of_servers.filter_map(|server| server.record.info.log.as_ref());
    let needed = of_ranges.chain(of_servers);
    needed.map(|log| LogNumber(log.0)).collect()
}
