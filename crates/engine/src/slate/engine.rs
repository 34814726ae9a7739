//! The engine of one range: a handle to its slot.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::commit::{CommitQueue, RangeIntake};
use super::core::{Core, Slot};
use super::engine_set::in_time;
use super::{FLUSH_DEADLINE, cloning, close_database, file_layout, scan, within_deadline};
use crate::pipeline::Room;
use crate::{
    ChangeError, Collected, Engine, FileLayout, Health, KeyRange, Permit, ReadError, Refusal, Scan,
    ScanHint, WriteError,
};

/// The durable engine of a range.
pub(super) struct SlateEngine {
    core: Arc<Core>,
    slot: Arc<Slot>,
    room: Arc<Room>,
    intake: Arc<RangeIntake>,
}

impl SlateEngine {
    pub(super) fn new(
        core: Arc<Core>,
        slot: Arc<Slot>,
        room: Arc<Room>,
        queue: &Arc<CommitQueue>,
    ) -> Self {
        let intake = Arc::new(RangeIntake::new(Arc::clone(queue), Arc::clone(&slot)));
        Self {
            core,
            slot,
            room,
            intake,
        }
    }
}

#[async_trait]
impl Engine for SlateEngine {
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError> {
        if let Some(refusal) = self.core.health_of(&self.slot).refusal() {
            return Err(refusal.into());
        }
        self.room.reserve(bytes, &self.intake).await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        let opened = self.core.readable(&self.slot)?;
        within_deadline(opened.db.get_with_options(key, &self.core.reads)).await
    }

    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        let opened = self.core.readable(&self.slot)?;
        scan::start(&opened.db, range, hint).await
    }

    fn file_layout(&self) -> FileLayout {
        let opened = self.slot.opened();
        opened.map_or_else(FileLayout::default, |opened| {
            file_layout::of(&opened.db.manifest())
        })
    }

    fn health(&self) -> Health {
        self.core.health_of(&self.slot)
    }

    async fn flush(&self) -> Result<(), WriteError> {
        let Some(opened) = self.slot.opened() else {
            return Err(self.core.refusal(&self.slot).into());
        };
        match tokio::time::timeout(FLUSH_DEADLINE, opened.flush()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, range = %self.slot.range, "a flush failed");
                Err(Refusal::Recovering.into())
            }
            Err(_elapsed) => {
                let known = self.core.health_of(&self.slot).refusal();
                Err(known.unwrap_or(Refusal::NotFlushed).into())
            }
        }
    }

    async fn detach(&self) -> Result<(), ChangeError> {
        let opened = self.slot.opened().ok_or(ChangeError::Unavailable)?;
        opened.rewriting.ask(&opened.db.manifest());
        Ok(())
    }

    async fn collect(&self) -> Result<Collected, ChangeError> {
        let opened = self.slot.opened().ok_or(ChangeError::Unavailable)?;
        in_time(cloning::collect(&self.core, &opened)).await
    }

    async fn checkpoint(&self, lifetime: Duration) -> Result<String, ChangeError> {
        self.slot.opened().ok_or(ChangeError::Unavailable)?;
        let making = cloning::checkpoint(&self.core, self.slot.range, lifetime);
        let made = in_time(making).await?;
        Ok(made.id.to_string())
    }

    async fn close(&self) {
        if !self.slot.close() {
            return;
        }
        self.intake.drain().await;
        let _changing = self.core.change().await;
        let opened = self.slot.take();
        if let Some(opened) = opened {
            // So that it can be opened again in this process. What cannot be flushed now is replayed at the next start.
            match tokio::time::timeout(FLUSH_DEADLINE, opened.flush()).await {
                Ok(Ok(())) => {
                    // A closed range is not looked after any more, and its records would keep the log from getting shorter.
                    if let Some(wal) = self.core.wal() {
                        wal.release(opened.range, opened.flushed());
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, range = %self.slot.range, "a range was closed without a flush");
                }
                Err(_elapsed) => {
                    tracing::warn!(range = %self.slot.range, "a range was closed without a flush: it took too long");
                }
            }
            close_database(&opened).await;
        }
        self.core.slots.write().remove(&self.slot.range);
    }
}
