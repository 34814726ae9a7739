//! One sync for all databases that write in a group.
//!
//! The commit loop gives the databases of a group their rows at the same time; each database adds its record here and
//! waits. The last database to arrive appends the group for all. A database that fails before it arrives leaves the
//! group, so that the other databases do not wait for it. All of this runs on the commit thread.

use std::sync::Arc;

use parking_lot::Mutex;
use partita_wal::{AppendError, RecordHeader, Wal};
use slatedb::RowEntry;
use tokio::sync::oneshot;

use super::rows;
use crate::RangeId;

type Outcome = Result<(), AppendError>;

/// The barrier at which the databases of a group wait for each other.
pub(super) struct GroupBarrier {
    wal: Arc<dyn Wal>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Ranges of the group that have not arrived.
    absent: Vec<RangeId>,
    /// The databases that have arrived and wait for the outcome.
    waiting: Vec<oneshot::Sender<Outcome>>,
}

impl GroupBarrier {
    pub(super) fn new(wal: Arc<dyn Wal>) -> Self {
        Self {
            wal,
            state: Mutex::default(),
        }
    }

    /// Begins a group in which these ranges write.
    pub(super) fn begin(&self, ranges: impl Iterator<Item = RangeId>) {
        let mut state = self.state.lock();
        state.absent.clear();
        state.absent.extend(ranges);
    }

    /// Adds the record of a range and returns once the group is durable. A local WAL blocks the commit thread during
    /// the write and the sync: the thread has no other work at that time.
    pub(super) async fn append(&self, record: RecordHeader, rows: &[RowEntry]) -> Outcome {
        let added = self.add(record, rows);
        let others = {
            let mut state = self.state.lock();
            state.absent.retain(|absent| *absent != record.range);
            if added.is_err() || state.absent.is_empty() {
                None
            } else {
                let (sender, receiver) = oneshot::channel();
                state.waiting.push(sender);
                Some(receiver)
            }
        };
        match others {
            // The sender is dropped without a result only if the append was dropped. Then the outcome is unknown.
            Some(others) => others.await.unwrap_or(Err(AppendError::Poisoned)),
            None => {
                let outcome = self.append_if_complete().await;
                added.and(outcome)
            }
        }
    }

    fn add(&self, record: RecordHeader, rows: &[RowEntry]) -> Outcome {
        let size = rows::record_size(rows).ok_or(AppendError::Unfit)?;
        let mut lent = rows.iter().map(rows::lend);
        self.wal.add(record, size, &mut lent)
    }

    /// Takes a range out of the group: its database failed before it arrived.
    pub(super) async fn leave(&self, range: RangeId) {
        let was_absent = {
            let mut state = self.state.lock();
            let before = state.absent.len();
            state.absent.retain(|absent| *absent != range);
            state.absent.len() < before
        };
        if was_absent {
            // The waiting ranges get the outcome.
            let _ = self.append_if_complete().await;
        }
    }

    async fn append_if_complete(&self) -> Outcome {
        let waiting = {
            let mut state = self.state.lock();
            if !state.absent.is_empty() {
                return Ok(());
            }
            std::mem::take(&mut state.waiting)
        };
        let outcome = self.wal.append_group().await;
        for waiting in waiting {
            // Fails only if the database was closed.
            let _ = waiting.send(outcome.clone());
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use partita_wal::local::{FaultyDisk, LocalStorage, Options};
    use partita_wal::{AppendFault, RecordSize, Resume, WalId, WalStorage};
    use slatedb::ValueDeletable;

    use super::*;

    const A: RangeId = RangeId(1);
    const B: RangeId = RangeId(2);

    /// A group of two ranges that have not written yet.
    async fn group_of_two(disk: &FaultyDisk, directory: &std::path::Path) -> GroupBarrier {
        let disk = Arc::new(disk.clone());
        let options = Options {
            segment_bytes: 64 << 10,
            ..Options::default()
        };
        let storage = LocalStorage::with_disk(directory.to_owned(), disk, options);
        let wal = storage.open(Resume::AfterStop).await.unwrap();
        let small = RecordSize {
            rows: 1,
            payload_bytes: 2,
        };
        let mut records = [small; 2].into_iter();
        wal.make_room(&mut records).await.unwrap();
        let barrier = GroupBarrier::new(wal);
        barrier.begin([A, B].into_iter());
        barrier
    }

    fn record(range: RangeId) -> RecordHeader {
        RecordHeader {
            range,
            wal_id: WalId(1),
            seq: 1,
        }
    }

    fn row(value: ValueDeletable) -> [RowEntry; 1] {
        [RowEntry {
            key: "k".into(),
            value,
            seq: 1,
            create_ts: None,
            expire_ts: None,
        }]
    }

    /// Appends a record of `A`, which waits for `B`, runs `finish`, and returns both outcomes.
    async fn append_beside<T>(
        barrier: &GroupBarrier,
        finish: impl Future<Output = T>,
    ) -> (Option<Outcome>, T) {
        let row = row(ValueDeletable::Value("v".into()));
        let mut first = Box::pin(barrier.append(record(A), &row));
        assert!(first.as_mut().now_or_never().is_none());
        let second = finish.await;
        (first.now_or_never(), second)
    }

    #[tokio::test]
    async fn the_last_range_to_arrive_syncs_the_group() {
        let (disk, directory) = (FaultyDisk::default(), tempfile::tempdir().unwrap());
        let barrier = group_of_two(&disk, directory.path()).await;
        let before = disk.sync_count();
        let row = row(ValueDeletable::Value("v".into()));
        let outcomes = append_beside(&barrier, barrier.append(record(B), &row)).await;
        assert!(matches!(outcomes, (Some(Ok(())), Ok(()))));
        assert_eq!(disk.sync_count() - before, 1);
    }

    #[tokio::test]
    async fn a_range_that_left_does_not_block_the_group() {
        let (disk, directory) = (FaultyDisk::default(), tempfile::tempdir().unwrap());
        let barrier = group_of_two(&disk, directory.path()).await;
        let (first, ()) = append_beside(&barrier, barrier.leave(B)).await;
        assert!(matches!(first, Some(Ok(()))));
    }

    #[tokio::test]
    async fn a_failed_sync_fails_all_ranges_of_the_group() {
        let (disk, directory) = (FaultyDisk::default(), tempfile::tempdir().unwrap());
        let barrier = group_of_two(&disk, directory.path()).await;
        let row = row(ValueDeletable::Value("v".into()));
        let outcomes = append_beside(&barrier, async {
            disk.fail_next_sync(AppendFault::Lost);
            barrier.append(record(B), &row).await
        });
        assert!(matches!(
            outcomes.await,
            (Some(Err(AppendError::Io(_))), Err(AppendError::Io(_)))
        ));
    }

    #[tokio::test]
    async fn a_record_that_does_not_fit_does_not_fail_the_group() {
        let (disk, directory) = (FaultyDisk::default(), tempfile::tempdir().unwrap());
        let barrier = group_of_two(&disk, directory.path()).await;
        let merge = row(ValueDeletable::Merge("x".into()));
        let outcomes = append_beside(&barrier, barrier.append(record(B), &merge)).await;
        assert!(matches!(outcomes, (Some(Ok(())), Err(AppendError::Unfit))));
    }
}
