//! The front as a whole, and its listener.

use super::account::Accounts;
use super::connection;
use super::progress::{ANSWER_TIME_MAX, Patience, Watch};
use crate::config::Limits;
use crate::metrics::{ConnectionFault, Metrics};
use hyper::header::HeaderValue;
use partita_rt::net::{Listener, Stream};
use partita_rt::{Clock, Tasks};
use partita_table::Service;
use partita_wire::{BearerRules, Hosts};
use rustls::ServerConfig;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// What a front is made of.
pub struct FrontParts {
    /// What answers.
    pub service: Arc<Service>,
    /// Who may ask.
    pub accounts: Accounts,
    /// How host names name accounts.
    pub hosts: Hosts,
    /// Which bearer tokens are taken; none without.
    pub bearer: Option<BearerRules>,
    /// Where clients get bearer tokens: the `authorization_uri` of the challenge.
    pub authorization_uri: String,
    /// Bounds.
    pub limits: Limits,
    /// What the `Keep-Alive` header promises.
    pub keep_alive: Duration,
    /// For HTTPS; without it HTTP is spoken.
    pub tls: Option<Arc<ServerConfig>>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// The front end of the table protocol.
pub struct Front {
    parts: FrontParts,
    keep_alive: HeaderValue,
    challenge: HeaderValue,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

/// The settings make no front.
#[derive(Debug, thiserror::Error)]
#[error("{0} has characters that a header cannot carry")]
pub struct Unsendable(&'static str);

impl Front {
    /// A front of its parts.
    ///
    /// # Errors
    /// [`Unsendable`] for an authorization URI that no header can carry.
    pub fn new(parts: FrontParts) -> Result<Arc<Self>, Unsendable> {
        let keep_alive = format!("timeout={}", parts.keep_alive.as_secs());
        let keep_alive = HeaderValue::try_from(keep_alive).map_err(|_| Unsendable("keep-alive"))?;
        let challenge = partita_wire::challenge(&parts.authorization_uri);
        let challenge =
            HeaderValue::try_from(challenge).map_err(|_| Unsendable("the authorization URI"))?;
        Ok(Arc::new(Self {
            parts,
            keep_alive,
            challenge,
        }))
    }

    pub(super) fn service(&self) -> &Service {
        &self.parts.service
    }

    pub(super) fn accounts(&self) -> &Accounts {
        &self.parts.accounts
    }

    pub(super) fn hosts(&self) -> &Hosts {
        &self.parts.hosts
    }

    pub(super) fn bearer(&self) -> Option<&BearerRules> {
        self.parts.bearer.as_ref()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.parts.limits
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.parts.metrics
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }

    pub(super) fn is_https(&self) -> bool {
        self.parts.tls.is_some()
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.is_https() { "https" } else { "http" }
    }

    pub(super) fn keep_alive(&self) -> &HeaderValue {
        &self.keep_alive
    }

    pub(super) fn challenge(&self) -> &HeaderValue {
        &self.challenge
    }
}

impl Front {
    /// Accepts connections until shutdown. Connections are tasks of `tasks`: draining it waits for the requests under way.
    pub async fn listen(self: Arc<Self>, listener: Box<dyn Listener>, tasks: Tasks) {
        let front = self;
        let limits = front.limits();
        let watch = Watch::new(Patience {
            idle: limits.idle_timeout,
            head: limits.header_timeout,
            stall: limits.stall_timeout,
            answer: ANSWER_TIME_MAX,
        });
        tasks.spawn(
            "watch connections",
            Arc::clone(&watch).run(tasks.shutdown()),
        );
        let room = Arc::new(Semaphore::new(limits.connections_max));
        let tls = front.parts.tls.clone().map(TlsAcceptor::from);
        let shutdown = tasks.shutdown();
        loop {
            // Full means that further clients wait in the kernel's queue.
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let accepted = tokio::select! {
                () = shutdown.requested() => return,
                accepted = listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    // Out of file descriptors: trying at once would only burn a core.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let watched = watch.watch();
            let (front, tls) = (Arc::clone(&front), tls.clone());
            tasks.spawn("connection", async move {
                let progress = Arc::clone(&watched.progress);
                open(front, tls, stream, peer, progress).await;
                drop((watched, place));
            });
        }
    }
}

async fn open(
    front: Arc<Front>,
    tls: Option<TlsAcceptor>,
    stream: Stream,
    peer: SocketAddr,
    progress: Arc<super::progress::Progress>,
) {
    let address = Some(peer.ip());
    let Some(tls) = tls else {
        return connection::serve(front, stream, address, progress).await;
    };
    let handshake = tokio::time::timeout(front.limits().header_timeout, tls.accept(stream));
    match handshake.await {
        Ok(Ok(stream)) => connection::serve(front, stream, address, progress).await,
        failed => {
            front.metrics().connection_failed(ConnectionFault::Tls);
            tracing::debug!(?failed, "a TLS handshake failed");
        }
    }
}
