//! The end of a process of a cluster: after a failure of its WAL or of a database it serves nothing more.
//!
//! It does not open its databases again, as a process does whose store is its own: meanwhile another process may have
//! taken over the ranges, and must not be fenced. The process is started again, and gets ranges like a new one.

use std::sync::Arc;
use std::time::Duration;

use partita_wal::{OpenWalError, Resume};

use super::core::Core;
use crate::RangeId;

/// How long the store is asked who has taken over the log. The store may be what failed.
const REASON_DEADLINE: Duration = Duration::from_secs(2);

/// Refuses all calls from now on, says why, and closes the databases. `fenced` is a range whose database another
/// process has opened.
pub(super) async fn retire(core: &Core, fenced: Option<RangeId>) {
    if let Some(wal) = core.wal() {
        wal.wal.poison();
    }
    let reason = reason(core, fenced).await;
    tracing::error!(%reason, "stopped serving");
    core.fence(reason);
    let _changes = core.lock_all_changes().await;
    core.wal.write().take();
    for open in core.open_ranges() {
        if let Some(database) = open.take_database() {
            database.close().await;
            core.context.damage.clear(database.range);
        }
    }
}

async fn reason(core: &Core, fenced: Option<RangeId>) -> Arc<str> {
    let opening = core.context.home.wal.open(Resume::AfterFailure);
    let refused = tokio::time::timeout(REASON_DEADLINE, opening).await;
    match (refused, fenced) {
        (Ok(Err(error @ OpenWalError::Fenced { .. })), _) => error.to_string().into(),
        (_, Some(range)) => {
            format!("another server has opened the database of range {range}").into()
        }
        (Ok(Err(error @ OpenWalError::Ended { .. })), None) => error.to_string().into(),
        (_, None) => "a write to the store failed".into(),
    }
}
