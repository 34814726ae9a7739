//! Counters of requests and connections: atomics created at start, changed by relaxed additions only.
//!
//! Each thread counts in a shard, so that cores do not contend for cache lines; reading sums the shards. A reading is
//! not a snapshot of one instant: counts may differ by the requests that end while it is taken.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use partita_service::BusyReason;
use partita_wire::ErrorCode;

use super::counted::Counted;
use super::forwarding::{ForwardCounts, ForwardReading};
use super::latency::{Latencies, Recorder};
use super::operation::Operation;

/// The number of shards. With more threads than shards, threads share a shard. A shard is about 60 KB.
const SHARDS: usize = 8;

/// The values of the label `status`: 1xx and 2xx count as 2xx.
pub(crate) const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// An answered request, as the front reports it.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// The operation, as far as it is known.
    pub operation: Operation,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The storage error code of the answer, if any.
    pub code: Option<ErrorCode>,
    /// The reason why it was not executed, one of [`BusyReason::WORDS`]; `None` if it was executed.
    pub busy: Option<&'static str>,
    /// Time from the end of the request's headers until its answer is ready to be sent.
    pub latency: Duration,
    /// Bytes of the request's body.
    pub bytes_in: u64,
    /// Bytes of the answer's body.
    pub bytes_out: u64,
    /// Entities in the answer.
    pub entities_out: u64,
}

/// Why a connection ended, other than by its client closing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionFault {
    /// The TLS handshake failed or took too long.
    Tls,
    /// Headers did not arrive in time, or a body or an answer moved too slowly.
    Slow,
    /// The bytes received are not HTTP, or exceed a size limit.
    Protocol,
    /// The connection broke.
    Broken,
    /// All places were taken, and it had waited longest for its client.
    Evicted,
}

impl ConnectionFault {
    /// The values of the label `reason`, in the order of the variants.
    pub(crate) const REASONS: [&str; 5] = ["tls", "slow", "protocol", "broken", "evicted"];
}

/// The counters of a server. Shared by reference or `Arc`; every method may be called from any thread.
#[derive(Debug)]
pub struct Metrics {
    shards: Box<[Shard]>,
    errors: Box<[AtomicU64]>,
    busy: [AtomicU64; BusyReason::WORDS.len()],
    connections: AtomicI64,
    connections_opened: AtomicU64,
    connections_failed: [AtomicU64; ConnectionFault::REASONS.len()],
    pub(crate) forwarding: ForwardCounts,
}

/// Aligned so that no two shards share a cache line (128 bytes: processors fetch lines in pairs).
#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    in_flight: AtomicI64,
    operations: Box<[PerOperation]>,
}

#[derive(Debug, Default)]
struct PerOperation {
    classes: [AtomicU64; CLASSES.len()],
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    entities_out: AtomicU64,
    latency: Recorder,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let shard = |_| Shard {
            in_flight: AtomicI64::new(0),
            operations: (0..Operation::COUNT)
                .map(|_| PerOperation::default())
                .collect(),
        };
        Metrics {
            shards: (0..SHARDS).map(shard).collect(),
            errors: (0..Operation::COUNT * Operation::ERROR_CODES_MAX)
                .map(|_| AtomicU64::new(0))
                .collect(),
            busy: Default::default(),
            connections: AtomicI64::new(0),
            connections_opened: AtomicU64::new(0),
            connections_failed: Default::default(),
            forwarding: ForwardCounts::default(),
        }
    }
}

impl Metrics {
    /// Counts a request as in flight until the guard is dropped.
    pub fn in_flight(&self) -> Counted<'_> {
        Counted::new(&self.shard().in_flight)
    }

    /// Counts an answered request.
    pub fn request(&self, answered: &Answered) {
        let operation = answered.operation.index();
        let class = usize::from(answered.status / 100).clamp(2, 5) - 2;
        if let Some(counts) = self.shard().operations.get(operation) {
            if let Some(count) = counts.classes.get(class) {
                count.fetch_add(1, Ordering::Relaxed);
            }
            add(&counts.bytes_in, answered.bytes_in);
            add(&counts.bytes_out, answered.bytes_out);
            add(&counts.entities_out, answered.entities_out);
            counts.latency.record(answered.latency);
        }
        if let Some(code) = answered.code
            && let Some(count) = self.errors.get(error_index(operation, code))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(word) = answered.busy {
            let counts = BusyReason::WORDS.iter().zip(&self.busy);
            if let Some((_, count)) = counts.into_iter().find(|(known, _)| **known == word) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts a connection as open until the guard is dropped.
    pub fn connection(&self) -> Counted<'_> {
        self.connections_opened.fetch_add(1, Ordering::Relaxed);
        Counted::new(&self.connections)
    }

    /// Counts a connection that ended with a fault.
    pub fn connection_failed(&self, fault: ConnectionFault) {
        if let Some(count) = self.connections_failed.get(fault as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reads all counters.
    pub(crate) fn read(&self) -> Reading {
        let load = |count: &AtomicI64| count.load(Ordering::Relaxed);
        Reading {
            operations: Operation::all().map(|it| self.read_operation(it)).collect(),
            busy: self.busy.each_ref().map(load_count),
            in_flight: self.shards.iter().map(|shard| load(&shard.in_flight)).sum(),
            connections: load(&self.connections),
            connections_opened: load_count(&self.connections_opened),
            connections_failed: self.connections_failed.each_ref().map(load_count),
            forwarding: self.forwarding.read(),
        }
    }

    fn read_operation(&self, operation: Operation) -> OperationReading {
        let index = operation.index();
        let mut reading = OperationReading {
            name: operation.label(),
            ..OperationReading::default()
        };
        let shards = self.shards.iter();
        for counts in shards.filter_map(|shard| shard.operations.get(index)) {
            for (total, count) in reading.classes.iter_mut().zip(&counts.classes) {
                *total += load_count(count);
            }
            reading.bytes_in += load_count(&counts.bytes_in);
            reading.bytes_out += load_count(&counts.bytes_out);
            reading.entities_out += load_count(&counts.entities_out);
            counts.latency.add_to(&mut reading.latencies);
        }
        for code in operation.error_codes() {
            let count = self.errors.get(error_index(index, *code));
            let count = count.map_or(0, load_count);
            if count > 0 {
                reading.errors.push((*code, count));
            }
        }
        reading
    }

    fn shard(&self) -> &Shard {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        let mut mine = MINE.get();
        if mine == usize::MAX {
            mine = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            MINE.set(mine);
        }
        let shard = self.shards.get(mine);
        shard.expect("shards are numbered modulo their count")
    }
}

fn load_count(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Adds to a counter, without touching its cache line when there is nothing to add.
fn add(count: &AtomicU64, more: u64) {
    if more > 0 {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

fn error_index(operation: usize, code: ErrorCode) -> usize {
    operation * Operation::ERROR_CODES_MAX + code.index()
}

/// The values of all counters.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) operations: Vec<OperationReading>,
    /// Refused requests, in the order of [`BusyReason::WORDS`].
    pub(crate) busy: [u64; BusyReason::WORDS.len()],
    pub(crate) in_flight: i64,
    pub(crate) connections: i64,
    pub(crate) connections_opened: u64,
    pub(crate) connections_failed: [u64; ConnectionFault::REASONS.len()],
    pub(crate) forwarding: ForwardReading,
}

/// The values of one operation's counters.
#[derive(Debug, Default)]
pub(crate) struct OperationReading {
    pub(crate) name: &'static str,
    pub(crate) classes: [u64; CLASSES.len()],
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) entities_out: u64,
    pub(crate) latencies: Latencies,
    pub(crate) errors: Vec<(ErrorCode, u64)>,
}

impl OperationReading {
    pub(crate) fn requests(&self) -> u64 {
        self.classes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::table::Operation as O;

    const GET: Operation = Operation::Table(Some(O::GetEntity));
    const INSERT: Operation = Operation::Table(Some(O::InsertEntity));
    const UNKNOWN: Operation = Operation::Table(None);

    fn answered(operation: Operation, status: u16, code: Option<ErrorCode>) -> Answered {
        Answered {
            operation,
            status,
            code,
            busy: None,
            latency: Duration::from_micros(100),
            bytes_in: 10,
            bytes_out: 20,
            entities_out: 1,
        }
    }

    #[test]
    fn requests_count_by_operation_class_and_code() {
        let metrics = Metrics::default();
        metrics.request(&answered(GET, 200, None));
        metrics.request(&answered(GET, 404, Some(ErrorCode::ResourceNotFound)));
        metrics.request(&answered(UNKNOWN, 400, Some(ErrorCode::InvalidUri)));
        metrics.request(&answered(GET, 999, None));
        let reading = metrics.read();
        let get = &reading.operations[GET.index()];
        assert_eq!(get.classes, [1, 0, 1, 1]);
        assert_eq!((get.bytes_in, get.bytes_out, get.entities_out), (30, 60, 3));
        assert_eq!(get.errors, [(ErrorCode::ResourceNotFound, 1)]);
        assert_eq!(get.latencies.count(), 3);
        let unknown = &reading.operations[UNKNOWN.index()];
        assert_eq!((unknown.name, unknown.requests()), ("Unknown", 1));
    }

    #[test]
    fn refused_requests_count_by_reason() {
        let metrics = Metrics::default();
        for (word, times) in (1..)
            .zip(BusyReason::WORDS)
            .map(|(times, word)| (word, times))
        {
            for _ in 0..times {
                let busy = answered(UNKNOWN, 503, Some(ErrorCode::ServerBusy));
                let busy = Answered {
                    busy: Some(word),
                    ..busy
                };
                metrics.request(&busy);
            }
        }
        assert_eq!(metrics.read().busy, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "the test counts from several threads"
    )]
    fn counts_of_threads_add_up_and_guards_return_to_zero() {
        let metrics = Metrics::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * SHARDS {
                let guard = metrics.in_flight();
                let metrics = &metrics;
                scope.spawn(move || {
                    let _guard = guard;
                    let _connection = metrics.connection();
                    for _ in 0..100 {
                        metrics.request(&answered(INSERT, 204, None));
                    }
                });
            }
        });
        let reading = metrics.read();
        assert_eq!(reading.operations[INSERT.index()].requests(), 1600);
        assert_eq!(
            (
                reading.in_flight,
                reading.connections,
                reading.connections_opened
            ),
            (0, 0, 16)
        );
    }
}
