//! The shares of targets that this server of a cluster may use, and what its requests ask for.
//!
//! The manager reads the demands every 2 s, and answers with shares:
//!
//! | what this server knows | its rate |
//! | --- | --- |
//! | no shares: none have come yet, or a manager of an earlier release reads the demands and sends none | the whole rate |
//! | the share of the scope in the last shares | rate × share |
//! | shares, but not of this scope | rate ÷ number of servers with ranges of the scope |
//!
//! The last shares apply for as long as no manager asks. A scope at one server has the whole rate at any time.

use super::{Cost, Rates};
use partita_cluster::{
    DEMANDS_MAX, TargetDemand, TargetScope, TargetShare, WHOLE, equal_share, least_share,
};
use partita_rt::hash::FastRandomState;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Counts the servers that serve ranges of a scope.
pub type CountServers = Arc<dyn Fn(&TargetScope) -> usize + Send + Sync>;

/// A manager that reads demands, and has sent no shares for this time, sends none: five rounds.
const STALE_NANOS: u64 = 10_000_000_000;

/// Demands are measured over at least this time: right after a change of managers, two may ask.
const INTERVAL_MIN_NANOS: u64 = 1_000_000_000;

/// A demand below the least share divided by this is not reported. So the unreported demands of a scope are less than 5 %
/// of its target in all.
const UNREPORTED: u64 = 10;

/// The shares and demands of containers and accounts.
pub(super) struct Sharing {
    count_servers: CountServers,
    /// By the hash of the scope.
    scopes: HashMap<u64, Shared, FastRandomState>,
    max: usize,
    /// When the last shares came.
    given: Option<u64>,
    /// When the demands were read last.
    read: u64,
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing")
            .field("scopes", &self.scopes.len())
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}

/// A scope that was charged, or that the manager gave a share of.
struct Shared {
    scope: TargetScope,
    /// The whole rates, from the last request.
    rates: Rates,
    /// In millionths; `None` until the next request.
    share: Option<u64>,
    /// Whether the share is that of the manager.
    is_given: bool,
    /// What was used and refused since the demands were read.
    asked: Cost,
}

impl Shared {
    fn new(scope: TargetScope) -> Self {
        Self {
            scope,
            rates: Rates::default(),
            share: None,
            is_given: false,
            asked: Cost::default(),
        }
    }

    /// What was asked for in this time, in millionths of the whole rates.
    fn demand(&self, nanos: u64) -> u64 {
        let of = |rate: Option<NonZeroU32>, asked: u64| {
            let rate = rate.map_or(u128::MAX, |rate| u128::from(rate.get()) * u128::from(nanos));
            let asked = u128::from(asked) * 1_000_000_000;
            u64::try_from(asked.saturating_mul(WHOLE.into()) / rate).unwrap_or(u64::MAX)
        };
        let entities = of(self.rates.entities, self.asked.entities);
        entities.max(of(self.rates.bytes, self.asked.bytes))
    }
}

impl Sharing {
    /// The shares of at most `max` scopes. Others have the whole rate.
    pub(super) fn new(count_servers: CountServers, max: usize) -> Self {
        Self {
            count_servers,
            scopes: HashMap::default(),
            max,
            given: None,
            read: 0,
        }
    }

    /// Whether shares have come, of whatever scopes.
    pub(super) fn has_shares(&self) -> bool {
        self.given.is_some()
    }

    /// What this server may use of the rates of a scope. `scope` is called when the scope was not charged lately.
    pub(super) fn rates(
        &mut self,
        hash: u64,
        rates: Rates,
        scope: impl FnOnce() -> Option<TargetScope>,
    ) -> Rates {
        if rates.is_unlimited() {
            return rates;
        }
        if !self.scopes.contains_key(&hash)
            && self.scopes.len() < self.max
            && let Some(scope) = scope()
        {
            self.scopes.insert(hash, Shared::new(scope));
        }
        let Some(shared) = self.scopes.get_mut(&hash) else {
            return rates;
        };
        shared.rates = rates;
        if self.given.is_none() {
            return rates;
        }
        let equal = || equal_share((self.count_servers)(&shared.scope));
        rates.scaled(*shared.share.get_or_insert_with(equal))
    }

    /// The share of a scope that was charged lately, in millionths.
    pub(super) fn share_of(&self, hash: u64) -> u64 {
        let shared = self.scopes.get(&hash).filter(|_| self.has_shares());
        shared.and_then(|shared| shared.share).unwrap_or(WHOLE)
    }

    /// Counts what a request has used, or was refused.
    pub(super) fn note(&mut self, hash: u64, cost: Cost) {
        if let Some(shared) = self.scopes.get_mut(&hash) {
            shared.asked.entities += cost.entities;
            shared.asked.bytes += cost.bytes;
        }
    }

    /// What was asked for since the last call, for the manager.
    pub(super) fn demands(&mut self, now: u64) -> Vec<TargetDemand> {
        let is_stale = |given: u64| now.saturating_sub(given) > STALE_NANOS;
        if self.given.is_some_and(is_stale) {
            self.given = None;
            self.forget_shares();
        }
        let nanos = now.saturating_sub(self.read).max(INTERVAL_MIN_NANOS);
        self.read = now;
        let unused = Cost::default();
        self.scopes
            .retain(|_, shared| shared.is_given || shared.asked != unused);
        let mut demands = Vec::new();
        for shared in self.scopes.values_mut() {
            let demand = shared.demand(nanos);
            shared.asked = unused;
            if demand == 0 {
                continue;
            }
            let servers = (self.count_servers)(&shared.scope);
            if servers > 1 && demand >= least_share(servers) / UNREPORTED {
                let scope = shared.scope.clone();
                demands.push(TargetDemand { scope, demand });
            }
        }
        demands.sort_by_key(|demand| Reverse(demand.demand));
        demands.truncate(DEMANDS_MAX);
        demands
    }

    /// Uses these shares, each with the hash of its scope.
    pub(super) fn set<'a>(
        &mut self,
        now: u64,
        shares: impl Iterator<Item = (u64, &'a TargetShare)>,
    ) {
        self.given = Some(now);
        self.forget_shares();
        for (hash, given) in shares {
            if self.scopes.len() >= self.max && !self.scopes.contains_key(&hash) {
                continue;
            }
            let new = || Shared::new(given.scope.clone());
            let shared = self.scopes.entry(hash).or_insert_with(new);
            shared.share = Some(given.share);
            shared.is_given = true;
        }
    }

    fn forget_shares(&mut self) {
        for shared in self.scopes.values_mut() {
            shared.share = None;
            shared.is_given = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    const SECOND: u64 = 1_000_000_000;
    /// The hash of the scope of most tests.
    const TABLE: u64 = 1;
    const RATES: Rates = Rates::entities(1_000);

    fn scope(hash: u64) -> TargetScope {
        TargetScope::Container(hash.to_be_bytes().to_vec().into())
    }

    fn share(hash: u64, share: u64) -> (u64, TargetShare) {
        let scope = scope(hash);
        (hash, TargetShare { scope, share })
    }

    /// Shares of scopes at this number of servers, which can change.
    fn sharing(servers: &Arc<Mutex<usize>>) -> Sharing {
        let servers = Arc::clone(servers);
        Sharing::new(Arc::new(move |_| *servers.lock()), 3_000)
    }

    fn three() -> Arc<Mutex<usize>> {
        Arc::new(Mutex::new(3))
    }

    impl Sharing {
        fn give(&mut self, now: u64, shares: &[(u64, TargetShare)]) {
            let shares = shares.iter().map(|(hash, share)| (*hash, share));
            self.set(now, shares);
        }

        /// The entities that a scope may use in a second.
        fn rate(&mut self, hash: u64) -> u32 {
            let rates = self.rates(hash, RATES, || Some(scope(hash)));
            rates.entities.unwrap().get()
        }

        fn ask(&mut self, hash: u64, entities: u64) {
            self.rate(hash);
            let cost = Cost { entities, bytes: 0 };
            self.note(hash, cost);
        }

        fn demand(&mut self, now: u64) -> Vec<(TargetScope, u64)> {
            let demands = self.demands(now).into_iter();
            demands
                .map(|demand| (demand.scope, demand.demand))
                .collect()
        }
    }

    #[test]
    fn a_server_without_shares_uses_the_whole_rate() {
        let mut sharing = sharing(&three());
        assert_eq!(sharing.rate(TABLE), 1_000);
        sharing.demands(2 * SECOND);
        assert_eq!(sharing.rate(TABLE), 1_000);
    }

    #[test]
    fn a_scope_has_its_share_or_an_equal_one() {
        let servers = three();
        let mut sharing = sharing(&servers);
        sharing.give(0, &[share(TABLE, 700_000), share(9, 1)]);
        assert_eq!((sharing.rate(TABLE), sharing.rate(2)), (700, 333));
        assert_eq!(sharing.rate(9), 1, "at least one a second");
        // The next shares replace all earlier ones.
        *servers.lock() = 2;
        sharing.give(SECOND, &[share(2, WHOLE)]);
        assert_eq!((sharing.rate(TABLE), sharing.rate(2)), (500, 1_000));
        // The number of servers is read once for all shares.
        *servers.lock() = 1;
        assert_eq!(sharing.rate(TABLE), 500);
        sharing.give(2 * SECOND, &[]);
        assert_eq!(sharing.rate(TABLE), 1_000);
    }

    #[test]
    fn the_last_shares_apply_while_no_manager_asks() {
        let mut sharing = sharing(&three());
        sharing.give(0, &[share(TABLE, 700_000)]);
        sharing.demands(2 * SECOND);
        assert_eq!(sharing.rate(TABLE), 700);
        // A day later the first manager asks, and gives shares.
        sharing.give(86_400 * SECOND, &[share(TABLE, 600_000)]);
        assert_eq!(sharing.rate(TABLE), 600);
        // Another one asks, and gives none.
        for second in 1..=10 {
            sharing.demands((86_400 + second) * SECOND);
            assert_eq!(sharing.rate(TABLE), 600);
        }
        sharing.demands((86_400 + 11) * SECOND);
        assert_eq!(sharing.rate(TABLE), 1_000);
    }

    #[test]
    fn used_and_refused_entities_are_the_demand_of_an_interval() {
        let mut sharing = sharing(&three());
        sharing.ask(TABLE, 800);
        sharing.ask(TABLE, 400);
        assert_eq!(sharing.demand(2 * SECOND), [(scope(TABLE), 600_000)]);
        assert_eq!(sharing.demand(4 * SECOND), []);
        assert!(sharing.scopes.is_empty(), "an idle scope is dropped");
        // Two managers ask, one right after the other.
        sharing.ask(TABLE, 1_000);
        assert_eq!(
            sharing.demand(4 * SECOND + 1),
            [(scope(TABLE), 1_000_000)],
            "as if it were a second"
        );
    }

    #[test]
    fn the_greater_of_entities_and_bytes_is_the_demand() {
        let mut sharing = sharing(&three());
        let rates = Rates {
            entities: NonZeroU32::new(1_000),
            bytes: NonZeroU32::new(500_000),
        };
        sharing.rates(TABLE, rates, || Some(scope(TABLE)));
        let cost = Cost {
            entities: 100,
            bytes: 2_000_000,
        };
        sharing.note(TABLE, cost);
        assert_eq!(sharing.demand(SECOND), [(scope(TABLE), 4 * WHOLE)]);
        let huge = Cost {
            entities: u64::MAX,
            bytes: 0,
        };
        sharing.rates(TABLE, rates, || Some(scope(TABLE)));
        sharing.note(TABLE, huge);
        assert_eq!(sharing.demand(2 * SECOND), [(scope(TABLE), u64::MAX)]);
    }

    #[test]
    fn only_scopes_at_several_servers_with_a_demand_are_reported() {
        let servers = three();
        let mut sharing = sharing(&servers);
        // A sixtieth of the target.
        sharing.ask(TABLE, 17);
        sharing.ask(2, 16);
        assert_eq!(sharing.demand(SECOND), [(scope(TABLE), 17_000)]);
        *servers.lock() = 1;
        sharing.ask(TABLE, 5_000);
        assert_eq!(sharing.demand(2 * SECOND), []);
        // Without a target, nothing is counted.
        let none = sharing.rates(3, Rates::default(), || Some(scope(3)));
        assert!(none.is_unlimited() && !sharing.scopes.contains_key(&3));
    }

    #[test]
    fn reports_and_scopes_are_bounded() {
        let mut sharing = sharing(&three());
        for hash in 0..5_000 {
            sharing.ask(hash, 100 + hash);
        }
        let demands = sharing.demand(SECOND);
        assert_eq!((demands.len(), &demands[0].0), (DEMANDS_MAX, &scope(2_999)));
        let shares: Vec<_> = (0..5_000).map(|hash| share(hash, 500_000)).collect();
        sharing.give(SECOND, &shares);
        assert_eq!(sharing.scopes.len(), 3_000);
        assert_eq!(
            sharing.rate(4_999),
            1_000,
            "a scope beyond the bound is not divided"
        );
    }
}
