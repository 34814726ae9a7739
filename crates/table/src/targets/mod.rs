//! Scalability targets: how much a partition, a table and an account are let do in a second, as the service has them.
//!
//! What counts is what the service's documents say ("Performance and scalability checklist for Table storage"): each entity that
//! is inserted, updated, deleted or scanned. A transaction of 100 counts 100; a query that looks at 1,000 entities and returns
//! 5 counts 1,000; one that finds nothing counts 1. Operations on tables count nothing.
//!
//! - A write pays before it begins, of all three targets or of none: a request that is refused has changed nothing.
//! - A read pays for what it looked at, as it goes on: a page that passes a target ends early, with a continuation token, so
//!   that no single query makes a debt of more than a piece (1,024 rows).
//! - Refused is not counted against a target.
//! - Without targets there is no [`Targets`], and nothing of this is done.
//!
//! Bounds: 65,536 partitions, 4,096 tables and 1,024 accounts from which something was taken within the last second, 80 bytes
//! each; see `buckets` for what happens past that.

mod bucket;
mod buckets;
mod limited;
mod settings;
#[cfg(test)]
mod tests;

use crate::catalog::place_in;
use crate::{AccountLimit, BusyReason, Error, Table};
use buckets::Buckets;
use limited::LastMinute;
use parking_lot::Mutex;
use partita_model::{container_prefix, indivisible_prefix};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

pub use limited::{Limited, Scope};
pub use settings::{Rates, TableTargets, TargetSettings};

const PARTITIONS_MAX: usize = 65_536;
const TABLES_MAX: usize = 4_096;
const ACCOUNTS_MAX: usize = 1_024;

/// What a request takes of its targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) entities: u64,
    pub(crate) bytes: u64,
}

/// Which way the bytes go: the account's text differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the server.
    In,
    /// From it.
    Out,
}

/// The targets of a server, and how much of each is left.
#[derive(Debug)]
pub(crate) struct Targets {
    settings: TargetSettings,
    /// Zero of the buckets' clock.
    began: Instant,
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    partitions: Buckets,
    tables: Buckets,
    accounts: Buckets,
    last_minute: LastMinute,
}

/// The buckets of a request: whose, and how fast they fill.
struct Whose {
    /// `None` for a query of several partitions, before it has come to the first.
    partition: Option<(u64, Rates)>,
    table: (u64, Rates),
    account: (u64, Rates),
}

impl Targets {
    /// Keeps these targets; `None` when there are none.
    pub(crate) fn new(settings: TargetSettings, now: Instant) -> Option<Self> {
        let state = Mutex::new(State {
            partitions: Buckets::new(PARTITIONS_MAX),
            tables: Buckets::new(TABLES_MAX),
            accounts: Buckets::new(ACCOUNTS_MAX),
            last_minute: LastMinute::default(),
        });
        (!settings.is_off()).then(|| Self {
            settings,
            began: now,
            hasher: RandomState::new(),
            state,
        })
    }

    /// Takes `cost` of the partition of `key`, its table and its account, if all of them have it.
    ///
    /// # Errors
    /// [`Error::Busy`] with what was over and how long it takes until this is let in; nothing was taken.
    pub(crate) fn take(
        &self,
        now: Instant,
        table: &Table,
        key: &[u8],
        cost: Cost,
        way: Way,
    ) -> Result<(), Error> {
        let (whose, now) = (self.whose(table, key), self.nanos(now));
        let mut state = self.state.lock();
        if let Err(over) = state.check(&whose, now, cost, way) {
            state.note(&whose, over.scope, now, || place_in(table, key));
            return Err(over.into());
        }
        state.take(&whose, now, cost);
        Ok(())
    }

    /// Whether a query that begins at `key` may begin; it pays for what it looks at. `key` is of one partition, or of the whole
    /// table.
    ///
    /// # Errors
    /// [`Error::Busy`], as above.
    pub(crate) fn check(&self, now: Instant, table: &Table, key: &[u8]) -> Result<(), Error> {
        let (whose, now) = (self.whose(table, key), self.nanos(now));
        let mut state = self.state.lock();
        if let Err(over) = state.check(&whose, now, Cost::default(), Way::Out) {
            state.note(&whose, over.scope, now, || place_in(table, key));
            return Err(over.into());
        }
        Ok(())
    }

    /// Whether a query that has begun may look at the partition of `key` too.
    pub(crate) fn allows(&self, now: Instant, table: &Table, key: &[u8]) -> bool {
        let (whose, now) = (self.whose(table, key), self.nanos(now));
        let mut state = self.state.lock();
        state.check(&whose, now, Cost::default(), Way::Out).is_ok()
    }

    /// Takes what was read, whether it is there or not; true when that leaves a debt.
    pub(crate) fn charge(&self, now: Instant, table: &Table, key: &[u8], cost: Cost) -> bool {
        let (whose, now) = (self.whose(table, key), self.nanos(now));
        self.state.lock().take(&whose, now, cost)
    }

    /// Who was refused in the last minute, most often first.
    pub(crate) fn limited(&self, now: Instant, limit: usize) -> Vec<Limited> {
        let now = self.nanos(now);
        self.state.lock().last_minute.top(now, limit)
    }

    fn whose(&self, table: &Table, key: &[u8]) -> Whose {
        let prefix: &[u8] = container_prefix(key).unwrap_or(table.space.prefix());
        let account = prefix.get(..prefix.len().saturating_sub(TABLE_ID_BYTES));
        let targets = self.settings.of(&table.name);
        let partition = indivisible_prefix(key);
        Whose {
            partition: partition.map(|key| (self.hasher.hash_one(key), targets.partition)),
            table: (self.hasher.hash_one(prefix), targets.table),
            account: (self.hasher.hash_one(account), self.settings.account),
        }
    }

    fn nanos(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// At the end of a table's prefix (`docs/format/keys.md`).
const TABLE_ID_BYTES: usize = 8;

/// A target that was passed.
struct Over {
    scope: Scope,
    is_bytes: bool,
    wait: Duration,
    way: Way,
}

impl State {
    /// The target that has to be waited for longest, if any has.
    fn check(&mut self, whose: &Whose, now: u64, cost: Cost, way: Way) -> Result<(), Over> {
        let partition = whose.partition.map_or((0, false), |(key, rates)| {
            self.partitions.wait(key, rates, now, cost)
        });
        let (key, rates) = whose.table;
        let table = self.tables.wait(key, rates, now, cost);
        let (key, rates) = whose.account;
        let account = self.accounts.wait(key, rates, now, cost);
        let waits = [
            (Scope::Partition, partition),
            (Scope::Table, table),
            (Scope::Account, account),
        ];
        // Of equal waits the narrowest is named: it says most about the design of keys.
        let longest = waits.into_iter().rev().max_by_key(|(_, (wait, _))| *wait);
        match longest {
            Some((scope, (wait, is_bytes))) if wait > 0 => Err(Over {
                scope,
                is_bytes,
                wait: Duration::from_nanos(wait),
                way,
            }),
            _ => Ok(()),
        }
    }

    fn take(&mut self, whose: &Whose, now: u64, cost: Cost) -> bool {
        let mut in_debt = false;
        if let Some((key, rates)) = whose.partition {
            in_debt |= self.partitions.take(key, rates, now, cost);
        }
        let (key, rates) = whose.table;
        in_debt |= self.tables.take(key, rates, now, cost);
        let (key, rates) = whose.account;
        in_debt | self.accounts.take(key, rates, now, cost)
    }

    fn note(
        &mut self,
        whose: &Whose,
        scope: Scope,
        now: u64,
        place: impl FnOnce() -> crate::Place,
    ) {
        let key = match scope {
            Scope::Partition => whose.partition.map_or(0, |(key, _)| key),
            Scope::Table => whose.table.0,
            Scope::Account => whose.account.0,
        };
        self.last_minute.note(scope, key, now, place);
    }
}

impl From<Over> for Error {
    fn from(over: Over) -> Self {
        let reason = match (over.scope, over.is_bytes, over.way) {
            (Scope::Partition, ..) => BusyReason::PartitionTarget,
            (Scope::Table, ..) => BusyReason::TableTarget,
            (Scope::Account, false, _) => BusyReason::AccountTarget(AccountLimit::Operations),
            (Scope::Account, true, Way::In) => BusyReason::AccountTarget(AccountLimit::Ingress),
            (Scope::Account, true, Way::Out) => BusyReason::AccountTarget(AccountLimit::Egress),
        };
        let unit = if over.is_bytes { "bytes" } else { "entities" };
        Self::Busy {
            reason,
            retry_after: over.wait,
            detail: format!("over the target of {unit} a second").into(),
        }
    }
}
