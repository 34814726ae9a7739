//! The elected manager: it assigns ranges without an owner, balances them, and deletes what dead processes leave behind.
//!
//! ```text
//!  elected ─▶ read the map, decide an interrupted change ─▶ make the keys those of the map ─▶ assign what has no owner
//!      ┌────────────────────────────────────────────────────────────────────────────────────────┘
//!      ▼
//!  each change of the registry: assign what has no owner      each second: moves      each ten seconds: splits, logs
//!      │ the term is over, or another process stored a version of the map
//!      ▼
//!  give up ─▶ another process is elected, or this one again
//! ```
//!
//! The registry and the map decide everything. A manager that is paused and goes on in a later term is refused there.

mod coordinator;
mod cut;
mod hosts;
mod link;
mod logs;
mod placement;
mod target_shares;
#[cfg(test)]
mod tests;
mod upgrade;

use crate::cluster::Cluster;
use crate::coordinator::{Coordinator, CoordinatorError, registry_id};
use crate::error::{ChangeRefused, StartError, error_chain};
use crate::host::Host;
use crate::lead::Lead;
use crate::map::RangeSpec;
use crate::member::RangeServer;
use crate::placement::{Move, PlacementSettings};
use crate::version_store::VersionStore;
use coordinator::ManagerCoordinator;
use hosts::Hosts;
use logs::OldLogs;
use partita_coordinator::{ClusterVersion, Member, RegistryError, Routes, Table, Term};
use partita_range::RangeId;
use partita_rt::{Clock, Tasks};
use placement::{Placement, servers_with_ranges};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use upgrade::Upgrade;

pub use link::{HostLink, LinkError};
pub use upgrade::FinalizeRefused;

/// How often the manager looks for moves, and for changes of the registry that it has missed.
const TICK: Duration = Duration::from_secs(1);

/// How often it asks the servers for their load, and divides the targets. A hot range is to be split, and half of it on
/// another server, within 10 s.
const LOADS: Duration = Duration::from_secs(2);

/// How often it looks for logs that no range needs.
const LOGS: Duration = Duration::from_secs(10);

/// What a manager needs.
pub struct ManagerParts {
    /// The ranges of this process.
    pub server: Arc<RangeServer>,
    /// The life of this process.
    pub member: Arc<Member>,
    /// The keys of the registry.
    pub routes: Routes,
    /// Reaches the other processes.
    pub link: Arc<dyn HostLink>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The cluster version of the store.
    pub versions: VersionStore,
    /// How long all servers must have supported the next cluster version before it becomes active without a request.
    pub finalize_after: Duration,
}

/// The elected manager. Used as `Arc<Manager>`.
pub struct Manager {
    cluster: Arc<Cluster>,
    member: Arc<Member>,
    routes: Routes,
    clock: Arc<dyn Clock>,
    hosts: Arc<Hosts>,
    coordinator: Arc<ManagerCoordinator>,
    placement: Arc<Placement>,
    term: Arc<Term>,
    upgrade: Upgrade,
    tasks: Tasks,
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("term", &self.term.number())
            .finish_non_exhaustive()
    }
}

impl Manager {
    /// The manager of this term.
    #[must_use]
    pub fn new(parts: ManagerParts, term: Term) -> Arc<Self> {
        let ManagerParts {
            server,
            member,
            routes,
            link,
            clock,
            versions,
            finalize_after,
        } = parts;
        let (cluster, term) = (Arc::clone(server.cluster()), Arc::new(term));
        let name = member.owner().name.clone();
        let placement = Placement::new(PlacementSettings::default(), Arc::clone(&clock));
        let placement = Arc::new(placement);
        let hosts = Hosts::new(name, server, routes.clone(), link, Arc::clone(&placement));
        let hosts = Arc::new(hosts);
        let coordinator = ManagerCoordinator::new(
            Arc::clone(&member),
            Arc::clone(&term),
            Arc::clone(&hosts),
            Arc::clone(cluster.engines()),
            Arc::clone(&placement),
        );
        let (of_term, of_upgrade) = (Arc::clone(&term), Arc::clone(&clock));
        let upgrade = Upgrade::new(of_term, versions, of_upgrade, finalize_after);
        Arc::new(Self {
            cluster,
            member,
            routes,
            clock,
            hosts,
            coordinator: Arc::new(coordinator),
            placement,
            term,
            upgrade,
            tasks: Tasks::new(),
        })
    }

    /// Manages until the term or the life of this process is over. Give it up when this was dropped, too.
    ///
    /// # Errors
    /// [`StartError`] if the term cannot begin.
    pub async fn run(self: &Arc<Self>) -> Result<(), StartError> {
        let number = partita_rt::random::u64();
        let coordinator = Arc::clone(&self.coordinator) as Arc<dyn Coordinator>;
        let hosts = Arc::clone(&self.hosts) as Arc<dyn Host>;
        let lead = Lead::begin(Arc::clone(&self.cluster), coordinator, hosts, number).await?;
        let why: Arc<str> = tokio::select! {
            error = self.manage(&lead) => error.to_string().into(),
            () = lead.conflicted() => "another server has stored a version of the partition map".into(),
            () = self.member.gate().over() => "the lease of this server has ended".into(),
        };
        tracing::info!(term = self.term.number().0, %why, "not the manager any more");
        lead.give_up().await;
        Ok(())
    }

    /// Ends the term, so that another server is elected.
    ///
    /// # Errors
    /// [`RegistryError`]: it ends with the lease.
    pub async fn give_up(&self) -> Result<(), RegistryError> {
        // What the tasks have begun, other servers complete.
        self.tasks.shut_down();
        self.term.end().await
    }

    /// Assigns and balances until the term is over.
    async fn manage(self: &Arc<Self>, lead: &Lead) -> CoordinatorError {
        let (mut logs, mut loads_read, mut logs_read) = (OldLogs::default(), None, None);
        let is_due = |last: &mut Option<Instant>, every, now: Instant| {
            let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= every);
            if is_due {
                *last = Some(now);
            }
            is_due
        };
        loop {
            let (changed, decided) = (self.routes.changed(), lead.decided());
            let assigned = self.coordinator.assign_homeless(|| lead.assignable()).await;
            if let Err(error) = assigned {
                return error;
            }
            let ranges: Vec<RangeSpec> = lead.record().specs().collect();
            // A store that stands still must not delay assignments.
            let table = self.routes.current();
            let _ = tokio::time::timeout(TICK, self.upgrade.tick(&table)).await;
            let now = self.clock.monotonic();
            if is_due(&mut loads_read, LOADS, now) {
                self.observe(lead, &ranges).await;
            }
            if is_due(&mut logs_read, LOGS, now) {
                self.collect_logs(&mut logs, &ranges, now).await;
            }
            let ids: Vec<RangeId> = ranges.iter().map(|range| range.id).collect();
            for decided in self.placement.moves(&self.routes.current(), &ids) {
                self.begin_move(decided);
            }
            tokio::select! {
                () = changed => {}
                () = decided => {}
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Asks the servers for the load of their ranges, for the balancer and the placement, and for what was asked of their
    /// targets, which it divides.
    async fn observe(&self, lead: &Lead, ranges: &[RangeSpec]) {
        let table = self.routes.current();
        let (mut loads, mut demands) = (BTreeMap::new(), BTreeMap::new());
        for load in self.hosts.loads(&table).await {
            loads.extend(load.ranges.into_iter().map(|range| (range.id, range)));
            demands.extend(load.demands.map(|of_server| (load.server, of_server)));
        }
        self.hosts.divide_targets(&table, &demands).await;
        let observed = ranges.iter().filter_map(|range| loads.remove(&range.id));
        let observed: Vec<_> = observed.collect();
        self.placement.note(&observed);
        let table = self.routes.current();
        if table.balances() {
            lead.observe(observed, servers_with_ranges(&table));
        }
    }

    async fn collect_logs(&self, logs: &mut OldLogs, ranges: &[RangeSpec], now: Instant) {
        // A range without a key may need any log.
        let has_all_keys = |table: &Table| {
            let mut ids = ranges.iter().map(|range| registry_id(range.id));
            ids.all(|id| table.ranges().contains_key(&id))
        };
        let table = self.routes.current();
        if has_all_keys(&table) {
            let read_again = async {
                let table = self.term.table().await.ok();
                table.filter(|table| has_all_keys(table))
            };
            let engines = &**self.cluster.engines();
            logs.collect(engines, &table, now, read_again).await;
        }
    }

    fn begin_move(
        self: &Arc<Self>,
        Move {
            range,
            from,
            to,
            reason,
        }: Move,
    ) {
        let manager = Arc::clone(self);
        self.tasks.spawn("move a range", async move {
            match manager.move_range(range, &to).await {
                Ok(()) => tracing::info!(%range, %from, %to, ?reason, "moved a range"),
                Err(why) => tracing::warn!(%range, %from, %to, %why, "cannot move a range"),
            }
        });
    }

    /// Moves a range to a server. Returns when that server serves it.
    ///
    /// # Errors
    /// [`ChangeRefused`]; the range may be moved nevertheless, or get another owner.
    pub async fn move_range(&self, range: RangeId, to: &str) -> Result<(), ChangeRefused> {
        self.hosts.move_range(range, to).await
    }

    /// Says whether this manager and later ones split, merge and move ranges of their own accord. Draining servers are
    /// emptied, and ranges without an owner assigned, in any case.
    ///
    /// # Errors
    /// The term is over, or the registry failed.
    pub async fn set_balance(&self, on: bool) -> Result<(), ChangeRefused> {
        let set = self.term.set_balance(on).await;
        set.map_err(|error| ChangeRefused::Failed(error_chain(&error)))
    }

    /// Makes the next cluster version active, if all servers support it. Returns it. It cannot be made inactive again.
    ///
    /// # Errors
    /// [`FinalizeRefused`].
    pub async fn finalize(&self) -> Result<ClusterVersion, FinalizeRefused> {
        self.upgrade.finalize().await
    }

    /// Ends the lease of a server, although it may be alive. Its ranges are assigned once its gate is surely closed.
    ///
    /// # Errors
    /// The server is not a member, or the registry failed.
    pub async fn expel(&self, server: &str) -> Result<(), ChangeRefused> {
        let table = self.routes.current();
        let found = table.servers().get(server);
        let found = found.ok_or_else(|| {
            ChangeRefused::Failed(format!("server {server} is not a member of the cluster").into())
        })?;
        let owner = partita_coordinator::Owner {
            name: server.to_owned(),
            life: found.record.life,
        };
        let expelled = self.member.expel(&owner, found.record.lease_ms).await;
        expelled
            .map(drop)
            .map_err(|error| ChangeRefused::Failed(error_chain(&error)))
    }
}
