//! The life of a server in its cluster: it joins, stands for election when the cluster has no manager, and serves the store
//! while it is the manager.
//!
//! ```text
//!  join ─▶ wait while another is manager ─▶ stand ─▶ open the store ─▶ host ─▶ lease over, or fenced ─▶ ended
//!   ▲                │ lease over                │ held by another
//!   └────────────────┘◀──────────────────────────┘
//! ```
//!
//! A process opens the store once. When it loses it, its life has ended, and the process must be started again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use partita_cluster::ElectedCoordinator;
use partita_coordinator::{
    Election, JoinError, Member, MemberParts, Registry, Routes, ServerInfo, StateDir, Table, Term,
};
use partita_peer::forward::Tenure;
use partita_rt::{Clock, Shutdown, Tasks};
use tokio::sync::watch;

use super::hosting::HostingParts;
use super::life::Life;
use crate::forwarding::{Hosted, STORE};

/// The pause after the registry failed.
const PAUSE: Duration = Duration::from_millis(200);

/// Longer than any table is waited for: the wait begins anew.
const LONG: Duration = Duration::from_secs(3600);

/// Time to close a store that another server may have taken over.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

/// What a life in a cluster needs.
pub(crate) struct LifeParts {
    pub(crate) registry: Arc<dyn Registry>,
    /// The copy of the registry's keys.
    pub(crate) routes: Routes,
    pub(crate) clock: Arc<dyn Clock>,
    /// The name of the server.
    pub(crate) name: String,
    /// What it says about itself.
    pub(crate) info: ServerInfo,
    /// The requested TTL of the lease.
    pub(crate) ttl: Duration,
    /// The state directory.
    pub(crate) state_dir: PathBuf,
}

/// Begins the life of a server. `links` are the connections to other servers.
pub(super) fn begin(parts: LifeParts, hosting: HostingParts, links: Tasks) -> Life {
    let tasks = Tasks::new();
    let (sender, ended) = watch::channel(None);
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
    }
}

/// The task of a life.
struct Process {
    parts: LifeParts,
    hosting: HostingParts,
    tasks: Tasks,
}

impl Process {
    /// Lives until the shutdown, or until the store is lost: then says why.
    async fn live(&self, shutdown: Shutdown) -> Option<Arc<str>> {
        loop {
            let member = tokio::select! {
                member = self.join() => Arc::new(member),
                () = shutdown.requested() => return None,
            };
            let ended = self.be_member(&member, &shutdown).await;
            if ended.is_some() || shutdown.is_requested() {
                // If it fails, the lease expires by itself.
                let _ = member.close().await;
                return ended;
            }
        }
    }

    /// Joins the cluster, as soon as the registry answers and no other process has the name.
    async fn join(&self) -> Member {
        let mut reported = String::new();
        loop {
            let error = match self.try_join().await {
                Ok(member) => {
                    tracing::info!(life = %member.owner().life, server = self.parts.name, "joined the cluster");
                    return member;
                }
                Err(error) => error.to_string(),
            };
            if error != reported {
                tracing::warn!(%error, "cannot join the cluster; retrying");
                reported = error;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_join(&self) -> Result<Member, JoinError> {
        let parts = &self.parts;
        Member::join(MemberParts {
            registry: Arc::clone(&parts.registry),
            clock: Arc::clone(&parts.clock),
            tasks: self.tasks.clone(),
            name: parts.name.clone(),
            info: parts.info.clone(),
            ttl: parts.ttl,
            state_dir: StateDir::open(&parts.state_dir)?,
        })
        .await
    }

    /// Lives one life as a member. Returns why the store was lost, or nothing if it was never opened.
    async fn be_member(&self, member: &Arc<Member>, shutdown: &Shutdown) -> Option<Arc<str>> {
        let term = tokio::select! {
            term = self.elected(member) => term,
            () = member.gate().over() => return None,
            () = shutdown.requested() => return None,
        };
        let tenure = Tenure(term.number().0);
        tracing::info!(term = tenure.0, "elected: opening the store");
        let coordinator = ElectedCoordinator::new(Arc::clone(member), term);
        // Opening is not cancel safe. It fails by itself when the lease ends.
        let services = match self.hosting.opening.open(Arc::new(coordinator)).await {
            Ok(services) => services,
            Err(error) => {
                let error = partita_cluster::error_chain(&error);
                return Some(format!("the store cannot be opened: {error}").into());
            }
        };
        self.hosting.membership.hosting().serve(Hosted {
            range: STORE,
            tenure,
            tables: services.tables,
            queues: services.queues,
            gate: Arc::new(member.gate().clone()),
        });
        tracing::info!(term = tenure.0, "serving the store");
        let why = tokio::select! {
            () = member.gate().over() => "the lease of this server has ended".into(),
            by = self.hosting.opening.fenced() => by,
            () = shutdown.requested() => return None,
        };
        tracing::error!(%why, "the store is lost: other servers serve it");
        self.hosting.membership.hosting().stop();
        let closing = self.hosting.opening.close();
        if tokio::time::timeout(CLOSE_PATIENCE, closing).await.is_err() {
            tracing::warn!("the store was not closed in time");
        }
        Some(why)
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
