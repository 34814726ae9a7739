//! One sync for the databases that write in a group.
//!
//! The commit loop hands each database of a group its rows at the same time; each comes here with its record and waits. The last
//! one to come writes and syncs for all. A database that fails before it comes is taken off, so that the others do not wait for it.
//! All of this happens on the commit thread.

use std::sync::Arc;

use parking_lot::Mutex;
use slatedb::RowEntry;
use tokio::sync::oneshot;

use crate::RangeId;
use partita_wal::local::{AppendError, Log, WalId};

type Outcome = Result<(), AppendError>;

/// The group that is being written.
pub(super) struct Gathering {
    log: Arc<Log>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// EngineSet that have not come yet.
    absent: Vec<RangeId>,
    /// Those that have come, and wait.
    waiting: Vec<oneshot::Sender<Outcome>>,
}

impl Gathering {
    pub(super) fn new(log: Arc<Log>) -> Self {
        Self {
            log,
            state: Mutex::default(),
        }
    }

    /// Begins a group in which these ranges write.
    pub(super) fn begin(&self, ranges: impl Iterator<Item = RangeId>) {
        let mut state = self.state.lock();
        state.absent.clear();
        state.absent.extend(ranges);
    }

    /// Adds the record of a range and returns once the group is on the disk. Blocks the commit thread for the write and the
    /// sync: nothing else runs there that could go on meanwhile.
    pub(super) async fn append(
        &self,
        range: RangeId,
        wal_id: WalId,
        seq: u64,
        rows: &[RowEntry],
    ) -> Outcome {
        let gathered = self.log.gather(range, wal_id, seq, rows);
        let turn = {
            let mut state = self.state.lock();
            state.absent.retain(|absent| *absent != range);
            if gathered.is_err() || state.absent.is_empty() {
                None
            } else {
                let (sender, receiver) = oneshot::channel();
                state.waiting.push(sender);
                Some(receiver)
            }
        };
        match turn {
            // The sender is dropped only after it was used: the commit loop sees every group to its end.
            Some(turn) => turn.await.unwrap_or(Err(AppendError::Poisoned)),
            None => {
                let outcome = self.sync_if_complete();
                gathered.and(outcome)
            }
        }
    }

    /// A range of the group will not come.
    pub(super) fn leave(&self, range: RangeId) {
        let was_absent = {
            let mut state = self.state.lock();
            let before = state.absent.len();
            state.absent.retain(|absent| *absent != range);
            state.absent.len() < before
        };
        if was_absent {
            // Those that wait are told; nobody else needs to know.
            let _ = self.sync_if_complete();
        }
    }

    fn sync_if_complete(&self) -> Outcome {
        let waiting = {
            let mut state = self.state.lock();
            if !state.absent.is_empty() {
                return Ok(());
            }
            std::mem::take(&mut state.waiting)
        };
        let outcome = self.log.append_gathered();
        for waiting in waiting {
            // One that has gone has closed its database.
            let _ = waiting.send(outcome.clone());
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use partita_wal::local::{FaultyDisk, SyncFault};
    use partita_wal::local::{LogOptions, Resume};
    use slatedb::ValueDeletable;

    fn gathering(disk: &FaultyDisk, directory: &std::path::Path) -> Gathering {
        let options = LogOptions {
            segment_bytes: 64 << 10,
            spare_count: 0,
            recycled_count_max: 0,
        };
        let disk = Arc::new(disk.clone());
        let (log, _) = Log::open(directory, disk, options, Resume::Behind).unwrap();
        Gathering::new(Arc::new(log))
    }

    fn rows() -> [RowEntry; 1] {
        [RowEntry {
            key: "k".into(),
            value: ValueDeletable::Value("v".into()),
            seq: 1,
            create_ts: None,
            expire_ts: None,
        }]
    }

    const A: RangeId = RangeId(1);
    const B: RangeId = RangeId(2);

    #[test]
    fn the_last_to_come_syncs_for_all() {
        let (disk, directory) = (FaultyDisk::default(), tempfile::tempdir().unwrap());
        let gathering = gathering(&disk, directory.path());
        let before = disk.sync_count();
        gathering.begin([A, B].into_iter());
        let rows = rows();
        let mut first = Box::pin(gathering.append(A, WalId(1), 1, &rows));
        assert!(first.as_mut().now_or_never().is_none());
        let second = gathering.append(B, WalId(1), 1, &rows).now_or_never();
        assert!(matches!(second, Some(Ok(()))));
        assert!(matches!(first.now_or_never(), Some(Ok(()))));
        assert_eq!(disk.sync_count() - before, 1);
    }

    #[test]
    fn nobody_waits_for_one_that_left() {
        let (disk, directory) = (FaultyDisk::default(), tempfile::tempdir().unwrap());
        let gathering = gathering(&disk, directory.path());
        gathering.begin([A, B].into_iter());
        let rows = rows();
        let mut first = Box::pin(gathering.append(A, WalId(1), 1, &rows));
        assert!(first.as_mut().now_or_never().is_none());
        gathering.leave(B);
        assert!(matches!(first.now_or_never(), Some(Ok(()))));
    }

    #[test]
    fn a_failed_sync_fails_all() {
        let (disk, directory) = (FaultyDisk::default(), tempfile::tempdir().unwrap());
        let gathering = gathering(&disk, directory.path());
        gathering.begin([A, B].into_iter());
        let rows = rows();
        let mut first = Box::pin(gathering.append(A, WalId(1), 1, &rows));
        assert!(first.as_mut().now_or_never().is_none());
        disk.fail_next_sync(SyncFault::Lost);
        let second = gathering.append(B, WalId(1), 1, &rows).now_or_never();
        assert!(matches!(second, Some(Err(AppendError::Io(_)))));
        assert!(matches!(
            first.now_or_never(),
            Some(Err(AppendError::Io(_)))
        ));
    }
}
