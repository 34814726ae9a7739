//! Carrying out actions.

use super::Driver;
use crate::balance::BalanceAction;
use crate::controller::{ChangeRequest, Event, Removed, Request, SaveReason, Task, TaskResult};
use crate::error::{ChangeRefused, HostError, StartError};
use crate::host::{ChangeFailed, Leftover, RangeAction, RangeChange};
use crate::map::{MapError, MapRecord, RangeSpec, save_and_confirm};
use crate::pins::PinRecordsError;
use partita_engine::{ChangeError, Removal};
use partita_range::RangeId;
use std::sync::Arc;
use std::time::Duration;

impl Task {
    /// The name for logs.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "open ranges",
            Self::Save(..) => "save the partition map",
            Self::Survey(_) => "survey ranges",
            Self::FindSplitKey(_) => "find a split key",
            Self::Flush(_) => "flush ranges",
            Self::Change(..) => "change ranges",
            Self::Freeze(..) => "freeze a range",
            Self::Remove(_) | Self::RemoveNew(_) => "remove databases",
            Self::ListDatabases => "list databases",
            Self::FindRemovable(_) => "find removable databases",
            Self::ReleasePins => "release untracked pins",
        }
    }
}

impl Driver {
    /// Runs a task; `None` if its failure ended the start.
    pub(super) async fn run(&self, task: Task) -> Option<TaskResult> {
        let parts = &self.parts;
        let result = match task {
            Task::Open(ranges) => return self.open(&ranges).await,
            Task::Save(record, reason) => TaskResult::Saved(self.save(&record, reason).await),
            Task::Survey(ranges) => TaskResult::Surveyed(self.survey(&ranges).await),
            Task::FindSplitKey(range) => {
                TaskResult::SplitKeyFound(parts.host.split_key(range).await)
            }
            Task::Flush(ranges) => TaskResult::Flushed(self.flush(&ranges).await),
            Task::Change(change, decision) => {
                TaskResult::Changed(self.change(&change, &decision).await)
            }
            Task::Freeze(range, time) => {
                let frozen = parts.host.act(range, RangeAction::Freeze(time)).await;
                TaskResult::Thawed(frozen.map_err(refused))
            }
            Task::Remove(databases) => TaskResult::Removed(self.remove(&databases).await),
            Task::RemoveNew(databases) => {
                let removed = self.remove(&databases).await;
                if removed.gone.len() < databases.len() {
                    parts.host.drop_unknown().await;
                }
                TaskResult::Removed(removed)
            }
            Task::ListDatabases => {
                let listed = parts.engines.list().await;
                let listed = listed
                    .inspect_err(|error| tracing::debug!(%error, "cannot list the databases"));
                TaskResult::Listed(listed.ok())
            }
            Task::FindRemovable(databases) => {
                // Runs without the change lock, because it takes seconds with hundreds of databases. The removal checks
                // each again under the lock.
                let removable = parts.host.removable(&databases).await;
                let removable = removable.inspect_err(
                    |error| tracing::debug!(%error, "cannot find databases to delete"),
                );
                TaskResult::Removable(removable.ok())
            }
            Task::ReleasePins => {
                let released = self.release_untracked_pins().await;
                let complete = released.is_ok();
                if let Err(error) = released {
                    tracing::warn!(%error, "cannot release pins that are in no snapshot");
                }
                TaskResult::PinsReleased { complete }
            }
        };
        Some(result)
    }

    async fn change(
        &self,
        change: &RangeChange,
        decision: &MapRecord,
    ) -> Result<Duration, ChangeFailed> {
        let begun = self.parts.coordinator.begin_change(&change.old).await;
        begun.map_err(|why| ChangeFailed {
            why: ChangeRefused::failed(why),
            leftover: Leftover::Closed,
        })?;
        self.parts.host.change(change, decision).await
    }

    /// Brings the ranges of a merge together, and counts what keeps their databases.
    async fn survey(&self, ranges: &[RangeId]) -> Result<Vec<u64>, ChangeRefused> {
        let host = &self.parts.host;
        host.gather(ranges).await?;
        host.survey(ranges).await
    }

    /// Removes databases one after the other, and stops at a shutdown, or when the store is too slow. The job holds the
    /// change lock.
    async fn remove(&self, databases: &[RangeId]) -> Removed {
        let mut removed = Removed::default();
        let shutdown = self.parts.tasks.shutdown();
        for database in databases {
            if shutdown.is_requested() {
                break;
            }
            match self.remove_one(*database).await {
                Ok(Removal::Gone) => removed.gone.push(*database),
                Ok(Removal::Needed) => {}
                Err(error) => {
                    tracing::debug!(%error, %database, "cannot delete a database; maintenance will retry");
                    removed.late = matches!(error, ChangeError::Late);
                    if removed.late {
                        break;
                    }
                }
            }
        }
        removed
    }

    /// Removes a database with its serving record.
    async fn remove_one(&self, database: RangeId) -> Result<Removal, ChangeError> {
        let removal = self.parts.engines.remove(database).await?;
        if removal == Removal::Gone {
            let removed = self.parts.store.remove_serving(database).await;
            removed.map_err(|error| ChangeError::Store(Arc::new(error)))?;
        }
        Ok(removal)
    }

    /// Releases the pins of incomplete and of partly deleted snapshots. The job holds the change lock.
    async fn release_untracked_pins(&self) -> Result<(), PinRecordsError> {
        let parts = &self.parts;
        let named = parts.pins.named().await?;
        for range in parts.engines.list().await? {
            for pin in parts.engines.pins(range).await? {
                if !named.contains(&(range, pin.clone())) {
                    tracing::info!(%range, %pin, "releasing a pin that is in no snapshot");
                    parts.host.unpin(range, &pin).await?;
                }
            }
        }
        Ok(())
    }

    async fn open(&self, ranges: &[RangeSpec]) -> Option<TaskResult> {
        let opening = async {
            self.parts.coordinator.announce(&self.record()).await?;
            let assignments = self.parts.coordinator.assign(ranges).await?;
            self.parts.host.open(assignments).await?;
            Ok::<_, StartError>(())
        };
        match opening.await {
            Ok(()) => Some(TaskResult::Opened),
            Err(error) => {
                self.answer_start(Err(error));
                None
            }
        }
    }

    async fn save(&self, record: &MapRecord, reason: SaveReason) -> Result<(), MapError> {
        let saved = save_and_confirm(&*self.parts.store, record).await;
        if let Err(error) = &saved {
            if matches!(error, MapError::Conflict(_)) {
                self.conflict.send_replace(true);
            }
            match reason {
                // Not logged here, because the caller gets the error.
                SaveReason::Start | SaveReason::Begin => {}
                SaveReason::RollBack => {
                    tracing::error!(%error, "cannot record the rollback of a change; maintenance will retry");
                }
                SaveReason::Deletion => {
                    tracing::warn!(%error, "cannot record that databases were deleted; maintenance will retry");
                }
            }
        }
        saved
    }

    async fn flush(&self, ranges: &[RangeId]) -> Result<(), ChangeRefused> {
        for range in ranges {
            let flushed = self.parts.host.act(*range, RangeAction::FlushMost).await;
            flushed.map_err(refused)?;
        }
        Ok(())
    }

    /// The change is already decided and its ranges are served, so a failure is only logged.
    pub(super) async fn announce(&self) {
        let map = self.record();
        match self.parts.coordinator.announce(&map).await {
            Ok(()) => {
                self.with_state(|state| state.announced(&map));
                self.decided.send_replace(());
            }
            Err(error) => {
                tracing::error!(%error, "cannot announce the ranges that a change created");
            }
        }
    }

    pub(super) async fn detach(&self, range: RangeId) {
        if let Err(error) = self.parts.host.act(range, RangeAction::Detach).await {
            tracing::debug!(%error, %range, "cannot detach the files of a range");
        }
    }

    pub(super) async fn balance(self: &Arc<Self>, action: BalanceAction) -> Event {
        let change = match action.clone() {
            BalanceAction::SplitBySize(range) => ChangeRequest::Split { range, at: None },
            BalanceAction::SplitByLoad(range, key) => ChangeRequest::Split {
                range,
                at: Some(key),
            },
            BalanceAction::Merge(left, right) => ChangeRequest::Merge { left, right },
        };
        let result = self.ask(Request::Change(change)).await.map(drop);
        if let Err(why) = &result {
            tracing::warn!(%why, ?action, "cannot balance ranges");
        }
        let now = self.parts.clock.monotonic();
        Event::Balanced { now, result }
    }
}

fn refused(error: HostError) -> ChangeRefused {
    match error {
        HostError::NoSuchRange(range) => ChangeRefused::NoSuchRange(range),
        error => ChangeRefused::failed(error),
    }
}
