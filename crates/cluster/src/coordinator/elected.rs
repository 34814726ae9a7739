//! The coordinator of a cluster in which one process, the elected manager, serves all ranges.

use super::shapes::{self, replacements};
use super::{Assignment, Coordinator, CoordinatorError};
use crate::map::{MapRecord, RangeSpec};
use async_trait::async_trait;
use parking_lot::Mutex;
use partita_coordinator::{
    self as registry, ASSIGN_MAX, Member, OwnershipError, Placement, RegistryError, Seen, Table,
    Term, TermError,
};
use partita_range::RangeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The pause after the registry failed.
const PAUSE: Duration = Duration::from_millis(100);

/// Assigns all ranges to this process, which was elected. Waits while the registry does not answer, until the lease of
/// this process has ended.
///
/// The logs of earlier owners are not listed in the registry: the engine seals all logs of the store when it opens.
#[derive(Debug)]
pub struct ElectedCoordinator {
    member: Arc<Member>,
    term: Term,
    /// One call at a time writes keys of ranges, so that their revisions do not change between reading and writing.
    writing: Semaphore,
    /// What was assigned, with what an activation needs.
    assigned: Mutex<HashMap<RangeId, registry::Assignment>>,
}

impl ElectedCoordinator {
    /// The coordinator of `member`, elected for `term`.
    #[must_use]
    pub fn new(member: Arc<Member>, term: Term) -> Self {
        Self {
            member,
            term,
            writing: Semaphore::new(1),
            assigned: Mutex::default(),
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
        for change in replacements(table.ranges(), &ranges) {
            self.term
                .replace(&change.old, &change.new, map.version)
                .await?;
        }
        Ok(())
    }

    /// One attempt to assign these ranges, in one transaction.
    async fn try_assign(&self, ranges: &[RangeSpec]) -> Result<Vec<Assignment>, TermError> {
        let table = self.term.table().await?;
        let placements: Vec<Placement> = ranges
            .iter()
            .map(|range| Placement {
                range: shapes::id(range.id),
                seen: seen(&table, range),
                to: self.member.owner().clone(),
            })
            .collect();
        let assigned = self.term.assign(&placements).await?;
        let mut known = self.assigned.lock();
        let assignments = ranges.iter().zip(assigned).map(|(range, assigned)| {
            let revision = assigned.revision.0;
            known.insert(range.id, assigned);
            Assignment {
                range: range.clone(),
                revision,
            }
        });
        Ok(assignments.collect())
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
            TermError::Changed(_) => Ok(()),
            TermError::Registry(RegistryError::LeaseEnded) | TermError::Over => {
                Err(refused(&error))
            }
            // The last owner gave up its term, and its lease is about to end.
            TermError::OwnerAlive(_) | TermError::Registry(_) => self.sleep(PAUSE).await,
            TermError::TargetGone(..) | TermError::NotOneOwner(_) | TermError::Record(_) => {
                Err(refused(&error))
            }
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
impl Coordinator for ElectedCoordinator {
    async fn announce(&self, map: &MapRecord) -> Result<(), CoordinatorError> {
        let _turn = self.turn().await;
        while let Err(error) = self.try_announce(map).await {
            self.wait_after(error).await?;
        }
        Ok(())
    }

    async fn assign(&self, ranges: &[RangeSpec]) -> Result<Vec<Assignment>, CoordinatorError> {
        let _turn = self.turn().await;
        let mut assignments = Vec::with_capacity(ranges.len());
        for ranges in ranges.chunks(ASSIGN_MAX) {
            let assigned = loop {
                match self.try_assign(ranges).await {
                    Ok(assigned) => break assigned,
                    Err(error) => self.wait_after(error).await?,
                }
            };
            assignments.extend(assigned);
        }
        Ok(assignments)
    }

    async fn activate(&self, assignment: &Assignment) -> Result<(), CoordinatorError> {
        let range = assignment.range.id;
        let assigned = self.assigned.lock().get(&range).cloned();
        let assigned = assigned.filter(|known| known.revision.0 == assignment.revision);
        let assigned = assigned.ok_or(CoordinatorError::Superseded(range))?;
        loop {
            match self.member.activate(&assigned).await {
                Ok(_tenure) => return Ok(()),
                Err(OwnershipError::Superseded(_)) => {
                    return Err(CoordinatorError::Superseded(range));
                }
                Err(OwnershipError::LifeOver) => return Err(life_over()),
                Err(OwnershipError::Record(error)) => {
                    return Err(CoordinatorError::Damaged(error.to_string()));
                }
                Err(OwnershipError::Registry(_)) => self.sleep(PAUSE).await?,
            }
        }
    }
}

fn seen(table: &Table, range: &RangeSpec) -> Seen {
    match table.ranges().get(&shapes::id(range.id)) {
        Some(stored) => Seen::Key(stored.clone()),
        None => Seen::Absent {
            shape: shapes::shape(range),
            logs: Vec::new(),
        },
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
