//! The coordinator of the elected manager of a cluster, which assigns ranges to servers.

use super::hosts::Hosts;
use super::placement::Placement;
use crate::coordinator::{Assignment, Coordinator, CoordinatorError, has_living_owner, shapes};
use crate::map::{MapRecord, RangeSpec};
use async_trait::async_trait;
use futures::future::join_all;
use partita_coordinator::{
    self as registry, ASSIGN_MAX, LogNumber, Member, OwnershipError, RegistryError, Seen, Table,
    Term, TermError,
};
use partita_engine::EngineSet;
use partita_range::RangeId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The pause after the registry failed.
const PAUSE: Duration = Duration::from_millis(100);

/// Assigns ranges without a living owner to servers. Waits while the registry does not answer, until the lease of this
/// process has ended.
pub(crate) struct ManagerCoordinator {
    member: Arc<Member>,
    term: Arc<Term>,
    hosts: Arc<Hosts>,
    engines: Arc<dyn EngineSet>,
    placement: Arc<Placement>,
    /// One call at a time writes keys of ranges, so that their revisions do not change between reading and writing.
    writing: Semaphore,
}

impl std::fmt::Debug for ManagerCoordinator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ManagerCoordinator").finish_non_exhaustive()
    }
}

impl ManagerCoordinator {
    /// The coordinator of `member`, elected for `term`.
    pub(crate) fn new(
        member: Arc<Member>,
        term: Arc<Term>,
        hosts: Arc<Hosts>,
        engines: Arc<dyn EngineSet>,
        placement: Arc<Placement>,
    ) -> Self {
        Self {
            member,
            term,
            hosts,
            engines,
            placement,
            writing: Semaphore::new(1),
        }
    }

    /// Waits until no other call writes.
    async fn turn(&self) -> SemaphorePermit<'_> {
        let turn = self.writing.acquire().await;
        turn.expect("the semaphore is never closed")
    }

    /// One attempt to make the keys those of the map.
    async fn try_announce(&self, map: &MapRecord) -> Result<(), TermError> {
        let table = self.term.table().await?;
        if table
            .map()
            .is_some_and(|newest| newest.record.version > map.version)
        {
            return Ok(());
        }
        let ranges: Vec<RangeSpec> = map.specs().collect();
        for change in shapes::replacements(table.ranges(), &ranges) {
            self.term
                .replace(&change.old, &change.new, map.version)
                .await?;
        }
        Ok(())
    }

    /// One attempt to assign those of `ranges` that have no living owner. Returns how many still have none.
    async fn try_assign(&self, ranges: &[RangeSpec]) -> Result<usize, TermError> {
        let table = self.term.table().await?;
        let homeless: Vec<&RangeSpec> = ranges
            .iter()
            .filter(|range| !has_living_owner(&table, range.id))
            .collect();
        if homeless.is_empty() {
            return Ok(0);
        }
        let absent = homeless.iter().map(|range| shapes::id(range.id));
        let absent = absent.filter(|range| !table.ranges().contains_key(range));
        // All of them at once: after a wipe of the registry no range has a key.
        self.term.check_absent(&absent.collect::<Vec<_>>()).await?;
        let ids: Vec<RangeId> = ranges.iter().map(|range| range.id).collect();
        let owners = self.placement.owners(&table, &ids);
        let mut logs = None;
        let mut placements = Vec::new();
        for range in &homeless {
            let Some(to) = owners.get(&range.id) else {
                continue;
            };
            let seen = match table.ranges().get(&shapes::id(range.id)) {
                Some(stored) => Seen::Key(stored.clone()),
                None => {
                    if logs.is_none() {
                        logs = self.possible_logs(&table).await;
                    }
                    let Some(logs) = &logs else { continue };
                    Seen::Absent {
                        shape: shapes::shape(range),
                        logs: logs.clone(),
                    }
                }
            };
            placements.push(registry::Placement {
                range: shapes::id(range.id),
                seen,
                to: to.clone(),
            });
        }
        for placements in placements.chunks(ASSIGN_MAX) {
            let assigned = self.term.assign(placements).await?;
            for (assignment, placement) in assigned.iter().zip(placements) {
                let server = &placement.to.name;
                tracing::info!(range = %assignment.range, server, "assigned a range");
            }
        }
        Ok(homeless.len() - placements.len())
    }

    /// The logs that may have rows of ranges without a key: those of dead processes, and those of living ones that do not
    /// say which ranges they have. `None` if they cannot be listed.
    async fn possible_logs(&self, table: &Table) -> Option<Vec<LogNumber>> {
        let uncollected = self.engines.uncollected_logs().await;
        let uncollected = uncollected
            .inspect_err(|error| tracing::warn!(%error, "cannot list the logs of the store"));
        let mut logs: BTreeSet<LogNumber> = uncollected
            .ok()?
            .into_iter()
            .map(|log| LogNumber(log.0))
            .collect();
        let of_servers = table.servers().iter().filter_map(|(name, server)| {
            let log = server.record.info.log?;
            logs.contains(&log).then_some((name, log))
        });
        let asking = of_servers.map(async |(name, log)| {
            let is_empty = self.hosts.holds_nothing_unlisted(name, table).await;
            is_empty.then_some(log)
        });
        for log in join_all(asking).await.into_iter().flatten() {
            logs.remove(&log);
        }
        Some(logs.into_iter().collect())
    }

    /// Assigns those of `ranges` that have no living owner, as far as there are servers for them. `ranges` returns all that
    /// may be assigned; each attempt asks it anew, so that a change of ranges can begin between two.
    ///
    /// # Errors
    /// [`CoordinatorError`]: the term is over.
    pub(crate) async fn assign_homeless(
        &self,
        ranges: impl Fn() -> Vec<RangeSpec> + Send + Sync,
    ) -> Result<(), CoordinatorError> {
        loop {
            let attempt = {
                let _turn = self.turn().await;
                self.try_assign(&ranges()).await
            };
            match attempt {
                Ok(0) => return Ok(()),
                // No server takes ranges.
                Ok(_) => return self.sleep(PAUSE).await,
                Err(error) => self.wait_after(error).await?,
            }
        }
    }

    /// Waits for what an attempt lacked.
    ///
    /// # Errors
    /// Another attempt is in vain.
    async fn wait_after(&self, error: TermError) -> Result<(), CoordinatorError> {
        match error {
            TermError::TooEarly(_, wait) => self.sleep(wait).await,
            TermError::NotSettled(_, life) => {
                let table = self.term.table().await.unwrap_or_default();
                let Some(expulsion) = table.expelled().get(&life) else {
                    return self.sleep(PAUSE).await;
                };
                let lease = Duration::from_millis(expulsion.record.lease_ms);
                match self.term.settle(life, lease).await {
                    Ok(()) => Ok(()),
                    Err(TermError::Registry(_)) => self.sleep(PAUSE).await,
                    Err(error) => Err(refused(&error)),
                }
            }
            TermError::Changed(_) | TermError::TargetGone(..) => Ok(()),
            TermError::Registry(RegistryError::LeaseEnded) | TermError::Over => {
                Err(refused(&error))
            }
            // The table was behind, or a change was not announced yet.
            TermError::OwnerAlive(_)
            | TermError::NotOneOwner(_)
            | TermError::VersionChanged
            | TermError::Registry(_) => self.sleep(PAUSE).await,
            TermError::Record(_) => Err(refused(&error)),
        }
    }

    /// # Errors
    /// The life of this process is over.
    async fn sleep(&self, time: Duration) -> Result<(), CoordinatorError> {
        let gate = self.member.gate();
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = gate.over() => Err(life_over()),
        }
    }
}

#[async_trait]
impl Coordinator for ManagerCoordinator {
    async fn confirm(&self) -> Result<(), CoordinatorError> {
        loop {
            match self.term.confirm().await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(refused(&TermError::Over)),
                Err(_) => self.sleep(PAUSE).await?,
            }
        }
    }

    async fn announce(&self, map: &MapRecord) -> Result<(), CoordinatorError> {
        loop {
            let attempt = {
                let _turn = self.turn().await;
                self.try_announce(map).await
            };
            match attempt {
                Ok(()) => return Ok(()),
                Err(error) => self.wait_after(error).await?,
            }
        }
    }

    /// After a turn, no assignment is under way that was decided before. From then on the owner of a range stays the same
    /// until the change is decided, unless it hands the range over: only this term could assign it to another.
    async fn begin_change(&self, ranges: &[RangeId]) -> Result<(), CoordinatorError> {
        let table = {
            let _turn = self.turn().await;
            let read = self.term.table().await;
            read.map_err(|error| CoordinatorError::NotNow(error.to_string()))?
        };
        let mut homeless = ranges
            .iter()
            .filter(|range| !has_living_owner(&table, **range));
        if let Some(range) = homeless.next() {
            let why = format!("range {range} has no server");
            return Err(CoordinatorError::NotNow(why));
        }
        match self.hosts.has_seen(&table, ranges).await {
            true => Ok(()),
            false => Err(CoordinatorError::NotNow("the registry is slow".to_owned())),
        }
    }

    /// Assigns the ranges that have no living owner. Their hosts learn it from the registry: returns no assignment.
    async fn assign(&self, ranges: &[RangeSpec]) -> Result<Vec<Assignment>, CoordinatorError> {
        self.assign_homeless(|| ranges.to_vec()).await?;
        Ok(Vec::new())
    }

    async fn activate(&self, assignment: &Assignment) -> Result<(), CoordinatorError> {
        // Hosts activate what they are assigned by themselves.
        Err(CoordinatorError::Superseded(assignment.range.id))
    }
}

fn refused(error: &TermError) -> CoordinatorError {
    let text = error.to_string();
    match error {
        TermError::Over | TermError::TargetGone(..) | TermError::Registry(_) => {
            CoordinatorError::NotManager(text)
        }
        _ => CoordinatorError::Damaged(text),
    }
}

fn life_over() -> CoordinatorError {
    CoordinatorError::NotManager(OwnershipError::LifeOver.to_string())
}
