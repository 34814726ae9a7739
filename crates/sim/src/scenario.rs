//! The parameters of a simulation, chosen by its seed: sizes, latencies, memory.
//!
//! The seeds combine small and large values, so that together they reach cases that one fixed choice would not reach.

use std::time::Duration;

use crate::seed::Seed;

/// The server's name on the network.
pub(crate) const SERVER: &str = "server";

/// The port of the table service.
pub(crate) const TABLE_PORT: u16 = 10_002;

/// The port of the queue service.
pub(crate) const QUEUE_PORT: u16 = 10_001;

/// The admin port.
pub(crate) const ADMIN_PORT: u16 = 10_010;

/// The parameters of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) seed: Seed,
    /// The number of operations of all sessions on tables together.
    pub(crate) operations: u64,
    /// The number of operations of all sessions on queues together.
    pub(crate) queue_operations: u64,
    /// The number of clients of tables, each with its own connection and rows.
    pub(crate) sessions: u64,
    /// The number of tables, which all sessions share.
    pub(crate) tables: u64,
    /// The number of partitions of a session in each table.
    pub(crate) partitions: u64,
    /// The number of different row keys in a partition.
    pub(crate) rows: u64,
    /// The maximum number of characters of a row's text.
    pub(crate) text_max: usize,
    /// The number of clients of queues.
    pub(crate) queue_sessions: u64,
    /// The number of queues, which all clients of queues share.
    pub(crate) queues: usize,
    /// The maximum number of characters of a message's text, without its label.
    pub(crate) message_text_max: usize,
    /// The maximum pause of a client of queues between two operations, in milliseconds.
    pub(crate) queue_pause_max: u64,
    /// The maximum latency of a message between hosts.
    pub(crate) message_latency_max: Duration,
    /// The maximum latency of a request to the object store.
    pub(crate) store_latency_max: Duration,
    /// The maximum number of operations between two actions of the operator.
    pub(crate) operator_pause_max: u64,
    /// The size of the server's entity cache, in bytes.
    pub(crate) entity_cache_bytes: u64,
    /// The size of the server's block cache, in bytes.
    pub(crate) block_cache_bytes: u64,
    /// What reads the server's files: mostly both readers, with a logged error if they return different rows.
    pub(crate) reader: &'static str,
}

impl Scenario {
    /// The scenario of a seed.
    pub(crate) fn of(seed: Seed, operations: u64) -> Self {
        let mut random = seed.stream("scenario");
        let mut milliseconds =
            |choices: &[u64]| Duration::from_millis(one_of(&mut random, choices));
        let message_latency_max = milliseconds(&[1, 2, 5, 20]);
        let store_latency_max = milliseconds(&[1, 5, 20, 50]);
        Self {
            seed,
            // A quarter of the operations is on queues.
            operations: operations - operations / 4,
            queue_operations: operations / 4,
            sessions: random.u64(3..=10),
            tables: random.u64(2..=4),
            partitions: one_of(&mut random, &[1, 3, 10]),
            rows: one_of(&mut random, &[5, 30, 100]),
            text_max: one_of(&mut random, &[10, 200, 2_000]),
            queue_sessions: random.u64(2..=5),
            queues: random.usize(1..=3),
            message_text_max: one_of(&mut random, &[10, 200, 3_900, 20_000]),
            queue_pause_max: one_of(&mut random, &[20, 100, 400]),
            message_latency_max,
            store_latency_max,
            operator_pause_max: one_of(&mut random, &[200, 500, 2_000]),
            entity_cache_bytes: one_of(&mut random, &[64 << 10, 128 << 20]),
            block_cache_bytes: one_of(&mut random, &[256 << 10, 64 << 20]),
            reader: one_of(
                &mut random,
                &["compared", "compared", "compared", "partita"],
            ),
        }
    }
}

fn one_of<T: Copy>(random: &mut fastrand::Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}
