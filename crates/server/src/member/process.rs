//! The life of a server in its cluster: it joins, takes over the ranges that it is assigned, and stands for election when
//! the cluster has no manager.
//!
//! ```text
//!  join ─▶ take over, serve, hand over ─▶ lease over, or the log sealed ─▶ ended
//!   ▲        │ beside it: wait while another is manager ─▶ stand ─▶ manage ─▶ term over ─┐
//!   │        │              ▲────────────────────────────────────────────────────────────┘
//!   └────────┘ lease over, or the log sealed, without a range
//! ```
//!
//! A process opens the store once. When it loses ranges, its life has ended, and the process must be started again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use partita_cluster::{
    HostLink, Manager, ManagerParts, RangeServer, VersionStore, VersionStoreError, error_chain,
};
use partita_coordinator::{
    Election, JoinError, LogNumber, Member, MemberParts, Registry, Role, Routes, ServerInfo,
    StateDir, Table, Term, VersionRefused,
};
use partita_engine::ChangeError;
use partita_rt::{Clock, Shutdown, Tasks};
use tokio::sync::watch;

use super::clock_check;
use super::hosting::HostingParts;
use super::life::Life;
use super::shared_settings::differences;
use crate::forwarding::{LifeGate, RegistryRouting};

/// The pause after the registry failed.
const PAUSE: Duration = Duration::from_millis(200);

/// The pause after a term that could not begin.
const TERM_PAUSE: Duration = Duration::from_secs(2);

/// Longer than any table is waited for: the wait begins anew.
const LONG: Duration = Duration::from_secs(3600);

/// Time to close a store that another server may have taken over, or to end what is being taken over.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

/// What a life in a cluster needs.
pub(crate) struct LifeParts {
    pub(crate) registry: Arc<dyn Registry>,
    /// The copy of the registry's keys.
    pub(crate) routes: Routes,
    /// Reaches the other servers.
    pub(crate) routing: Arc<RegistryRouting>,
    pub(crate) gate: Arc<LifeGate>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The name of the server.
    pub(crate) name: String,
    /// What it says about itself.
    pub(crate) info: ServerInfo,
    /// The requested TTL of the lease.
    pub(crate) ttl: Duration,
    /// The state directory.
    pub(crate) state_dir: PathBuf,
    /// The cluster version of the store.
    pub(crate) versions: VersionStore,
    /// How long all servers must have supported the next cluster version before it becomes active without a request.
    pub(crate) finalize_after: Duration,
}

/// Begins the life of a server. `links` are the connections to other servers.
pub(super) fn begin(parts: LifeParts, hosting: HostingParts, links: Tasks) -> Life {
    let tasks = Tasks::new();
    let (sender, ended) = watch::channel(None);
    let membership = Arc::clone(&hosting.membership);
    let process = Process {
        parts,
        hosting,
        tasks: tasks.clone(),
    };
    let shutdown = tasks.shutdown();
    tasks.spawn("life in the cluster", async move {
        if let Some(why) = process.live(shutdown).await {
            sender.send_replace(Some(why));
        }
    });
    Life {
        tasks,
        links,
        ended,
        membership,
    }
}

/// Why an attempt to join failed.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error(transparent)]
    Version(#[from] VersionRefused),
    #[error(transparent)]
    Store(#[from] VersionStoreError),
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// The task of a life.
struct Process {
    parts: LifeParts,
    hosting: HostingParts,
    tasks: Tasks,
}

impl Process {
    /// Lives until the shutdown, or until ranges are lost: then says why.
    async fn live(&self, shutdown: Shutdown) -> Option<Arc<str>> {
        loop {
            let member = tokio::select! {
                member = self.join() => match member {
                    Ok(member) => Arc::new(member),
                    Err(why) => return Some(why),
                },
                () = shutdown.requested() => return None,
            };
            self.parts.gate.begin(member.gate().clone());
            let ended = self.be_member(&member, &shutdown).await;
            let is_last = ended.is_some() || shutdown.is_requested();
            if is_last || !member.gate().is_over() {
                // If it fails, the lease expires by itself.
                let _ = member.close().await;
            }
            if is_last {
                return ended;
            }
            tokio::select! {
                renewed = self.renew_log() => if let Err(why) = renewed {
                    return Some(why);
                },
                () = shutdown.requested() => return None,
            }
        }
    }

    /// Begins the log of the next life. The servers that take over what the last life held, or may have held, seal its log
    /// when they do so, which may be later.
    ///
    /// # Errors
    /// A range is open after all, or the store was closed.
    async fn renew_log(&self) -> Result<(), Arc<str>> {
        while let Err(error) = self.hosting.opening.renew_log().await {
            if matches!(error, ChangeError::State(_) | ChangeError::Unavailable) {
                return Err(format!("cannot begin a new log: {error}").into());
            }
            tracing::warn!(error = %error_chain(&error), "cannot begin a new log; retrying");
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Joins the cluster, as soon as the registry answers and no other process has the name.
    ///
    /// # Errors
    /// The settings differ from those of a member, the clock from that of the manager, or the program does not support the
    /// version of the cluster.
    async fn join(&self) -> Result<Member, Arc<str>> {
        let mut reported = String::new();
        loop {
            self.compare_settings().await?;
            self.compare_clocks().await?;
            let error = match self.try_join().await {
                Ok(member) => {
                    tracing::info!(life = %member.owner().life, server = self.parts.name, "joined the cluster");
                    return Ok(member);
                }
                Err(
                    AttemptError::Version(refused)
                    | AttemptError::Join(JoinError::Version(refused)),
                ) => return Err(refused.to_string().into()),
                Err(error) => error_chain(&error).to_string(),
            };
            if error != reported {
                tracing::warn!(%error, "cannot join the cluster; retrying");
                reported = error;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Compares the settings that all servers must share with those of the members.
    async fn compare_settings(&self) -> Result<(), Arc<str>> {
        let is_read = |table: &Table| table.revision().0 > 0;
        let Some(table) = self.parts.routes.wait_for(LONG, is_read).await else {
            return Ok(());
        };
        for (name, server) in table.servers() {
            let differences = differences(&self.parts.info.settings, &server.record.info.settings);
            if *name != self.parts.name && !differences.is_empty() {
                let differences = differences.join(", ");
                let why = format!(
                    "the settings differ from those of {name}, a member of the cluster: {differences}"
                );
                return Err(why.into());
            }
        }
        Ok(())
    }

    /// Compares the clock with that of the manager.
    async fn compare_clocks(&self) -> Result<(), Arc<str>> {
        let parts = &self.parts;
        let (routes, routing) = (&parts.routes, &parts.routing);
        let refused = clock_check::refusal(&parts.name, &*parts.clock, routes, routing).await;
        refused.map_or(Ok(()), |why| Err(why.into()))
    }

    async fn try_join(&self) -> Result<Member, AttemptError> {
        let parts = &self.parts;
        // The registry does not know the version after it has lost its data.
        let version = parts.versions.version().await?;
        parts.info.versions().check(version)?;
        let log = self.hosting.opening.log();
        let joining = Member::join(MemberParts {
            registry: Arc::clone(&parts.registry),
            clock: Arc::clone(&parts.clock),
            tasks: self.tasks.clone(),
            name: parts.name.clone(),
            info: ServerInfo {
                log: log.map(|log| LogNumber(log.0)),
                ..parts.info.clone()
            },
            ttl: parts.ttl,
            state_dir: StateDir::open(&parts.state_dir).map_err(JoinError::from)?,
        });
        Ok(joining.await?)
    }

    /// Lives one life as a member. Returns why ranges were lost, or nothing if there were none.
    async fn be_member(&self, member: &Arc<Member>, shutdown: &Shutdown) -> Option<Arc<str>> {
        let tasks = Tasks::new();
        let cluster = Arc::clone(self.hosting.opening.cluster()?);
        let routes = self.parts.routes.clone();
        let server = RangeServer::start(Arc::clone(&cluster), Arc::clone(member), routes, &tasks);
        let membership = &self.hosting.membership;
        membership.set_range_server(Some(Arc::clone(&server)));
        let why = tokio::select! {
            () = member.gate().over() => "the lease of this server has ended".into(),
            by = self.hosting.opening.fenced() => by,
            why = server.failed() => why,
            () = self.manage(member, &server) => return None,
            () = shutdown.requested() => {
                self.end_term().await;
                membership.set_range_server(None);
                tasks.shut_down();
                return None;
            }
        };
        membership.set_manager(None);
        membership.set_range_server(None);
        tasks.shut_down();
        if server.can_begin_anew(CLOSE_PATIENCE).await {
            tracing::warn!(%why, "joining the cluster again");
            return None;
        }
        tracing::error!(%why, "the ranges of this server are lost: other servers take them over");
        // The services stay: until this process ends, which takes seconds, it forwards requests like a server without
        // ranges. Requests that it refused at once would use up the retries of clients.
        cluster.local_host().stop_serving();
        let closing = self.hosting.opening.close();
        if tokio::time::timeout(CLOSE_PATIENCE, closing).await.is_err() {
            tracing::warn!("the store was not closed in time");
        }
        Some(why)
    }

    /// Manages the ranges of all servers whenever this one is elected. Never ends.
    async fn manage(&self, member: &Arc<Member>, server: &Arc<RangeServer>) {
        if !self.parts.info.has_role(Role::Manager) {
            return std::future::pending().await;
        }
        loop {
            let term = self.elected(member).await;
            tracing::info!(term = term.number().0, "elected as the manager");
            let parts = ManagerParts {
                server: Arc::clone(server),
                member: Arc::clone(member),
                routes: self.parts.routes.clone(),
                link: Arc::clone(&self.parts.routing) as Arc<dyn HostLink>,
                clock: Arc::clone(&self.parts.clock),
                versions: self.parts.versions.clone(),
                finalize_after: self.parts.finalize_after,
            };
            let manager = Manager::new(parts, term);
            self.hosting
                .membership
                .set_manager(Some(Arc::clone(&manager)));
            if let Err(error) = manager.run().await {
                let error = error_chain(&error);
                tracing::error!(%error, "cannot manage the ranges of the cluster");
                self.end_term().await;
                tokio::time::sleep(TERM_PAUSE).await;
            }
            self.end_term().await;
        }
    }

    /// Ends the term of this server, if it has one.
    async fn end_term(&self) {
        let membership = &self.hosting.membership;
        if let Some(manager) = membership.manager() {
            membership.set_manager(None);
            if let Err(error) = manager.give_up().await {
                tracing::debug!(%error, "the term ends with the lease");
            }
        }
    }

    /// Waits until this process is elected. It stands each time the cluster has lost its manager.
    async fn elected(&self, member: &Member) -> Term {
        loop {
            let vacant = |table: &Table| table.revision().0 > 0 && table.manager().is_none();
            if self.parts.routes.wait_for(LONG, vacant).await.is_none() {
                continue;
            }
            match member.stand().await {
                Ok(Election::Elected(term)) => return term,
                Ok(Election::Held(_)) => self.until_seen().await,
                Err(error) => {
                    tracing::debug!(%error, "cannot stand for election; retrying");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Waits until the copy of the keys shows the manager that the registry has.
    async fn until_seen(&self) {
        let has_manager = |table: &Table| table.manager().is_some();
        let _ = self.parts.routes.wait_for(PAUSE, has_manager).await;
    }
}
