//! The coordinator as one server reaches it: latency, silence and broken connections.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use partita_coordinator::registry::{
    Entry, Granted, Listing, Outcome, Transaction, Watch, WatchEvent,
};
use partita_coordinator::{LeaseId, MemoryRegistry, Registry, RegistryError, Revision};
use tokio::sync::watch;

use super::scenario::up_to;

/// How long a client of etcd waits for the answer to a keepalive, and to any other call.
const KEEP_ALIVE_WITHIN: Duration = Duration::from_millis(600);
const CALL_WITHIN: Duration = Duration::from_secs(3);

/// How long a client takes to notice that the connection of a watch is silent.
const SILENCE_NOTICED: Duration = Duration::from_secs(2);

/// What a link to the coordinator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// It works.
    Open,
    /// Each message takes this time longer.
    Late(Duration),
    /// Connections are refused, and open ones break.
    Cut,
    /// Requests do not arrive.
    NoRequests,
    /// Requests are executed, but answers do not arrive.
    NoAnswers,
}

/// The link of a server to the coordinator. It survives the server.
#[derive(Debug)]
pub(super) struct Link {
    behaviour: watch::Sender<Behaviour>,
    random: Mutex<fastrand::Rng>,
    latency_max: Duration,
}

impl Link {
    pub(super) fn new(random: fastrand::Rng, latency_max: Duration) -> Self {
        Self {
            behaviour: watch::Sender::new(Behaviour::Open),
            random: Mutex::new(random),
            latency_max,
        }
    }

    /// Behaves so from now on.
    pub(super) fn set(&self, behaviour: Behaviour) {
        self.behaviour.send_replace(behaviour);
    }

    fn now(&self) -> Behaviour {
        *self.behaviour.borrow()
    }

    /// A message in one direction.
    async fn travel(&self) {
        let mut latency = {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            up_to(&mut random, self.latency_max)
        };
        if let Behaviour::Late(more) = self.now() {
            latency += more;
        }
        tokio::time::sleep(latency).await;
    }

    /// A call: the request travels, is executed, and the answer travels.
    async fn call<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        if self.now() == Behaviour::Cut {
            return Err(RegistryError::Unavailable("the link is cut".to_owned()));
        }
        let called = async {
            self.travel().await;
            match self.now() {
                Behaviour::NoRequests => return pending().await,
                Behaviour::Cut => return Err(broken()),
                Behaviour::Open | Behaviour::Late(_) | Behaviour::NoAnswers => {}
            }
            let answer = work.await;
            self.travel().await;
            match self.now() {
                Behaviour::NoRequests | Behaviour::NoAnswers => pending().await,
                Behaviour::Cut => Err(broken()),
                Behaviour::Open | Behaviour::Late(_) => answer,
            }
        };
        let called = tokio::time::timeout(limit, called).await;
        called.unwrap_or_else(|_| Err(RegistryError::Unknown("no answer in time".to_owned())))
    }
}

fn broken() -> RegistryError {
    RegistryError::Unknown("the connection broke".to_owned())
}

/// The registry behind a link.
#[derive(Clone, Debug)]
pub(super) struct LinkedRegistry {
    pub(super) registry: MemoryRegistry,
    pub(super) link: Arc<Link>,
}

#[async_trait]
impl Registry for LinkedRegistry {
    async fn get(&self, key: &str) -> Result<Option<Entry>, RegistryError> {
        self.link.call(CALL_WITHIN, self.registry.get(key)).await
    }

    async fn list(&self, prefix: &str) -> Result<Listing, RegistryError> {
        self.link
            .call(CALL_WITHIN, self.registry.list(prefix))
            .await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Outcome, RegistryError> {
        let committing = self.registry.commit(transaction);
        self.link.call(CALL_WITHIN, committing).await
    }

    async fn watch(&self, prefix: &str, from: Revision) -> Result<Box<dyn Watch>, RegistryError> {
        let watch = self.registry.watch(prefix, from);
        let watch = self.link.call(CALL_WITHIN, watch).await?;
        Ok(Box::new(LinkedWatch {
            watch,
            under_way: None,
            behaviour: self.link.behaviour.subscribe(),
            link: Arc::clone(&self.link),
        }))
    }

    async fn grant(&self, ttl: Duration) -> Result<Granted, RegistryError> {
        self.link.call(CALL_WITHIN, self.registry.grant(ttl)).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Option<Duration>, RegistryError> {
        let renewing = self.registry.keep_alive(lease);
        self.link.call(KEEP_ALIVE_WITHIN, renewing).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), RegistryError> {
        self.link
            .call(CALL_WITHIN, self.registry.revoke(lease))
            .await
    }
}

/// A watch over a link.
struct LinkedWatch {
    watch: Box<dyn Watch>,
    /// An event that travels.
    under_way: Option<WatchEvent>,
    behaviour: watch::Receiver<Behaviour>,
    link: Arc<Link>,
}

#[async_trait]
impl Watch for LinkedWatch {
    async fn next(&mut self) -> WatchEvent {
        loop {
            let now = *self.behaviour.borrow_and_update();
            match now {
                Behaviour::Open | Behaviour::Late(_) => {}
                Behaviour::Cut => return WatchEvent::Lost,
                // The connection is not used again if the link heals meanwhile: events may have been lost.
                Behaviour::NoRequests | Behaviour::NoAnswers => {
                    tokio::time::sleep(SILENCE_NOTICED).await;
                    return WatchEvent::Lost;
                }
            }
            let (watch, under_way, link) = (&mut self.watch, &mut self.under_way, &self.link);
            let arriving = async {
                if under_way.is_none() {
                    *under_way = Some(watch.next().await);
                }
                link.travel().await;
                under_way.take().unwrap_or(WatchEvent::Lost)
            };
            tokio::select! {
                biased;
                // The sender lives as long as the link.
                _ = self.behaviour.changed() => {}
                event = arriving => return event,
            }
        }
    }
}
