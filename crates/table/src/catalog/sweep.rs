//! Removes the rows of dropped tables in the background.
//!
//! A write that looked up its table just before the deletion may commit after it. The row is invisible, because the
//! catalog no longer has the table's id, but it takes space. So the sweep keeps the record of a dropped table, and
//! looks for rows again, until every request from before the deletion has ended.

use super::record::DroppedRecord;
use super::table_walk::{TableWalk, remove_keys};
use super::{CHUNK_BYTES, CHUNK_ROWS};
use crate::{Error, Service};
use bytes::Bytes;
use partita_engine::{KeyRange, ScanHint};
use partita_model::{KeyKind, KeyReader, TableId, TableSpace};
use partita_rt::Shutdown;
use partita_service::decode_record;
use std::sync::Arc;
use std::time::Duration;

/// The pause after a failed round, and between two checks for late writes.
const PAUSE: Duration = Duration::from_secs(10);

/// Runs until shutdown.
pub(crate) async fn sweep(service: Arc<Service>, shutdown: Shutdown) {
    loop {
        let left = match sweep_once(&service, &shutdown).await {
            Ok(left) => left,
            Err(error) => {
                tracing::warn!(%error, "failed to remove rows of dropped tables; will retry");
                true
            }
        };
        let pause = async {
            if left {
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    () = service.table_deleted.notified() => {}
                }
            } else {
                service.table_deleted.notified().await;
            }
        };
        tokio::select! {
            () = shutdown.requested() => return,
            () = pause => {}
        }
    }
}

/// One round over all dropped tables. Returns whether another round is needed. A failed table does not delay other
/// tables.
pub(super) async fn sweep_once(service: &Service, shutdown: &Shutdown) -> Result<bool, Error> {
    let mut left = false;
    let mut at = KeyKind::DROPPED_TABLE.start();
    loop {
        let dropped = records(service, at).await?;
        let Some((last, _)) = dropped.last() else {
            return Ok(left);
        };
        at = [last, &b"\0"[..]].concat().into();
        for (key, row) in dropped {
            if shutdown.is_requested() {
                return Ok(true);
            }
            match sweep_table(service, shutdown, &key, &row).await {
                Ok(more) => left |= more,
                Err(error) => {
                    let table = key.escape_ascii();
                    tracing::warn!(%table, %error, "failed to remove rows of a dropped table; will retry");
                    left = true;
                }
            }
        }
    }
}

/// Some records of dropped tables, starting at a key. Returns records instead of a scan, because removing rows can take
/// long, and a scan would keep the range open after a split or merge has replaced it.
async fn records(service: &Service, at: Bytes) -> Result<Vec<(Bytes, Bytes)>, Error> {
    let range = service.route(&at).range;
    let end = KeyKind::DROPPED_TABLE.end();
    let keys = KeyRange::half_open(at, end);
    let mut scan = range.scan(keys, ScanHint::walk()).await?;
    let rows = scan.next(CHUNK_ROWS, CHUNK_BYTES).await?;
    Ok(rows.into_iter().collect())
}

/// Removes the rows of a dropped table. Returns whether it needs another round.
async fn sweep_table(
    service: &Service,
    shutdown: &Shutdown,
    key: &Bytes,
    row: &[u8],
) -> Result<bool, Error> {
    let record: DroppedRecord = decode_record(row)?;
    let mut fields = KeyReader::of_kind(key, KeyKind::DROPPED_TABLE)?;
    let account = fields.text()?;
    let id = fields.table_id()?;
    // Checked again, because a restore may have completed the table, which is then no longer dropped.
    if service.restoring.lock().contains(&id) || service.get(key).await?.is_none() {
        return Ok(true);
    }
    let space = TableSpace::new(&account, id);
    // Before the rows are removed, so that this round finds all rows of the grace period.
    let is_over = is_grace_over(service, id);
    if !remove_rows(service, &space, shutdown).await? || !is_over {
        return Ok(true);
    }
    remove_keys(service, std::slice::from_ref(key), |_| Ok(true)).await?;
    service.dropped_since.lock().remove(&id);
    tracing::info!(table = record.name, "removed the rows of a dropped table");
    Ok(false)
}

/// Whether the requests from before the deletion have ended. Measured with monotonic time from the first round that saw
/// the table: the wall clock can be set, and no request is older than this process.
fn is_grace_over(service: &Service, id: TableId) -> bool {
    let now = service.clock().monotonic();
    let since = *service.dropped_since.lock().entry(id).or_insert(now);
    now.saturating_duration_since(since) >= service.settings.drop_grace
}

/// Removes rows until the end or shutdown. Returns whether it reached the end.
async fn remove_rows(
    service: &Service,
    space: &TableSpace,
    shutdown: &Shutdown,
) -> Result<bool, Error> {
    let mut walk = TableWalk::new(service, space);
    while let Some(rows) = walk.next().await? {
        if shutdown.is_requested() {
            return Ok(false);
        }
        let keys: Vec<_> = rows.into_iter().map(|(key, _)| key).collect();
        remove_keys(service, &keys, |_| Ok(true)).await?;
    }
    Ok(true)
}
