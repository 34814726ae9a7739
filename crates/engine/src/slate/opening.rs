//! Opening the database of a range: of this process, or of another one that served it before.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::SlateEngineSet;
use super::closing;
use super::commit::RangeIntake;
use super::core::Core;
use super::database::{Database, Replayed, Stored};
use super::engine::SlateEngine;
use super::open_range::OpenRange;
use crate::error::NotShared;
use crate::{Engine, Health, LogNumber, OpenError, RangeId};

impl SlateEngineSet {
    /// Opens a range, until the engine set closes.
    pub(super) async fn until_close(
        &self,
        opening: impl Future<Output = Result<Arc<dyn Engine>, OpenError>> + Send,
    ) -> Result<Arc<dyn Engine>, OpenError> {
        let shutdown = self.tasks.shutdown();
        tokio::select! {
            biased;
            opened = opening => opened,
            () = shutdown.requested() => Err(OpenError::Unavailable),
        }
    }

    /// Opens a range whose records this process has, if any has.
    pub(super) async fn open_range(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        let _change = self.core.lock_change().await;
        let opening = Opening::begin(&self.core, range)?;
        let stored = Stored::read(&self.core.context, range).await?;
        self.open_database(opening, stored, Replayed::AfterStart)
            .await
    }

    /// Opens a range whose records are in the logs of other processes. Reads the logs and asks for the assignment without
    /// the change lock: that may take seconds, and changes nothing.
    pub(super) async fn take_over_range(
        &self,
        range: RangeId,
        logs: &[LogNumber],
        is_assigned: BoxFuture<'_, bool>,
    ) -> Result<Arc<dyn Engine>, OpenError> {
        let shared = self.core.context.home.shared();
        let shared = shared.ok_or_else(|| OpenError::Store(Arc::new(NotShared)))?;
        let opening = Opening::begin(&self.core, range)?;
        let preparing = async {
            closing::await_closed(&self.core, range).await;
            // Before the database is opened: its last owner writes no record after the seal.
            let records = shared.records_of(range, logs).await?;
            #[cfg(feature = "planted-bugs")]
            let records = match crate::planted::is_active("cluster-no-replay") {
                true => Default::default(),
                false => records,
            };
            // The owner of the range may change until the database is opened. If another process opens it first, this
            // fails.
            let stored = Stored::read(&self.core.context, range).await?;
            match is_assigned.await {
                true => Ok((records, stored)),
                false => Err(OpenError::NotAssigned(range)),
            }
        };
        // Both to their ends: a log whose group was dropped takes no more.
        let (prepared, proved) = tokio::join!(preparing, self.prove_log());
        proved?;
        let (records, stored) = prepared?;
        let _change = self.core.lock_change().await;
        let count = records.len();
        let engine = self
            .open_database(opening, stored, Replayed::TakenOver(records))
            .await?;
        tracing::info!(%range, ?logs, records = count, "took over a range");
        Ok(engine)
    }

    /// A server that looked for logs of dead processes, before this process was a member of the cluster, has perhaps sealed its
    /// log: better noticed now than by the first write.
    async fn prove_log(&self) -> Result<(), OpenError> {
        let wal = self.core.wal().ok_or(OpenError::Unavailable)?;
        wal.wal.prove().await.map_err(|error| {
            OpenError::Fenced(
                format!("the log of this process takes no more writes: {error}").into(),
            )
        })
    }

    /// Opens the database under the change lock, which the caller holds.
    async fn open_database(
        &self,
        opening: Opening<'_>,
        stored: Stored,
        replayed: Replayed,
    ) -> Result<Arc<dyn Engine>, OpenError> {
        let (core, range) = (&self.core, opening.range);
        // A process that has retired takes its WAL away only after it has said so.
        if core.health.get() == Health::Fenced {
            return Err(OpenError::Unavailable);
        }
        let wal = core.wal().ok_or(OpenError::Unavailable)?;
        let opened = Database::open(&core.context, &self.runtimes, &wal, range, stored, replayed);
        let open = OpenRange::new(opened.await?);
        core.open_ranges.write().insert(range, Arc::clone(&open));
        let intake = RangeIntake::new(Arc::clone(&self.commits.queue), Arc::clone(&open));
        Ok(Arc::new(SlateEngine {
            core: Arc::clone(core),
            open,
            room: Arc::clone(&self.room),
            intake: Arc::new(intake),
        }))
    }
}

/// A range that is being opened, by one caller at a time.
struct Opening<'c> {
    core: &'c Core,
    range: RangeId,
}

impl<'c> Opening<'c> {
    /// Fails if the range is open or is being opened.
    fn begin(core: &'c Core, range: RangeId) -> Result<Self, OpenError> {
        let begun = core.open_range(range).is_none() && core.opening.lock().insert(range);
        begun
            .then_some(Self { core, range })
            .ok_or(OpenError::AlreadyOpen(range))
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.core.opening.lock().remove(&self.range);
    }
}
