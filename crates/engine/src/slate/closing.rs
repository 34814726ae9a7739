//! Closing the database of a range, while the others stay open.

use std::sync::Arc;

use partita_rt::Tasks;
use partita_wal::WalId;
use tokio::sync::SemaphorePermit;

use super::commit::RangeIntake;
use super::core::Core;
use super::database::Database;
use super::open_range::OpenRange;
use super::{FLUSH_DEADLINE, store_error};
use crate::{ChangeError, RangeId};

/// Closes a range that accepts no more batches: finishes those that were submitted, flushes the database, releases its
/// WAL records, and closes it. So the range can be opened again, and pins no WAL segments.
///
/// # Errors
/// Not all rows are in files. The range is closed anyway, and its rows are in the WAL.
pub(super) async fn close_range(
    core: &Core,
    open: &OpenRange,
    intake: &RangeIntake,
) -> Result<(), ChangeError> {
    let emptied = empty(core, open, intake).await;
    if let Some(database) = emptied.database {
        database.close().await;
    }
    forget(core, open.range);
    emptied.flushed
}

/// Like [`close_range`], for a range whose next owner is another process: clients wait until it has opened the database, so
/// it need not wait until this process has stopped compacting, which takes some requests to the store. The next owner locks
/// this process out in any case.
///
/// # Errors
/// Like [`close_range`].
pub(super) async fn hand_over_range(
    core: &Arc<Core>,
    tasks: &Tasks,
    open: &OpenRange,
    intake: &RangeIntake,
) -> Result<(), ChangeError> {
    let emptied = empty(core, open, intake).await;
    if let Some(database) = emptied.database {
        let closing = Closing::begin(core, open.range);
        tasks.spawn("closing a range that was handed over", async move {
            let _change = closing.core.lock_change().await;
            database.close().await;
        });
    }
    forget(core, open.range);
    emptied.flushed
}

/// Waits until no database of the range is being closed.
pub(super) async fn await_closed(core: &Core, range: RangeId) {
    let mut closing = core.closing.subscribe();
    // Its sender lives as long as the core.
    let _ = closing.wait_for(|closing| !closing.contains(&range)).await;
}

/// A range whose database is being closed after it was handed over.
struct Closing {
    core: Arc<Core>,
    range: RangeId,
}

impl Closing {
    fn begin(core: &Arc<Core>, range: RangeId) -> Self {
        core.closing.send_modify(|closing| {
            closing.insert(range);
        });
        let core = Arc::clone(core);
        Self { core, range }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.core.closing.send_modify(|closing| {
            closing.remove(&self.range);
        });
    }
}

/// A range that takes no more batches.
struct Emptied<'c> {
    /// The database, for the caller to close.
    database: Option<Arc<Database>>,
    /// Whether all rows are in files.
    flushed: Result<(), ChangeError>,
    _change: SemaphorePermit<'c>,
}

/// Finishes the batches that were submitted, takes the database of the range away, and flushes it.
async fn empty<'c>(core: &'c Core, open: &OpenRange, intake: &RangeIntake) -> Emptied<'c> {
    intake.drain().await;
    let change = core.lock_change().await;
    let database = open.take_database();
    let flushed = match &database {
        Some(database) => {
            // The commit loop may be writing a batch that was submitted after the first drain.
            intake.drain().await;
            flush(core, database).await
        }
        None => Err(ChangeError::Unavailable),
    };
    Emptied {
        database,
        flushed,
        _change: change,
    }
}

fn forget(core: &Core, range: RangeId) {
    core.open_ranges.write().remove(&range);
    core.context.damage.clear(range);
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
