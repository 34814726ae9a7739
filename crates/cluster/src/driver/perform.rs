//! Carrying out actions.

use super::Driver;
use crate::balance::BalanceAction;
use crate::controller::{Action, Event, JobId, Request, SaveReason, StoreAction};
use crate::coordinator::RangeSpec;
use crate::error::{ChangeRefused, HostError, StartError};
use crate::host::RangeAction;
use crate::maintenance::{databases, pins};
use crate::map::{MapError, MapRecord, save_and_confirm};
use partita_range::RangeId;
use std::sync::Arc;

impl Action {
    /// The name of its task.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open ranges",
            Self::Save { .. } => "save the partition map",
            Self::Survey { .. } => "survey ranges",
            Self::FindSplitKey { .. } => "find a split key",
            Self::Flush { .. } => "flush ranges",
            Self::Change { .. } => "change ranges",
            Self::Replace { .. } => "announce new ranges",
            Self::Detach { .. } => "detach a range",
            Self::Freeze { .. } => "freeze a range",
            Self::Store { action, .. } => match action {
                StoreAction::Remove(_) | StoreAction::RemoveNew(_) => "remove databases",
                StoreAction::ListDatabases => "list databases",
                StoreAction::FindRemovable(_) => "find removable databases",
                StoreAction::ReleasePins => "release untracked pins",
            },
            Self::Balance(_) => "balance ranges",
            Self::Started(_) | Self::GrantLock { .. } | Self::Answer { .. } => "answer",
        }
    }

    /// The job that waits for it.
    pub(super) fn job(&self) -> Option<JobId> {
        match self {
            Self::Save { job, .. }
            | Self::Survey { job, .. }
            | Self::FindSplitKey { job, .. }
            | Self::Flush { job, .. }
            | Self::Change { job, .. }
            | Self::Freeze { job, .. }
            | Self::Store { job, .. }
            | Self::GrantLock { job }
            | Self::Answer { job, .. } => Some(*job),
            Self::Open { .. } => Some(JobId::START),
            Self::Started(_) | Self::Replace { .. } | Self::Detach { .. } | Self::Balance(_) => {
                None
            }
        }
    }
}

impl Driver {
    /// Carries an action out and returns what came of it.
    pub(super) async fn perform(self: &Arc<Self>, action: Action) -> Option<Event> {
        let parts = &self.parts;
        let event = match action {
            Action::Open { ranges } => return self.open(&ranges).await,
            Action::Save {
                job,
                record,
                reason,
            } => {
                let result = self.save(&record, reason).await;
                Event::Saved { job, result }
            }
            Action::Survey { job, ranges } => {
                let kept = parts.host.survey(&ranges).await;
                Event::Surveyed { job, kept }
            }
            Action::FindSplitKey { job, range } => {
                let key = parts.host.split_key(range).await;
                Event::SplitKeyFound { job, key }
            }
            Action::Flush { job, ranges } => {
                let result = self.flush(&ranges).await;
                Event::Flushed { job, result }
            }
            Action::Change {
                job,
                change,
                decision,
            } => {
                let result = parts.host.change(&change, &decision).await;
                Event::Changed { job, result }
            }
            Action::Freeze { job, range, time } => {
                let frozen = parts.host.act(range, RangeAction::Freeze(time)).await;
                let result = frozen.map_err(refused);
                Event::Thawed { job, result }
            }
            Action::Balance(action) => self.balance(action).await,
            Action::Replace { old, new } => {
                self.replace(&old, &new).await;
                return None;
            }
            Action::Detach { range } => {
                if let Err(error) = parts.host.act(range, RangeAction::Detach).await {
                    tracing::debug!(%error, %range, "cannot detach the files of a range");
                }
                return None;
            }
            Action::Store { job, action } => self.work_on_store(job, action).await,
            Action::Started(_) | Action::GrantLock { .. } | Action::Answer { .. } => return None,
        };
        Some(event)
    }

    async fn work_on_store(&self, job: JobId, action: StoreAction) -> Event {
        let parts = &self.parts;
        match action {
            StoreAction::Remove(databases) => {
                let removed = databases::remove(&*parts.engines, &databases).await;
                Event::Removed { job, removed }
            }
            StoreAction::RemoveNew(databases) => {
                let removed = databases::remove(&*parts.engines, &databases).await;
                if removed.gone.len() < databases.len() {
                    parts.host.drop_unknown().await;
                }
                Event::Removed { job, removed }
            }
            StoreAction::ListDatabases => {
                let databases = databases::list(&*parts.engines).await;
                Event::Listed { job, databases }
            }
            StoreAction::FindRemovable(databases) => {
                let databases = databases::removable(&*parts.engines, &databases).await;
                Event::Removable { job, databases }
            }
            StoreAction::ReleasePins => {
                let released = pins::release_untracked(parts).await;
                let complete = released.is_ok();
                if let Err(error) = released {
                    tracing::warn!(%error, "cannot release pins that no snapshot names");
                }
                Event::PinsReleased { job, complete }
            }
        }
    }

    async fn open(&self, ranges: &[RangeSpec]) -> Option<Event> {
        let opening = async {
            let assignments = self.parts.coordinator.assign(ranges).await?;
            self.parts.host.open(assignments).await?;
            Ok::<_, StartError>(())
        };
        match opening.await {
            Ok(()) => Some(Event::Opened),
            Err(error) => {
                self.answer_start(Err(error));
                None
            }
        }
    }

    async fn save(&self, record: &MapRecord, reason: SaveReason) -> Result<(), MapError> {
        let saved = save_and_confirm(&*self.parts.store, record).await;
        if let Err(error) = &saved {
            match reason {
                // The caller is told.
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

    /// The change is decided and its ranges are served, so a failure is only reported.
    async fn replace(&self, old: &[RangeId], new: &[RangeSpec]) {
        if let Err(error) = self.parts.coordinator.replace(old, new).await {
            tracing::error!(%error, ?old, "cannot announce the ranges that a change created");
        }
    }

    async fn balance(self: &Arc<Self>, action: BalanceAction) -> Event {
        let request = match action.clone() {
            BalanceAction::SplitBySize(range) => Request::Split { range, at: None },
            BalanceAction::SplitByLoad(range, key) => Request::Split {
                range,
                at: Some(key),
            },
            BalanceAction::Merge(left, right) => Request::Merge { left, right },
        };
        let result = self.ask(request).await.map(drop);
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
