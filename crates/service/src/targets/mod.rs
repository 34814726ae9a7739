//! Scalability targets: the rates of entities and bytes that a partition, a container and an account may use.
//!
//! The cost follows the service's document "Performance and scalability checklist for Table storage": each entity that
//! is inserted, updated, deleted or scanned counts. A transaction of 100 counts 100; a query that reads 1,000 entities
//! and returns 5 counts 1,000; one that finds none counts 1. Operations on containers do not count.
//!
//! - A write is charged before it starts, to all three targets or to none. A refused write did not happen.
//! - A read is charged after each piece (1,024 rows). A page that exceeds a target ends early, with a continuation
//!   token, so the debt of a query is at most one piece.
//! - Refused requests are not charged.
//! - A server without targets has no [`Targets`] and does none of this work.
//! - In a cluster, several servers may serve the ranges of a container or an account. Each uses the share of the target
//!   that the manager gives it: `sharing`. A partition is at one server.
//!
//! Bounds: 65,536 partitions, 4,096 containers and 1,024 accounts that were charged within the last second, 80 bytes
//! each; `buckets` describes what happens beyond that.

mod bucket;
mod buckets;
mod last_minute;
mod load;
mod rates;
mod sharing;
#[cfg(test)]
mod tests;

use crate::{AccountLimit, Busy, BusyReason};
use buckets::Buckets;
use last_minute::LastMinute;
use parking_lot::Mutex;
use partita_cluster::TargetScope;
use partita_model::{account_of, container_prefix, indivisible_prefix};
use sharing::Sharing;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

pub use last_minute::{Limited, Scope, ScopeNames};
pub use rates::{ContainerRates, Rates};
pub use sharing::CountServers;

const PARTITIONS_MAX: usize = 65_536;
const CONTAINERS_MAX: usize = 4_096;
const ACCOUNTS_MAX: usize = 1_024;

/// The cost of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Entities, or messages, or blobs.
    pub entities: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Cost {
    /// One entity whose bytes are not known yet.
    pub const ONE: Self = Self {
        entities: 1,
        bytes: 0,
    };
}

/// The direction of the bytes, which selects the error text for the target of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    In,
    /// From the server.
    Out,
}

/// The partition and the container that a request is charged to. The account follows from the container.
#[derive(Debug, Clone, Copy)]
pub struct Charged<'a> {
    /// A key of the partition; for a query that has not reached its first partition yet, a key of the container.
    pub key: &'a [u8],
    /// The prefix of the container's keys.
    pub container: &'a [u8],
    /// The rates of the partition and the container.
    pub rates: ContainerRates,
}

/// The targets of a server, and how much of each is left.
#[derive(Debug)]
pub struct Targets {
    account: Rates,
    /// The start of the buckets' clock: their times are nanoseconds since this instant.
    started: Instant,
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    partitions: Buckets,
    containers: Buckets,
    accounts: Buckets,
    last_minute: LastMinute,
    /// The shares of this server; `None` for a server that is alone.
    sharing: Option<Sharing>,
}

/// The buckets of a request, each with its rates.
struct Scopes<'a> {
    /// The prefix of the container's keys.
    prefix: &'a [u8],
    /// `None` if the key does not belong to a partition.
    partition: Option<(u64, Rates)>,
    container: (u64, Rates),
    account: (u64, Rates),
}

impl Targets {
    /// Targets with these rates for each account; the rates of containers come with each request.
    pub fn new(account: Rates, now: Instant) -> Self {
        Self {
            account,
            started: now,
            hasher: RandomState::new(),
            state: Mutex::new(State {
                partitions: Buckets::new(PARTITIONS_MAX),
                containers: Buckets::new(CONTAINERS_MAX),
                accounts: Buckets::new(ACCOUNTS_MAX),
                last_minute: LastMinute::default(),
                sharing: None,
            }),
        }
    }

    /// The same targets for a server of a cluster, which uses shares of those of containers and accounts.
    #[must_use]
    pub fn in_cluster(mut self, count_servers: CountServers) -> Self {
        let sharing = Sharing::new(count_servers, CONTAINERS_MAX + ACCOUNTS_MAX);
        self.state.get_mut().sharing = Some(sharing);
        self
    }

    /// Charges `cost` to the partition, the container and the account, if none of them is exceeded. `names` is called
    /// only for the report of a refusal.
    ///
    /// # Errors
    /// [`Busy`] with the exceeded target and the time until the request is admitted; nothing was charged.
    pub fn take(
        &self,
        now: Instant,
        charged: &Charged<'_>,
        cost: Cost,
        direction: Direction,
        names: impl FnOnce() -> ScopeNames,
    ) -> Result<(), Busy> {
        let (mut scopes, now) = (self.scopes(charged), self.nanos(now));
        let mut state = self.state.lock();
        state.share(&mut scopes);
        state.check_noted(&scopes, now, cost, direction, names)?;
        state.take(&scopes, now, cost);
        Ok(())
    }

    /// Checks that a query may start. Its reads are charged with [`Self::charge`].
    ///
    /// # Errors
    /// [`Busy`], as [`Self::take`].
    pub fn check(
        &self,
        now: Instant,
        charged: &Charged<'_>,
        names: impl FnOnce() -> ScopeNames,
    ) -> Result<(), Busy> {
        let (mut scopes, now, cost) = (self.scopes(charged), self.nanos(now), Cost::default());
        let mut state = self.state.lock();
        state.share(&mut scopes);
        state.check_noted(&scopes, now, cost, Direction::Out, names)
    }

    /// Whether a running query may continue with this partition.
    pub fn allows(&self, now: Instant, charged: &Charged<'_>) -> bool {
        let (mut scopes, now, cost) = (self.scopes(charged), self.nanos(now), Cost::default());
        let mut state = self.state.lock();
        state.share(&mut scopes);
        state.check(&scopes, now, cost, Direction::Out).is_ok()
    }

    /// Charges a completed read, even beyond the target; returns whether that leaves a debt.
    pub fn charge(&self, now: Instant, charged: &Charged<'_>, cost: Cost) -> bool {
        let (mut scopes, now) = (self.scopes(charged), self.nanos(now));
        let mut state = self.state.lock();
        state.share(&mut scopes);
        state.take(&scopes, now, cost)
    }

    /// The scopes with refused requests in the last minute, the most frequent first.
    pub fn limited(&self, now: Instant, limit: usize) -> Vec<Limited> {
        let now = self.nanos(now);
        self.state.lock().last_minute.top(now, limit)
    }

    fn scopes<'a>(&self, charged: &Charged<'a>) -> Scopes<'a> {
        let Charged {
            key,
            container,
            rates,
        } = charged;
        let container = container_prefix(key).unwrap_or(container);
        let partition = indivisible_prefix(key);
        Scopes {
            prefix: container,
            partition: partition.map(|key| (self.hasher.hash_one(key), rates.partition)),
            container: (self.hasher.hash_one(container), rates.container),
            account: (self.hasher.hash_one(account_of(container)), self.account),
        }
    }

    fn nanos(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// An exceeded target.
struct Exceeded {
    scope: Scope,
    is_bytes: bool,
    wait: Duration,
    direction: Direction,
}

impl State {
    /// Reduces the rates of the container and the account to the shares of this server.
    fn share(&mut self, scopes: &mut Scopes<'_>) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let prefix = scopes.prefix;
        let (hash, rates) = &mut scopes.container;
        let name = || Some(TargetScope::Container(prefix.to_vec().into()));
        *rates = sharing.rates(*hash, *rates, name);
        let (hash, rates) = &mut scopes.account;
        let name = || Some(TargetScope::Account(account_of(prefix)?.to_vec().into()));
        *rates = sharing.rates(*hash, *rates, name);
    }

    /// The exceeded target with the longest wait, if any is exceeded.
    fn check(
        &mut self,
        scopes: &Scopes<'_>,
        now: u64,
        cost: Cost,
        direction: Direction,
    ) -> Result<(), Exceeded> {
        let partition = scopes.partition.map_or((0, false), |(key, rates)| {
            self.partitions.wait(key, rates, now, cost)
        });
        let (key, rates) = scopes.container;
        let container = self.containers.wait(key, rates, now, cost);
        let (key, rates) = scopes.account;
        let account = self.accounts.wait(key, rates, now, cost);
        let waits = [
            (Scope::Partition, partition),
            (Scope::Table, container),
            (Scope::Account, account),
        ];
        // If waits are equal, reports the narrowest scope, which helps most in improving the keys.
        let longest = waits.into_iter().rev().max_by_key(|(_, (wait, _))| *wait);
        match longest {
            Some((scope, (wait, is_bytes))) if wait > 0 => Err(Exceeded {
                scope,
                is_bytes,
                wait: Duration::from_nanos(wait),
                direction,
            }),
            _ => Ok(()),
        }
    }

    fn take(&mut self, scopes: &Scopes<'_>, now: u64, cost: Cost) -> bool {
        if let Some(sharing) = &mut self.sharing {
            sharing.note(scopes.container.0, cost);
            sharing.note(scopes.account.0, cost);
        }
        let mut in_debt = false;
        if let Some((key, rates)) = scopes.partition {
            in_debt |= self.partitions.take(key, rates, now, cost);
        }
        let (key, rates) = scopes.container;
        in_debt |= self.containers.take(key, rates, now, cost);
        let (key, rates) = scopes.account;
        in_debt | self.accounts.take(key, rates, now, cost)
    }

    /// Like [`Self::check`], and counts a refusal for the report.
    fn check_noted(
        &mut self,
        scopes: &Scopes<'_>,
        now: u64,
        cost: Cost,
        direction: Direction,
        names: impl FnOnce() -> ScopeNames,
    ) -> Result<(), Busy> {
        let checked = self.check(scopes, now, cost, direction);
        checked.map_err(|exceeded| {
            let key = match exceeded.scope {
                Scope::Partition => scopes.partition.map_or(0, |(key, _)| key),
                Scope::Table => scopes.container.0,
                Scope::Account => scopes.account.0,
            };
            self.last_minute.note(exceeded.scope, key, now, names);
            if let Some(sharing) = &mut self.sharing
                && exceeded.scope != Scope::Partition
            {
                // The cost of a read is not known yet.
                let entities = cost.entities.max(1);
                sharing.note(key, Cost { entities, ..cost });
            }
            exceeded.into()
        })
    }
}

impl From<Exceeded> for Busy {
    fn from(exceeded: Exceeded) -> Self {
        let (unit, limit) = match (exceeded.is_bytes, exceeded.direction) {
            (false, _) => ("entities", AccountLimit::Operations),
            (true, Direction::In) => ("bytes", AccountLimit::Ingress),
            (true, Direction::Out) => ("bytes", AccountLimit::Egress),
        };
        let reason = match exceeded.scope {
            Scope::Partition => BusyReason::PartitionTarget,
            Scope::Table => BusyReason::TableTarget,
            Scope::Account => BusyReason::AccountTarget(limit),
        };
        Self {
            reason,
            retry_after: exceeded.wait,
            detail: format!("exceeds the target of {unit} per second").into(),
        }
    }
}
