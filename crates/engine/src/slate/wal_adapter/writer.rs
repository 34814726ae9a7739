//! SlateDB's side of the WAL: the writer of one database, and its status.

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use parking_lot::Mutex;
use partita_wal::{RecordHeader, Wal, WalId};
use slatedb::RowEntry;
use slatedb::wal::{
    WalError, WalEvent, WalFlushResult, WalObserver, WalStatus, WalStatusListener, WalWriter,
};

use super::group_barrier::GroupBarrier;
use crate::RangeId;
use crate::slate::read::Reader;

/// Writes the batches of one database.
pub(super) struct RangeWriter {
    wal: Arc<dyn Wal>,
    barrier: Arc<GroupBarrier>,
    range: RangeId,
    last: WalId,
    status: Arc<Status>,
    /// What reads the rows; `None` if SlateDB reads them.
    reader: Option<Arc<Reader>>,
}

impl RangeWriter {
    pub(super) fn new(
        wal: Arc<dyn Wal>,
        barrier: Arc<GroupBarrier>,
        range: RangeId,
        last: WalId,
        reader: Option<Arc<Reader>>,
    ) -> Self {
        let status = WalStatus {
            closed_reason: None,
            estimated_bytes: 0,
            last_flushed_wal_id: last.0,
            last_flushed_seq: None,
            buffered_wal_entries_count: 0,
        };
        Self {
            wal,
            barrier,
            range,
            last,
            status: Arc::new(Status {
                wal: Mutex::new(status),
                listeners: Mutex::default(),
            }),
            reader,
        }
    }
}

struct Status {
    wal: Mutex<WalStatus>,
    listeners: Mutex<Vec<WalStatusListener>>,
}

impl Status {
    fn read(&self) -> Result<WalStatus, WalStatus> {
        let status = self.wal.lock().clone();
        if status.closed_reason.is_none() {
            Ok(status)
        } else {
            Err(status)
        }
    }

    /// Changes the status and notifies all listeners.
    fn change(&self, change: impl FnOnce(&mut WalStatus)) {
        let status = {
            let mut status = self.wal.lock();
            change(&mut status);
            status.clone()
        };
        let closed = status.closed_reason.is_some();
        for listener in self.listeners.lock().iter() {
            let status = status.clone();
            listener(if closed {
                WalEvent::WalClosed(status)
            } else {
                WalEvent::WalFlushed(status)
            });
        }
    }

    fn close(&self, reason: WalError) {
        self.change(|status| {
            status.closed_reason.get_or_insert(reason);
        });
    }
}

#[async_trait]
impl WalWriter for RangeWriter {
    async fn append(&mut self, rows: &[RowEntry]) -> Result<(), WalError> {
        let Some(seq) = rows.first().map(|row| row.seq) else {
            return Ok(());
        };
        let wal_id = WalId(self.last.0 + 1);
        let record = RecordHeader {
            range: self.range,
            wal_id,
            seq,
        };
        if let Err(error) = self.barrier.append(record, rows).await {
            let error = WalError::Unavailable(Arc::new(error));
            self.status.close(error.clone());
            return Err(error);
        }
        self.last = wal_id;
        // Before the batch is completed: a read that follows the completion must see the rows.
        if let Some(reader) = &self.reader {
            reader.add(rows, wal_id);
        }
        self.status.change(|status| {
            status.last_flushed_wal_id = wal_id.0;
            status.last_flushed_seq = Some(seq);
        });
        Ok(())
    }

    async fn flush(&mut self) -> Result<WalFlushResult, WalError> {
        self.status.read()?;
        let completion = std::future::ready(Ok(())).boxed();
        Ok(WalFlushResult {
            wal_id: self.last.0,
            completion,
        })
    }

    fn should_flush_memtable(&self, replay_after_wal_id: u64) -> bool {
        self.wal.is_due(self.range, WalId(replay_after_wal_id))
    }

    fn observer(&self) -> Box<dyn WalObserver> {
        Box::new(Observer(Arc::clone(&self.status)))
    }

    fn status(&self) -> Result<WalStatus, WalStatus> {
        self.status.read()
    }

    async fn close(&mut self) -> Result<(), WalError> {
        self.status.close(WalError::Closed);
        Ok(())
    }
}

struct Observer(Arc<Status>);

#[async_trait]
impl WalObserver for Observer {
    fn status(&self) -> Result<WalStatus, WalStatus> {
        self.0.read()
    }

    fn subscribe(&self, listener: WalStatusListener) -> Result<(), WalError> {
        self.0.listeners.lock().push(listener);
        Ok(())
    }
}
