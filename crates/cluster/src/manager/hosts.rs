//! The hosts of all processes, as one host for the controller.

use super::link::{HostLink, LinkError};
use super::placement::Placement;
use crate::balance::Observed;
use crate::coordinator::{Assignment, has_living_owner, registry_id, serving_owner, takes_ranges};
use crate::error::{ChangeRefused, HostError};
use crate::host::{ChangeFailed, Host, Leftover, RangeAction, RangeChange, ServedFiles};
use crate::map::MapRecord;
use crate::member::RangeServer;
use crate::member::messages::{HostAnswer, HostRequest, KeyAnswer, Refusal, ids, numbers};
use crate::targets::TargetDemand;
use async_trait::async_trait;
use bytes::Bytes;
use futures::future::join_all;
use partita_coordinator::{Routes, Table};
use partita_engine::{ChangeError, EngineSet, FileUse, PinId, Pinned};
use partita_range::RangeId;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long a host may take to answer a question about its state, and a range to get its server after a change.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a move may take.
const MOVE_MAX: Duration = Duration::from_secs(30);

/// The load of a server since the last question.
#[derive(Debug)]
pub(crate) struct ServerLoad {
    /// The name of the server.
    pub(crate) server: String,
    /// Its ranges.
    pub(crate) ranges: Vec<Observed>,
    /// What was asked of its targets. `None` without targets, and from an earlier release.
    pub(crate) demands: Option<Vec<TargetDemand>>,
}

/// The hosts of all processes.
pub(crate) struct Hosts {
    /// The name of this server.
    name: String,
    own: Arc<RangeServer>,
    pub(super) routes: Routes,
    link: Arc<dyn HostLink>,
    placement: Arc<Placement>,
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts").finish_non_exhaustive()
    }
}

impl Hosts {
    pub(crate) fn new(
        name: String,
        own: Arc<RangeServer>,
        routes: Routes,
        link: Arc<dyn HostLink>,
        placement: Arc<Placement>,
    ) -> Self {
        Self {
            name,
            own,
            routes,
            link,
            placement,
        }
    }

    /// The server that serves a range.
    fn owner(&self, range: RangeId) -> Option<String> {
        serving_owner(&self.routes.current(), range)
    }

    /// The server that serves a range. Waits for one that is about to: after a split or a move, the keys of the registry
    /// arrive a moment later.
    async fn owner_soon(&self, range: RangeId) -> Result<String, ChangeRefused> {
        let is_served = |table: &Table| serving_owner(table, range).is_some();
        let table = self.routes.wait_for(PATIENCE, is_served).await;
        let owner = table.and_then(|table| serving_owner(&table, range));
        owner.ok_or_else(|| unserved(range))
    }

    /// Waits until the copy of the keys that this process has is not behind `read`, for these ranges. Returns `false` if it
    /// takes too long.
    pub(super) async fn has_seen(&self, read: &Table, ranges: &[RangeId]) -> bool {
        let revision = |table: &Table, range: &RangeId| {
            let key = table.ranges().get(&registry_id(*range));
            key.map(|key| key.revision)
        };
        let is_seen = |table: &Table| {
            let mut ranges = ranges.iter();
            ranges.all(|range| revision(table, range) >= revision(read, range))
        };
        self.routes.wait_for(PATIENCE, is_seen).await.is_some()
    }

    /// The databases of this process, which can release the pins of all.
    pub(super) fn own_engines(&self) -> &Arc<dyn EngineSet> {
        self.own.cluster().engines()
    }

    pub(super) async fn ask(
        &self,
        server: &str,
        request: &HostRequest,
    ) -> Result<HostAnswer, LinkError> {
        let request = serde_json::to_vec(request).expect("a request is JSON");
        let answer = match server == self.name {
            true => self.own.answer(&request).await,
            false => self.link.ask(server, request).await?,
        };
        serde_json::from_slice(&answer).map_err(|error| LinkError::Unknown(error.to_string()))
    }

    /// Asks the owner of `ranges` until its lease has ended. After that it may still do what it was asked.
    async fn ask_alive(
        &self,
        owner: &str,
        ranges: &[RangeId],
        request: &HostRequest,
    ) -> Result<HostAnswer, LinkError> {
        let is_dead = |table: &Table| {
            let mut ranges = ranges.iter();
            !ranges.all(|range| has_living_owner(table, *range))
        };
        tokio::select! {
            biased;
            answer = self.ask(owner, request) => answer,
            Some(_) = self.routes.wait_for(Duration::MAX, is_dead) => {
                Err(LinkError::Unknown("its lease has ended".into()))
            }
        }
    }

    /// Asks about the state of a server.
    pub(super) async fn ask_soon(
        &self,
        server: &str,
        request: &HostRequest,
    ) -> Result<HostAnswer, LinkError> {
        let asked = tokio::time::timeout(PATIENCE, self.ask(server, request)).await;
        asked.unwrap_or_else(|_| Err(LinkError::Unknown("it takes too long".into())))
    }

    /// Asks the server that serves a range.
    async fn ask_owner(
        &self,
        range: RangeId,
        request: &HostRequest,
    ) -> Result<HostAnswer, ChangeRefused> {
        let owner = self.owner_soon(range).await?;
        let asked = self.ask(&owner, request).await;
        match asked.map_err(ChangeRefused::failed)? {
            HostAnswer::Refused { why } => Err(why.into()),
            answer => Ok(answer),
        }
    }

    /// The only server that serves all of `ranges`.
    fn common_owner(&self, ranges: &[RangeId]) -> Result<String, ChangeRefused> {
        let mut owners = BTreeSet::new();
        for range in ranges {
            owners.insert(self.owner(*range).ok_or_else(|| unserved(*range))?);
        }
        match owners.pop_first() {
            Some(owner) if owners.is_empty() => Ok(owner),
            // They were together when the change was planned.
            _ => Err(ChangeRefused::Failed(
                "the ranges are served by different servers now".into(),
            )),
        }
    }

    /// The load of the ranges of each server since the last question, in key order; empty for one that did not answer.
    pub(crate) async fn loads(&self, table: &Table) -> Vec<ServerLoad> {
        let asking = table.servers().keys().map(|server| async move {
            let asked = self.ask_soon(server, &HostRequest::Loads).await;
            let (loads, demands) = match asked {
                Ok(HostAnswer::Loads { loads, demands }) => (loads, demands),
                other => {
                    tracing::debug!(server, ?other, "a server did not tell its load");
                    (Vec::new(), None)
                }
            };
            ServerLoad {
                server: server.clone(),
                ranges: loads.into_iter().map(Observed::from).collect(),
                demands,
            }
        });
        join_all(asking).await
    }

    /// Whether a living server says that all ranges which it has are listed as its own.
    pub(crate) async fn holds_nothing_unlisted(&self, server: &str, table: &Table) -> bool {
        let Ok(HostAnswer::Ranges { ranges }) = self.ask_soon(server, &HostRequest::Holds).await
        else {
            return false;
        };
        ranges.into_iter().all(|range| {
            let key = table.ranges().get(&registry_id(RangeId(range)));
            let owner = key.and_then(|key| key.record.owner());
            owner.is_some_and(|owner| owner.name == server)
        })
    }

    /// Makes the server of a range hand it over.
    ///
    /// # Errors
    /// [`ChangeRefused`]; the range may be released nevertheless.
    async fn hand_over(&self, range: RangeId) -> Result<(), ChangeRefused> {
        let request = HostRequest::HandOver { range: range.0 };
        self.ask_owner(range, &request).await.map(drop)
    }

    /// Moves a range to a server. Returns when that server serves it.
    ///
    /// # Errors
    /// [`ChangeRefused`]; the range may be moved nevertheless, or get another owner.
    pub(super) async fn move_range(&self, range: RangeId, to: &str) -> Result<(), ChangeRefused> {
        if !takes_ranges(&self.routes.current(), to) {
            let why = format!("server {to} is not a member of the cluster, or takes no ranges");
            return Err(ChangeRefused::Failed(why.into()));
        }
        let serves = |table: &Table| {
            let key = table.ranges().get(&registry_id(range));
            key.is_some_and(|key| key.record.is_served_by(to))
        };
        if serves(&self.routes.current()) {
            return Ok(());
        }
        let preference = self.placement.prefer(range, to);
        let _preference = preference.ok_or_else(|| {
            ChangeRefused::Failed(format!("range {range} is being moved already").into())
        })?;
        self.hand_over(range).await?;
        match self.routes.wait_for(MOVE_MAX, serves).await {
            Some(_) => Ok(()),
            None => Err(ChangeRefused::Failed(
                format!("server {to} has not opened range {range} yet").into(),
            )),
        }
    }
}

#[async_trait]
impl Host for Hosts {
    /// The hosts learn from the registry what they are assigned.
    async fn open(&self, _assignments: Vec<Assignment>) -> Result<(), HostError> {
        Ok(())
    }

    async fn close(&self) {}

    /// Moves the ranges with less load to the server of the one with the most, unless that server is draining.
    async fn gather(&self, ranges: &[RangeId]) -> Result<(), ChangeRefused> {
        let mut owners = Vec::with_capacity(ranges.len());
        for range in ranges {
            owners.push((*range, self.owner_soon(*range).await?));
        }
        if owners.iter().all(|(_, owner)| *owner == owners[0].1) {
            return Ok(());
        }
        let table = self.routes.current();
        let takers = owners
            .iter()
            .filter(|(_, owner)| takes_ranges(&table, owner));
        let load = |range: RangeId| self.placement.cores(range).unwrap_or_default();
        let busiest = takers.max_by(|(a, _), (b, _)| load(*a).total_cmp(&load(*b)));
        let Some((_, target)) = busiest else {
            let why = "the servers of the ranges take no others";
            return Err(ChangeRefused::Failed(why.into()));
        };
        for (range, _) in owners.iter().filter(|(_, owner)| owner != target) {
            self.move_range(*range, target).await?;
            tracing::info!(%range, to = target, "moved a range, to merge it");
        }
        Ok(())
    }

    async fn survey(&self, ranges: &[RangeId]) -> Result<Vec<u64>, ChangeRefused> {
        let mut counts = Vec::with_capacity(ranges.len());
        for range in ranges {
            let request = HostRequest::Survey {
                ranges: vec![range.0],
            };
            match self.ask_owner(*range, &request).await? {
                HostAnswer::Counts { counts: of_range } => counts.extend(of_range),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(counts)
    }

    async fn split_key(&self, range: RangeId) -> Result<Bytes, ChangeRefused> {
        let request = HostRequest::SplitKey { range: range.0 };
        match self.ask_owner(range, &request).await? {
            HostAnswer::Key(KeyAnswer { key }) => Ok(key),
            other => Err(unexpected(&other)),
        }
    }

    async fn change(
        &self,
        change: &RangeChange,
        decision: &MapRecord,
    ) -> Result<Duration, ChangeFailed> {
        let not_begun = |why| ChangeFailed {
            why,
            leftover: Leftover::Closed,
        };
        let owner = self.common_owner(&change.old).map_err(not_begun)?;
        let request = HostRequest::Change {
            record: change.record.clone(),
            new: change.new.iter().map(|new| (&new.spec).into()).collect(),
            decision: Box::new(decision.clone()),
        };
        let (why, is_closed) = match self.ask_alive(&owner, &change.old, &request).await {
            Ok(HostAnswer::Changed { transit_us }) => return Ok(Duration::from_micros(transit_us)),
            Ok(HostAnswer::ChangeFailed { why, is_closed }) => (why.into(), is_closed),
            Ok(HostAnswer::Refused { why }) => (why.into(), true),
            Ok(other) => (unexpected(&other), false),
            Err(error @ LinkError::NotSent(_)) => (ChangeRefused::failed(error), true),
            // The host may still decide it. The record that rolls the change back tells.
            Err(error @ LinkError::Unknown(_)) => (ChangeRefused::failed(error), false),
        };
        Err(ChangeFailed {
            why,
            leftover: match is_closed {
                true => Leftover::Closed,
                false => Leftover::Unfinished,
            },
        })
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        self.pin_all(ranges).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.own.cluster().local_host().unpin(range, pin).await?;
        let collect = HostRequest::Act {
            range: range.0,
            action: RangeAction::Collect.into(),
        };
        // A later compaction collects the garbage, too.
        let _ = self.ask_owner(range, &collect).await;
        Ok(())
    }

    async fn files(&self) -> Result<ServedFiles, ChangeError> {
        let table = self.routes.current();
        let asking = table.servers().keys().map(|server| async move {
            let answered = self.ask_soon(server, &HostRequest::Files).await;
            (server.clone(), answered)
        });
        let mut all = ServedFiles::default();
        for (server, answered) in join_all(asking).await {
            match answered {
                Ok(HostAnswer::Files { files }) => {
                    let files = files.into_iter();
                    let files = files.map(|(name, bytes)| FileUse { name, bytes });
                    all.files.extend(files);
                }
                other => {
                    tracing::debug!(server, ?other, "a server did not tell its files");
                    all.silent.push(server);
                }
            }
        }
        Ok(all)
    }

    async fn act(&self, range: RangeId, action: RangeAction) -> Result<(), HostError> {
        let request = HostRequest::Act {
            range: range.0,
            action: action.into(),
        };
        match self.ask_owner(range, &request).await {
            Ok(_) => Ok(()),
            Err(ChangeRefused::NoSuchRange(range)) => Err(HostError::NoSuchRange(range)),
            Err(why) => Err(HostError::Unanswered {
                range,
                why: why.to_string(),
            }),
        }
    }

    /// Each log has only ranges of its process.
    async fn drop_unknown(&self) {}

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        let mut left = ranges.to_vec();
        for server in self.routes.current().servers().keys() {
            let request = HostRequest::Removable {
                ranges: numbers(&left),
            };
            match self.ask(server, &request).await {
                Ok(HostAnswer::Ranges { ranges }) => left = ids(ranges),
                Ok(other) => return Err(failed(unexpected(&other).to_string())),
                Err(error) => return Err(failed(error.to_string())),
            }
            if left.is_empty() {
                break;
            }
        }
        Ok(left)
    }
}

fn unserved(range: RangeId) -> ChangeRefused {
    ChangeRefused::Failed(format!("no server serves range {range} now").into())
}

fn unexpected(answer: &HostAnswer) -> ChangeRefused {
    match answer {
        HostAnswer::Refused {
            why: Refusal::Failed(why),
        } => ChangeRefused::Failed(Arc::clone(why)),
        other => ChangeRefused::Failed(format!("unexpected answer of a server: {other:?}").into()),
    }
}

fn failed(why: String) -> ChangeError {
    ChangeError::Elsewhere(why.into())
}
