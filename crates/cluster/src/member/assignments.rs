//! Taking over the ranges that are assigned to this process.

use super::{RangeServer, spec};
use crate::coordinator::CoordinatorError;
use crate::error::HostError;
use partita_coordinator::{self as registry, Assignment, OwnershipError, RangeState, Table};
use partita_engine::{LogNumber, OpenError};
use partita_range::RangeId;
use partita_rt::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// How often a range is tried to be opened before it is given back, so that another server tries it.
const ATTEMPTS: usize = 5;

impl RangeServer {
    /// Looks at each change of the registry, until the shutdown or the end of the life.
    pub(super) async fn follow(self: Arc<Self>, shutdown: Shutdown) {
        loop {
            let changed = self.routes.changed();
            self.look(&self.routes.current());
            tokio::select! {
                () = changed => {}
                () = self.member.gate().over() => return,
                () = shutdown.requested() => return,
            }
        }
    }

    /// Starts to take over what is assigned, and checks that what is served is still owned.
    fn look(self: &Arc<Self>, table: &Table) {
        for (range, stored) in table.ranges() {
            if let Some(assignment) = Assignment::of(*range, stored, self.member.owner()) {
                self.begin(assignment);
            }
        }
        for served in self.cluster.map().ranges().iter() {
            let id = registry::RangeId(served.range.id().0);
            let owner = table.ranges().get(&id).and_then(|key| key.record.owner());
            // Without a key, the registry lost it, or a change was not announced yet.
            if owner.is_some_and(|owner| owner != self.member.owner()) {
                self.fail(format!("range {id} was given to another server").into());
            }
        }
    }

    /// Takes a range over in the background, unless that has begun.
    fn begin(self: &Arc<Self>, assignment: Assignment) {
        let (range, revision) = (RangeId(assignment.range.0), assignment.revision.0);
        if self.opening.lock().insert(range, revision) == Some(revision) {
            return;
        }
        let server = Arc::clone(self);
        self.tasks.spawn("take over a range", async move {
            server.take_over(assignment).await;
            let mut opening = server.opening.lock();
            if opening.get(&range) == Some(&revision) {
                opening.remove(&range);
            }
        });
    }

    /// Takes a range over. Tries again while it is assigned, and gives it back after some attempts.
    async fn take_over(&self, assignment: Assignment) {
        let range = assignment.range;
        for _ in 0..ATTEMPTS {
            let began = Instant::now();
            match self.try_take_over(&assignment).await {
                Ok(()) => {
                    let milliseconds = began.elapsed().as_millis();
                    return tracing::info!(%range, milliseconds, "took a range over");
                }
                Err(HostError::NotActivated(error)) => {
                    return tracing::info!(%range, %error, "a range was not activated");
                }
                Err(HostError::Open {
                    source: OpenError::Fenced(why),
                    ..
                }) => {
                    self.log_is_sealed.store(true, Ordering::Relaxed);
                    return self.fail(why);
                }
                Err(error) => {
                    let error = crate::error_chain(&error);
                    tracing::warn!(%range, %error, "cannot take a range over; retrying");
                }
            }
            if !self.is_assigned(&assignment).await || !self.pause().await {
                return;
            }
        }
        if let Err(error) = self.member.decline(&assignment).await {
            tracing::warn!(%range, %error, "cannot give a range back");
        }
    }

    async fn try_take_over(&self, assignment: &Assignment) -> Result<(), HostError> {
        let (spec, logs) = (
            spec(assignment.range, &assignment.record.shape),
            &assignment.record.logs,
        );
        let logs: Vec<LogNumber> = logs.iter().map(|log| LogNumber(log.0)).collect();
        let activation = self.activate(assignment);
        let host = &self.cluster.host;
        let is_assigned = self.is_assigned(assignment);
        host.take_over(&spec, &logs, is_assigned, activation).await
    }

    /// Whether an assignment is still the newest one; also while the registry does not say. Then the range is not
    /// activated, and if another process has opened the database, it is not opened here.
    async fn is_assigned(&self, assignment: &Assignment) -> bool {
        self.member.check(assignment).await.unwrap_or(true)
    }

    /// Activates a range in the registry. Returns its tenure.
    async fn activate(&self, assignment: &Assignment) -> Result<u64, CoordinatorError> {
        loop {
            match self.member.activate(assignment).await {
                Ok(tenure) => return Ok(tenure.revision.0),
                Err(OwnershipError::Superseded(range)) => {
                    return Err(CoordinatorError::Superseded(RangeId(range.0)));
                }
                Err(error @ OwnershipError::LifeOver) => {
                    return Err(CoordinatorError::NotManager(error.to_string()));
                }
                Err(OwnershipError::Record(error)) => {
                    return Err(CoordinatorError::Damaged(error.to_string()));
                }
                Err(error @ OwnershipError::Registry(_)) => {
                    if !self.pause().await {
                        return Err(CoordinatorError::NotManager(error.to_string()));
                    }
                }
            }
        }
    }

    /// Whether this process is about to take over a range that is assigned to it.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        let table = self.routes.current();
        let mut states = table.ranges().values().map(|key| &key.record.state);
        states.any(
            |state| matches!(state, RangeState::Opening { owner } if owner == self.member.owner()),
        )
    }
}
