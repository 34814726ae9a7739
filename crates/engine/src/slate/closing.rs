//! Closing the database of a range, while the others stay open.

use partita_wal::WalId;

use super::commit::RangeIntake;
use super::core::Core;
use super::database::Database;
use super::open_range::OpenRange;
use super::{FLUSH_DEADLINE, store_error};
use crate::ChangeError;

/// Closes a range that accepts no more batches: finishes those that were submitted, flushes the database, releases its
/// WAL records, and closes it. So the range can be opened again, here or in another process, and pins no WAL segments.
///
/// # Errors
/// Not all rows are in files. The range is closed anyway, and its rows are in the WAL.
pub(super) async fn close_range(
    core: &Core,
    open: &OpenRange,
    intake: &RangeIntake,
) -> Result<(), ChangeError> {
    intake.drain().await;
    let _change = core.lock_change().await;
    let flushed = match open.take_database() {
        Some(database) => {
            // The commit loop may be writing a batch that was submitted after the first drain.
            intake.drain().await;
            let flushed = flush(core, &database).await;
            database.close().await;
            flushed
        }
        None => Err(ChangeError::Unavailable),
    };
    core.open_ranges.write().remove(&open.range);
    core.context.damage.clear(open.range);
    flushed
}

/// Flushes the database and releases its WAL records.
async fn flush(core: &Core, database: &Database) -> Result<(), ChangeError> {
    let range = database.range;
    let flushing = tokio::time::timeout(FLUSH_DEADLINE, database.flush());
    let flushed = flushing.await.map_err(|_elapsed| ChangeError::Late)?;
    flushed.map_err(store_error)?;
    let wal = core.wal().ok_or(ChangeError::Unavailable)?;
    let stored: WalId = database.stored_up_to(&core.context).await;
    wal.release(range, stored);
    if wal.is_flushed(range, stored) {
        Ok(())
    } else {
        Err(ChangeError::Late)
    }
}
