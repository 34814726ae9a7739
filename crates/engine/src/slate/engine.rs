//! The engine of one range: a handle to its [`OpenRange`].

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryFutureExt;

use super::commit::RangeIntake;
use super::core::Core;
use super::open_range::OpenRange;
use super::{
    FLUSH_DEADLINE, Reads, cloning, closing, compared, file_layout, garbage, read_error, scan,
    space, within_read_deadline, within_store_deadline,
};
use crate::pipeline::Room;
use crate::{
    ChangeError, Collected, Engine, FileLayout, Health, KeyRange, Permit, ReadError, Refusal, Scan,
    ScanHint, WriteError,
};

/// The durable engine of a range.
pub(super) struct SlateEngine {
    pub(super) core: Arc<Core>,
    pub(super) open: Arc<OpenRange>,
    pub(super) room: Arc<Room>,
    pub(super) intake: Arc<RangeIntake>,
}

#[async_trait]
impl Engine for SlateEngine {
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError> {
        if let Some(refusal) = self.core.health_of(&self.open).refusal() {
            return Err(refusal.into());
        }
        if self.open.is_blocked() {
            return Err(Refusal::Damaged.into());
        }
        self.room.reserve(bytes, &self.intake).await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        let database = self.core.readable(&self.open)?;
        match self.core.context.settings.reads {
            Reads::Own => within_read_deadline(database.reader.get(key)).await,
            Reads::SlateDb => {
                let reading = database.db.get_with_options(key, &self.core.reads);
                within_read_deadline(reading.map_err(read_error)).await
            }
            Reads::Compared => Box::pin(compared::get(&self.core, &database, key)).await,
        }
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, ReadError> {
        let database = self.core.readable(&self.open)?;
        match self.core.context.settings.reads {
            Reads::Own => within_read_deadline(database.reader.get_many(keys)).await,
            Reads::SlateDb => {
                let gets = keys.iter().map(|key| self.get(key));
                within_read_deadline(futures::future::try_join_all(gets)).await
            }
            Reads::Compared => Box::pin(compared::get_many(&self.core, &database, keys)).await,
        }
    }

    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        let database = self.core.readable(&self.open)?;
        match self.core.context.settings.reads {
            Reads::Own => Ok(database.reader.scan(&range, hint)),
            Reads::SlateDb => scan::start(&database.db, range, hint).await,
            Reads::Compared => Box::pin(compared::scan(&self.core, &database, range, hint)).await,
        }
    }

    fn file_layout(&self) -> FileLayout {
        let database = self.open.database();
        database.map_or_else(FileLayout::default, |database| {
            file_layout::of(&database.db.manifest(), |view| {
                database.reader.visible_share(view)
            })
        })
    }

    fn health(&self) -> Health {
        self.core.health_of(&self.open)
    }

    async fn flush(&self) -> Result<(), WriteError> {
        let Some(database) = self.open.database() else {
            return Err(self.core.refusal(&self.open).into());
        };
        match tokio::time::timeout(FLUSH_DEADLINE, database.flush()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, range = %self.open.range, "failed to flush a range");
                Err(Refusal::Recovering.into())
            }
            Err(_elapsed) => {
                let known = self.core.health_of(&self.open).refusal();
                Err(known.unwrap_or(Refusal::NotFlushed).into())
            }
        }
    }

    async fn await_flush_room(&self) -> Result<(), WriteError> {
        let database = self.open.database();
        let database = database.ok_or_else(|| self.core.refusal(&self.open))?;
        let waited = tokio::time::timeout(FLUSH_DEADLINE, database.flush_room()).await;
        waited.map_err(|_elapsed| Refusal::NotFlushed.into())
    }

    async fn detach(&self) -> Result<(), ChangeError> {
        let database = self.open.database().ok_or(ChangeError::Unavailable)?;
        database.detach.request(&database.db.manifest());
        Ok(())
    }

    async fn reclaim(&self) -> Result<(), ChangeError> {
        let database = self.open.database().ok_or(ChangeError::Unavailable)?;
        space::reclaim(&self.core, &database).await
    }

    async fn collect(&self) -> Result<Collected, ChangeError> {
        let database = self.open.database().ok_or(ChangeError::Unavailable)?;
        within_store_deadline(garbage::collect(&self.core, &database)).await
    }

    async fn checkpoint(&self, lifetime: Duration) -> Result<String, ChangeError> {
        self.open.database().ok_or(ChangeError::Unavailable)?;
        let making = cloning::checkpoint(&self.core, self.open.range, lifetime);
        let made = within_store_deadline(making).await?;
        Ok(made.id.to_string())
    }

    async fn close(&self) {
        if !self.open.close() {
            return;
        }
        if let Err(error) = closing::close_range(&self.core, &self.open, &self.intake).await {
            // The next start replays the rows.
            tracing::warn!(%error, range = %self.open.range, "failed to flush a closed range");
        }
    }
}
