//! Tests the buckets of many partitions, and the shares of a server of a cluster.

use super::buckets::Buckets;
use super::*;
use partita_cluster::{TargetDemand, TargetLoad, TargetShare, WHOLE};
use partita_model::{TableId, TableSpace};
use std::sync::Arc;

#[test]
fn hot_buckets_stay_at_the_bound() {
    const SECOND: u64 = 1_000_000_000;
    let (rates, one) = (Rates::entities(100), Cost::ONE);
    let mut buckets = Buckets::new(100);
    let mut hot = 0;
    for step in 0..10_000 {
        // Every 100 µs, charges a new partition, and the hot partition if it is admitted.
        let now = step * 100_000;
        buckets.take(1_000 + step, rates, now, one);
        if buckets.wait(7, rates, now, one).0 == 0 {
            buckets.take(7, rates, now, one);
            hot += 1;
        }
        assert!(buckets.len() <= 100);
    }
    assert!(
        (100..=201).contains(&hot),
        "the burst and the rate of one second each: {hot}"
    );
    // Buckets that are full are dropped as new ones come.
    for step in 0..100 {
        buckets.take(step, rates, 5 * SECOND, one);
    }
    assert!(buckets.len() <= 100);
}

#[test]
fn full_buckets_are_dropped_as_new_ones_come() {
    let (rates, one) = (Rates::entities(1_000), Cost::ONE);
    let mut buckets = Buckets::new(10_000);
    for step in 0..10_000 {
        // At this rate each bucket is full again after a millisecond.
        buckets.take(step, rates, step * 100_000, one);
    }
    assert!(buckets.len() < 100, "{}", buckets.len());
}

/// A server of a cluster that has two servers, and a table with these rates for itself and for each partition.
struct Server {
    targets: Targets,
    started: Instant,
    table: TableSpace,
    rates: ContainerRates,
}

impl Server {
    fn new(partition: u32, table: u32, account: u32) -> Self {
        let started = Instant::now();
        let targets = Targets::new(Rates::entities(account), started);
        Self {
            targets: targets.in_cluster(Arc::new(|_| 2)),
            started,
            table: TableSpace::new("account", TableId(1)),
            rates: ContainerRates {
                partition: Rates::entities(partition),
                container: Rates::entities(table),
            },
        }
    }

    fn at(&self, milliseconds: u64) -> Instant {
        self.started + Duration::from_millis(milliseconds)
    }

    /// The requests that are admitted of this number, each of one entity.
    fn admitted(&self, milliseconds: u64, partition: &str, requests: usize) -> usize {
        let key = self.table.partition(partition);
        let charged = Charged {
            key: &key,
            container: self.table.prefix(),
            rates: self.rates,
        };
        let now = self.at(milliseconds);
        let names = || ScopeNames {
            account: "account".to_owned(),
            container: "People".to_owned(),
            partition: partition.to_owned(),
        };
        let take = || {
            let taken = self
                .targets
                .take(now, &charged, Cost::ONE, Direction::In, names);
            taken.is_ok()
        };
        (0..requests).filter(|_| take()).count()
    }

    fn demands(&self, milliseconds: u64) -> Vec<TargetDemand> {
        let mut demands = self.targets.demands(self.at(milliseconds));
        demands.sort_by(|one, other| one.scope.cmp(&other.scope));
        demands
    }

    fn give(&self, milliseconds: u64, demands: &[TargetDemand], share: u64) {
        let share = |demand: &TargetDemand| TargetShare {
            scope: demand.scope.clone(),
            share,
        };
        let shares: Vec<_> = demands.iter().map(share).collect();
        self.targets.set_shares(self.at(milliseconds), &shares);
    }
}

#[test]
fn a_table_and_an_account_use_the_shares_of_a_server() {
    for (table, account) in [(100, 0), (0, 100), (100, 100)] {
        let server = Server::new(0, table, account);
        assert_eq!(server.admitted(0, "p", 300), 100);
        let demands = server.demands(1_000);
        let asked: Vec<u64> = demands.iter().map(|demand| demand.demand).collect();
        match (table, account) {
            // A request that both refuse counts for the narrower one.
            (100, 100) => assert_eq!(asked, [3 * WHOLE, WHOLE]),
            _ => assert_eq!(asked, [3 * WHOLE]),
        }
        server.give(1_000, &demands, 700_000);
        assert_eq!(server.admitted(2_000, "p", 300), 70);
        assert_eq!(server.admitted(2_100, "p", 300), 7);
        server.give(2_100, &demands, WHOLE);
        assert_eq!(server.admitted(2_200, "p", 300), 10);
        // No share of the scope: one of two servers.
        server.give(2_200, &[], 0);
        assert_eq!(server.admitted(2_300, "p", 300), 5);
        assert_eq!(server.admitted(9_000, "p", 300), 50);
        let limited = server.targets.limited(server.at(9_000), 9);
        assert_eq!(limited.len(), 1, "{limited:?}");
        let shares = server.targets.limited_shares(server.at(9_000));
        assert_eq!(shares, [(limited[0].clone(), 0.5)]);
        assert_eq!(limited[0].throttled, 200 + 230 + 293 + 290 + 295 + 250);
    }
}

#[test]
fn what_a_partition_refuses_does_not_count_for_its_table() {
    let server = Server::new(10, 100, 0);
    assert_eq!(server.admitted(0, "hot", 300), 10);
    let demands = server.demands(1_000);
    assert_eq!((demands.len(), demands[0].demand), (1, 100_000));
    // A partition is at one server, and has its whole target.
    server.give(1_000, &demands, 500_000);
    assert_eq!(server.admitted(2_000, "hot", 300), 10);
    for partition in ["a", "b", "c"] {
        assert_eq!(server.admitted(2_000, partition, 300), 10);
    }
    assert_eq!(server.admitted(2_000, "d", 300), 10);
    assert_eq!(
        server.admitted(2_000, "e", 300),
        0,
        "half of the table's target is used"
    );
}

#[test]
fn queries_use_the_share_too() {
    let server = Server::new(0, 100, 0);
    server.give(0, &[], 0);
    let key = server.table.partition("p");
    let charged = Charged {
        key: &key,
        container: server.table.prefix(),
        rates: server.rates,
    };
    let targets = &server.targets;
    let rows = |entities| Cost { entities, bytes: 0 };
    assert!(!targets.charge(server.at(0), &charged, rows(50)));
    assert!(targets.charge(server.at(0), &charged, rows(50)));
    assert!(!targets.allows(server.at(1_000), &charged));
    // A debt of 50 at 50 a second, and one token.
    assert!(targets.allows(server.at(1_020), &charged));
    assert_eq!(
        server.demands(1_020)[0].demand,
        100 * WHOLE * 100 / 102 / 100
    );
}
