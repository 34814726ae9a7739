//! The parameters of a simulated cluster, chosen by its seed.

use std::time::Duration;

use crate::seed::Seed;

/// The names of the servers, which are also their names on the network.
pub(super) const SERVERS: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];

/// The port for other servers.
pub(super) const PEER_PORT: u16 = 10_011;

/// The parameters of a simulated cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) seed: Seed,
    /// The number of servers.
    pub(super) servers: usize,
    /// The number of operations of all clients together.
    pub(super) operations: u64,
    /// Whether anything fails.
    pub(super) has_faults: bool,
    /// The number of clients of single entities, of groups of entities, and of scans.
    pub(super) entity_clients: u64,
    pub(super) group_clients: u64,
    pub(super) scan_clients: u64,
    /// The number of clients of queues, and of the queues that they share.
    pub(super) queue_clients: u64,
    pub(super) queues: usize,
    /// The maximum number of characters of a message's text, without its label.
    pub(super) message_text_max: usize,
    /// The maximum pause of a client between two operations.
    pub(super) pause_max: Duration,
    /// The maximum pause of the operator of a server between two actions.
    pub(super) operator_pause_max: Duration,
    /// The maximum time without a fault.
    pub(super) calm_max: Duration,
    /// The maximum latency of a message between hosts.
    pub(super) message_latency_max: Duration,
    /// The maximum latency of a request to the object store.
    pub(super) store_latency_max: Duration,
    /// The maximum latency of a message to or from the coordinator.
    pub(super) registry_latency_max: Duration,
    /// The size of each server's entity cache, in bytes.
    pub(super) entity_cache_bytes: u64,
    /// The size of each server's block cache, in bytes.
    pub(super) block_cache_bytes: u64,
    /// The target of the table, in entities a second; `None` without targets.
    pub(super) table_target: Option<u32>,
    /// When unused files are deleted.
    pub(super) garbage_age: &'static str,
}

impl Scenario {
    /// The scenario of a seed.
    pub(super) fn of(seed: Seed, servers: usize, operations: u64, has_faults: bool) -> Self {
        let mut random = seed.stream("cluster scenario");
        let mut milliseconds =
            |choices: &[u64]| Duration::from_millis(one_of(&mut random, choices));
        Self {
            seed,
            servers,
            operations,
            has_faults,
            pause_max: milliseconds(&[10, 40, 100]),
            operator_pause_max: milliseconds(&[1_000, 3_000, 8_000]),
            calm_max: milliseconds(&[1_000, 3_000, 6_000]),
            message_latency_max: milliseconds(&[1, 2, 5, 20]),
            store_latency_max: milliseconds(&[1, 5, 20, 50]),
            registry_latency_max: milliseconds(&[1, 3, 10]),
            entity_clients: random.u64(3..=6),
            group_clients: random.u64(1..=3),
            scan_clients: random.u64(1..=2),
            entity_cache_bytes: one_of(&mut random, &[64 << 10, 128 << 20]),
            block_cache_bytes: one_of(&mut random, &[256 << 10, 64 << 20]),
            garbage_age: one_of(&mut random, &["30s", "10m"]),
            queue_clients: random.u64(2..=4),
            queues: random.usize(1..=2),
            message_text_max: one_of(&mut random, &[10, 200, 3_900]),
            table_target: one_of(&mut random, &[None, None, Some(300), Some(2_000)]),
        }
    }
}

/// One of several values.
pub(super) fn one_of<T: Copy>(random: &mut fastrand::Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}

/// A random time up to `max`.
pub(super) fn up_to(random: &mut fastrand::Rng, max: Duration) -> Duration {
    let micros = u64::try_from(max.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(random.u64(0..=micros))
}
