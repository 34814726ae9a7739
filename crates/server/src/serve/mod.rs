//! Starts and stops a server: from settings to open ports, and back without losing a request.
//!
//! ```text
//! start: bind all ports → admin port answers "starting" → load certificates → open data → services serve → ready
//! stop:  close the services' ports → wait for running requests (drain timeout) → end background work → close the data
//! ```
//!
//! Ports are bound first: a second server fails on its port before it touches data, and the admin port reports the
//! progress of opening the data. Clients that connect early wait in the listen queue. After a stop, every acknowledged
//! write is durable.

mod error;
mod oauth;
mod opening;
mod ports;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use partita_rt::{Clock, Tasks};
use partita_service::MemoryBudget;
use partita_table::Service;
use partita_wire::Hosts;

pub use self::error::Error;
use self::oauth::{authorization_uri, bearer_rules};
use self::opening::BACKGROUND_DRAIN;
pub(crate) use self::opening::Opening;
pub use self::opening::Services;
pub(crate) use self::ports::bind;
use self::ports::{Bound, Listeners};
use crate::config::{ServiceListener, Settings};
use crate::environment::Environment;
use crate::forwarding::Membership;
use crate::front::queue::QueueFront;
use crate::front::table::TableFront;
use crate::front::{Connections, Front, FrontParts, InvalidSetting, Receiver, accounts};
use crate::member::life::Life;
use crate::member::parts::MemberParts;
use crate::metrics::Metrics;
use crate::status::{Listening, ServerStatus};
use crate::{admin, tls};

/// A running server.
#[derive(Debug)]
pub struct Server {
    status: Arc<ServerStatus>,
    authority: Option<PathBuf>,
    requests: Tasks,
    /// The connections of other servers of the cluster.
    peers: Tasks,
    background: Tasks,
    pub(crate) opening: Arc<Opening>,
    pub(crate) membership: Option<Arc<Membership>>,
    /// The life in the cluster of the settings.
    life: Option<Life>,
}

impl Server {
    /// Starts a server: with its store, or as a member of a cluster that serves no range yet.
    pub(crate) fn launch(
        environment: Environment,
        settings: Settings,
        member: Option<MemberParts>,
    ) -> BoxFuture<'static, Result<Server, Error>> {
        Box::pin(async move {
            let (clock, network) = (Arc::clone(&environment.clock), &*environment.network);
            let (settings, metrics) = (Arc::new(settings), Arc::new(Metrics::default()));
            let (requests, background) = (Tasks::new(), Tasks::new());
            let listeners = Listeners::bind(network, &settings).await?;
            let status = Arc::new(ServerStatus::new(
                Arc::clone(&settings),
                Arc::clone(&metrics),
                listeners.addresses(),
                Arc::clone(&clock),
                requests.shutdown(),
            ));
            if let Some((listener, _)) = listeners.admin {
                let serving = admin::serve(listener, Arc::clone(&status), background.clone());
                background.spawn("admin port", serving);
            }

            let loaded = tls::load(&settings, &*clock)?;
            let opening = Arc::new(Opening {
                settings: Arc::clone(&settings),
                environment: environment.clone(),
                memory: MemoryBudget::new(settings.limits.memory_in_flight),
                status: Arc::clone(&status),
                tasks: Tasks::new(),
            });
            let membership = member.as_ref().map(|member| join(member, &status, &clock));
            let (tables, queues) = opening.begin(membership.as_ref()).await?;
            let (tls, authority) = loaded
                .map(|loaded| (loaded.config, loaded.authority))
                .unzip();
            let parts = Arc::new(FrontParts {
                accounts: accounts(&settings.accounts)?,
                bearer: bearer_rules(&settings.oauth)?,
                authorization_uri: authorization_uri(&settings.oauth),
                limits: settings.limits.clone(),
                memory: Arc::clone(&opening.memory),
                tls,
                connections: Connections::watch(&settings.limits, &requests),
                metrics,
                clock,
                membership: membership.clone(),
            });
            let ports = (listeners.table, listeners.queue);
            let (tables, queues) =
                open_ports(&parts, &settings, (tables, queues), ports, &requests)?;
            let peers = Tasks::new();
            if let (Some(member), Some(membership)) = (member, &membership) {
                let receiver =
                    Receiver::new(Arc::clone(membership), tables, queues, Arc::clone(&status));
                let (listener, receiver) = (member.listener, Arc::new(receiver));
                let serving = member.acceptor.run(listener, receiver, peers.clone());
                peers.spawn("peer port", serving);
            }
            Ok(Server {
                status,
                authority: authority.flatten(),
                requests,
                peers,
                background,
                opening,
                membership,
                life: None,
            })
        })
    }

    /// Health and parts of the server.
    pub fn status(&self) -> &Arc<ServerStatus> {
        &self.status
    }

    /// The addresses it listens on.
    pub fn listening(&self) -> Listening {
        self.status.listening
    }

    /// The authority certificate that clients have to trust; with `--tls dev` only.
    pub fn authority(&self) -> Option<&PathBuf> {
        self.authority.as_ref()
    }

    /// Completes when this server has lost the object store to another one, and says why. Then the caller stops it: only
    /// a new process can open the store again. Never completes if the data is in a directory or in memory. Cancel safe.
    pub fn fenced(&self) -> BoxFuture<'_, Arc<str>> {
        match &self.life {
            Some(life) => Box::pin(life.ended()),
            None => self.opening.fenced(),
        }
    }

    /// Has this life in the cluster from now on.
    pub(crate) fn lives(&mut self, life: Life) {
        self.life = Some(life);
    }

    /// Stops the server: refuses new requests, gives running ones the drain timeout, then closes the data. Returns the
    /// names of tasks that did not end in time; even then no acknowledged write is lost.
    pub fn stop(self) -> BoxFuture<'static, Vec<&'static str>> {
        Box::pin(async move {
            let timeout = self.status.settings.limits.drain_timeout;
            if let Some(life) = &self.life {
                life.hand_over(timeout).await;
            }
            let draining = (self.requests.drain(timeout), self.peers.drain(timeout));
            let (mut late, of_peers) = futures::future::join(draining.0, draining.1).await;
            late.extend(of_peers);
            late.extend(self.background.drain(BACKGROUND_DRAIN).await);
            late.extend(self.opening.close().await);
            if let Some(life) = &self.life {
                late.extend(life.leave(BACKGROUND_DRAIN).await);
            }
            if !late.is_empty() {
                tracing::warn!(tasks = ?late, "tasks did not end in time");
            }
            late
        })
    }
}

/// The part of a server in its cluster.
fn join(member: &MemberParts, status: &ServerStatus, clock: &Arc<dyn Clock>) -> Arc<Membership> {
    let (metrics, clock) = (Arc::clone(&status.metrics), Arc::clone(clock));
    let (routing, gate) = (Arc::clone(&member.routing), Arc::clone(&member.gate));
    let membership = Membership::new(routing, gate, metrics, clock);
    let membership = Arc::new(membership);
    status.joined(Arc::clone(&membership));
    membership
}

/// Begins to serve the ports of tables and queues. Without them, other servers may have some.
fn open_ports(
    parts: &Arc<FrontParts>,
    settings: &Settings,
    (tables, queues): (Option<Arc<Service>>, Option<Arc<partita_queue::Service>>),
    (table_port, queue_port): (Option<Bound>, Option<Bound>),
    requests: &Tasks,
) -> Result<(Arc<TableFront>, Arc<QueueFront>), InvalidSetting> {
    let tables = Arc::new(TableFront::new(front(parts, &settings.table)?, tables));
    if let Some((listener, _)) = table_port {
        let serving = Arc::clone(&tables).listen(listener, requests.clone());
        requests.spawn("table port", serving);
    }
    let queue = settings.queue.as_ref().unwrap_or(&settings.table);
    let queues = QueueFront::new(front(parts, queue)?, queues, requests.shutdown());
    let queues = Arc::new(queues);
    if let Some((listener, _)) = queue_port {
        let serving = Arc::clone(&queues).listen(listener, requests.clone());
        requests.spawn("queue port", serving);
    }
    Ok((tables, queues))
}

/// The front of a protocol behind its listener.
fn front(parts: &Arc<FrontParts>, listener: &ServiceListener) -> Result<Front, InvalidSetting> {
    let suffixes = listener.host_suffixes.iter().cloned();
    let hosts = Hosts::new(suffixes, listener.product_style_url);
    Front::new(Arc::clone(parts), hosts, listener.keep_alive)
}
