//! The connection of one process to the registry, which can fail.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use partita_coordinator::registry::{Entry, Granted, Listing, Outcome, Transaction, Watch};
use partita_coordinator::{LeaseId, Registry, RegistryError, Revision};

/// A registry as one process sees it.
#[derive(Debug)]
pub(crate) struct Link {
    registry: Mutex<Arc<dyn Registry>>,
    faults: Mutex<Faults>,
}

#[derive(Debug)]
struct Faults {
    cut: bool,
    /// The answers of the next calls are lost, after the calls were executed.
    answers_lost: u32,
    /// The delay of each request and of each answer.
    delay: Duration,
    /// Delays and losses of a random schedule.
    random: Option<fastrand::Rng>,
}

impl Link {
    pub(crate) fn new(registry: Arc<dyn Registry>) -> Arc<Self> {
        Self::with(registry, None)
    }

    /// A link with random delays, and answers that are lost at random.
    pub(crate) fn random(registry: Arc<dyn Registry>, seed: u64) -> Arc<Self> {
        Self::with(registry, Some(fastrand::Rng::with_seed(seed)))
    }

    fn with(registry: Arc<dyn Registry>, random: Option<fastrand::Rng>) -> Arc<Self> {
        Arc::new(Self {
            registry: Mutex::new(registry),
            faults: Mutex::new(Faults {
                cut: false,
                answers_lost: 0,
                delay: Duration::ZERO,
                random,
            }),
        })
    }

    /// Connects to another registry: one that lost its data and began anew.
    pub(crate) fn switch(&self, registry: Arc<dyn Registry>) {
        *self.registry.lock() = registry;
    }

    fn registry(&self) -> Arc<dyn Registry> {
        Arc::clone(&self.registry.lock())
    }

    pub(crate) fn cut(&self, cut: bool) {
        self.faults.lock().cut = cut;
    }

    /// Each request and each answer takes this long from now on.
    pub(crate) fn delay_each(&self, delay: Duration) {
        self.faults.lock().delay = delay;
    }

    pub(crate) fn lose_answers(&self, count: u32) {
        self.faults.lock().answers_lost = count;
    }

    /// Mostly short; sometimes longer than a lease lives, as when the process or the network stands still.
    fn delay(&self) -> Duration {
        let mut faults = self.faults.lock();
        let Some(random) = &mut faults.random else {
            return faults.delay;
        };
        Duration::from_millis(match random.u32(..40) {
            0 => random.u64(1_000..6_000),
            1..6 => random.u64(100..1_000),
            _ => random.u64(0..5),
        })
    }

    async fn pass<T>(
        &self,
        call: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        if self.faults.lock().cut {
            return Err(RegistryError::Unavailable("cut".to_owned()));
        }
        tokio::time::sleep(self.delay()).await;
        let answer = call.await;
        tokio::time::sleep(self.delay()).await;
        let mut faults = self.faults.lock();
        let lost = faults.answers_lost > 0;
        faults.answers_lost = faults.answers_lost.saturating_sub(1);
        let unlucky = faults
            .random
            .as_mut()
            .is_some_and(|random| random.u32(..30) == 0);
        if lost || unlucky || faults.cut {
            return Err(RegistryError::Unknown("the answer was lost".to_owned()));
        }
        answer
    }
}

#[async_trait]
impl Registry for Link {
    async fn get(&self, key: &str) -> Result<Option<Entry>, RegistryError> {
        self.pass(self.registry().get(key)).await
    }

    async fn list(&self, prefix: &str) -> Result<Listing, RegistryError> {
        self.pass(self.registry().list(prefix)).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Outcome, RegistryError> {
        self.pass(self.registry().commit(transaction)).await
    }

    async fn watch(&self, prefix: &str, from: Revision) -> Result<Box<dyn Watch>, RegistryError> {
        self.pass(self.registry().watch(prefix, from)).await
    }

    async fn grant(&self, ttl: Duration) -> Result<Granted, RegistryError> {
        self.pass(self.registry().grant(ttl)).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Option<Duration>, RegistryError> {
        self.pass(self.registry().keep_alive(lease)).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), RegistryError> {
        self.pass(self.registry().revoke(lease)).await
    }
}
