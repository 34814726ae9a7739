//! Fills a table before a run.

use super::target::TableTarget;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use partita_bulk::batches;
use partita_client::{Entity, TransactionAction};
use partita_load::Keys;

/// Maximum number of rows in memory.
const CHUNK_ROWS: u64 = 10_000;
/// Maximum size of the rows in memory, in bytes.
const CHUNK_BYTES: u64 = 32 << 20;

/// Writes the rows with numbers below `rows`, with up to `jobs` transactions at a time. After each transaction, calls
/// `written` with its number of rows.
///
/// Cancel safe: rows that were written are kept.
///
/// # Errors
/// The error of the first transaction that failed after its retries.
pub async fn fill(
    target: &TableTarget,
    keys: &Keys,
    rows: u64,
    jobs: usize,
    written: impl Fn(u64),
) -> Result<(), partita_client::Error> {
    let chunk_rows = CHUNK_ROWS
        .min(CHUNK_BYTES / (target.row_bytes as u64 + 256))
        .max(1);
    let mut first = 0;
    while first < rows {
        let end = rows.min(first + chunk_rows);
        let row = |number| target.entity(&keys.partition_key(number), keys.row_key(number));
        let chunk: Vec<Entity> = (first..end).map(row).collect();
        let writes = batches(chunk).into_iter().map(async |batch| {
            let actions: Vec<_> = batch.into_iter().map(TransactionAction::Create).collect();
            target.table.submit_transaction(&actions).await?;
            written(actions.len() as u64);
            Ok::<(), partita_client::Error>(())
        });
        let writes = stream::iter(writes).buffer_unordered(jobs.max(1));
        writes.try_collect::<()>().await?;
        first = end;
    }
    Ok(())
}
