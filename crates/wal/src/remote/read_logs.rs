//! The logs of other processes that were sealed and read, kept for a moment: a process that takes over the ranges of
//! another one asks for the records of each range, and each log is read once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::Life;
use super::logs::RemoteLogs;
use super::records_by_range::RecordsByRange;
use super::sealer;
use crate::{OpenWalError, RangeId, Record};

/// How long the records of a log stay in memory after they were last asked for.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// The logs that were read. A sealed log never changes, so what was read stays right.
#[derive(Default)]
pub(super) struct ReadLogs(Mutex<BTreeMap<Life, ReadLog>>);

/// A log that was read, or that a caller reads now.
struct ReadLog {
    records: Arc<OnceCell<RecordsByRange>>,
    used: Instant,
}

impl ReadLogs {
    /// The records of a range in the log of `life`, which is sealed and read unless it was already. Several callers
    /// share one reading. Cancel safe.
    ///
    /// # Errors
    /// See [`OpenWalError`]. The next call tries again.
    pub(super) async fn records(
        &self,
        logs: &RemoteLogs,
        (life, range): (Life, RangeId),
        note: &str,
    ) -> Result<Vec<(Life, Record)>, OpenWalError> {
        let log = self.entry(life);
        let reading = log.get_or_try_init(|| seal_and_read(logs, life, note));
        Ok(reading.await?.of(range))
    }

    fn entry(&self, life: Life) -> Arc<OnceCell<RecordsByRange>> {
        let now = Instant::now();
        let mut logs = self.0.lock();
        let log = logs.entry(life).or_insert_with(|| ReadLog {
            records: Arc::default(),
            used: now,
        });
        log.used = now;
        Arc::clone(&log.records)
    }

    /// Frees the memory of the logs that were not asked for recently.
    pub(super) fn forget_unused(&self) {
        let mut logs = self.0.lock();
        logs.retain(|_, log| log.used.elapsed() < KEPT_FOR);
    }
}

/// Seals a log and reads its groups. A log without objects is empty, and is not sealed: it was collected, and its seals
/// have expired.
async fn seal_and_read(
    logs: &RemoteLogs,
    life: Life,
    note: &str,
) -> Result<RecordsByRange, OpenWalError> {
    let mut records = RecordsByRange::default();
    let listing = sealer::list(&logs.requests, life).await?;
    if listing.has_objects() {
        let sealed = sealer::seal_listed(&logs.requests, life, note, listing).await?;
        for group in logs.reader(life).read_groups(&sealed).await? {
            records.add(life, group.records);
        }
    }
    Ok(records)
}
