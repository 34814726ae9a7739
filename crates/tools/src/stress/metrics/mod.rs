//! The metrics of a run. Their memory is bounded, independent of the duration of the run.
//!
//! - The module does not read a clock: the caller passes each time, measured from the start of the run.
//! - *Response* time starts when an operation is due, and ends when its answer is complete. *Service* time starts when
//!   the operation begins, and has the same end. Both include retries and the waits before them. In a closed loop, both
//!   are the same; see [`partita_load::Schedule`].

mod partitions;
mod series;
mod tries;

pub use partitions::{Growth, PartitionMetrics};
pub use series::Point;
pub use tries::Tries;

pub(super) use tries::failure;

use super::mix::Kind;
use partita_client::AttemptEvent;
use partita_load::{Counts, LatencyHistogram, LatencySummary, Times, count};
use partitions::Partitions;
use serde::{Deserialize, Serialize};
use series::{Series, tenths};
use std::time::Duration;

/// Maximum number of partitions that a report lists.
const PARTITIONS_NAMED: usize = 50;

/// The metrics of operations of one kind, or of all kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationMetrics {
    /// `get`, `insert` …, or `all`.
    pub operation: String,
    /// Operations that succeeded.
    pub done: u64,
    /// Successful reads of a row that does not exist.
    pub missing: u64,
    /// Operations that failed, after all their attempts.
    pub failed: u64,
    /// Entities that were read or written.
    pub entities: u64,
    /// Operations per second that succeeded, over the whole run.
    pub per_second: f64,
    /// Response time: latency from the time the operation was due.
    pub response: LatencySummary,
    /// Service time: latency from the time the operation began.
    pub service: LatencySummary,
    /// In a closed loop: the service time corrected for coordinated omission, see [`LatencyHistogram::corrected`].
    /// `None` at a fixed rate.
    pub corrected: Option<LatencySummary>,
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The operation succeeded.
    Done,
    /// The operation succeeded, but the row to read does not exist.
    Missing,
    /// The operation failed, for this reason.
    Failed(String),
}

/// The result of an operation.
#[derive(Debug)]
pub struct Performed {
    /// How the operation ended.
    pub outcome: Outcome,
    /// The number of entities that were read or written in each partition; `None` for an unknown partition.
    pub served: Vec<(Option<String>, u64)>,
}

#[derive(Debug, Default)]
struct Operations {
    done: u64,
    missing: u64,
    failed: u64,
    entities: u64,
    response: LatencyHistogram,
    service: LatencyHistogram,
}

/// The metrics of a run.
#[derive(Debug)]
pub(super) struct Metrics {
    operations: [Operations; Kind::ALL.len()],
    series: Series,
    partitions: Partitions,
    tries: Tries,
    failures: Counts,
}

/// The current figures of a run.
#[derive(Debug, Clone)]
pub struct Live {
    /// Seconds since the start of the run.
    pub seconds: f64,
    /// Number of operations that succeeded so far.
    pub done: u64,
    /// Number of operations that failed so far.
    pub failed: u64,
    /// Outcomes of attempts.
    pub tries: Tries,
    /// Numbers of failed operations, by reason.
    pub failures: Counts,
    /// The busiest partition of the current second, and the number of entities requested from it.
    pub busiest: Option<(String, u64)>,
    /// The metrics of the last complete window, or of the current one if no window is complete.
    pub latest: Option<Point>,
    /// The metrics of all windows so far.
    pub points: Vec<Point>,
}

/// The metrics of a finished run.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) all: OperationMetrics,
    pub(super) operations: Vec<OperationMetrics>,
    pub(super) tries: Tries,
    pub(super) failures: Counts,
    pub(super) partitions_seen: u64,
    pub(super) partitions: Vec<PartitionMetrics>,
    pub(super) growth: Growth,
    pub(super) points: Vec<Point>,
    pub(super) steady_seconds: f64,
    pub(super) asked_per_second: f64,
    pub(super) served_per_second: f64,
    pub(super) busiest_asked_per_second: f64,
}

impl Operations {
    fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.missing += other.missing;
        self.failed += other.failed;
        self.entities += other.entities;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    fn metrics(&self, name: &str, seconds: f64, is_closed: bool) -> OperationMetrics {
        OperationMetrics {
            operation: name.to_owned(),
            done: self.done,
            missing: self.missing,
            failed: self.failed,
            entities: self.entities,
            per_second: tenths(self.done as f64 / seconds.max(1e-3)),
            response: self.response.summary(),
            service: self.service.summary(),
            corrected: is_closed.then(|| self.service.corrected()),
        }
    }
}

impl Metrics {
    /// The metrics of a run with a ramp of this duration.
    pub(super) fn new(ramp: Duration) -> Self {
        let whole = u64::from(ramp.subsec_nanos() > 0);
        Self {
            operations: Kind::ALL.map(|_| Operations::default()),
            series: Series::new(),
            partitions: Partitions::new(ramp.as_secs() + whole),
            tries: Tries::default(),
            failures: Counts::new(),
        }
    }

    /// Records that the partition had rows before the run.
    pub(super) fn found(&mut self, partition_key: &str) {
        self.partitions.found(partition_key);
    }

    /// Records that an operation begins. The entities of queries are counted when they have been read.
    pub(super) fn began(&mut self, at: Duration, kind: Kind, partition_key: &str, entities: u64) {
        let second = at.as_secs();
        if matches!(kind, Kind::Get | Kind::Insert | Kind::Upsert | Kind::Batch) {
            self.partitions.asked(second, Some(partition_key), entities);
        }
        if kind.is_write() {
            self.partitions.writes(second, partition_key, entities);
        }
    }

    /// Records that an attempt of an operation has ended. The partition is `None` for a scan.
    pub(super) fn attempted(
        &mut self,
        at: Duration,
        partition_key: Option<&str>,
        event: &AttemptEvent<'_>,
    ) {
        if self.tries.count(event) {
            self.series.at(at).refused += 1;
            self.partitions.refused(at.as_secs(), partition_key);
        }
    }

    /// Records that an operation has ended.
    pub(super) fn ended(&mut self, kind: Kind, times: &Times, performed: &Performed) {
        let Performed { outcome, served } = performed;
        let response = times.response();
        let entities = served.iter().map(|(_, entities)| entities).sum::<u64>();
        let operations = &mut self.operations[kind.index()];
        operations.response.record(response);
        operations.service.record(times.service());
        operations.entities += entities;
        let one = self.series.at(times.ended);
        one.latencies.record(response);
        one.entities += entities;
        match outcome {
            Outcome::Failed(word) => {
                operations.failed += 1;
                one.failed += 1;
                count(&mut self.failures, word);
            }
            Outcome::Done | Outcome::Missing => {
                operations.done += 1;
                operations.missing += u64::from(*outcome == Outcome::Missing);
                one.done[kind.index()] += 1;
            }
        }
        let is_query = matches!(kind, Kind::RowRange | Kind::PartitionRange | Kind::Scan);
        for (partition_key, entities) in served {
            let (second, key) = (times.ended.as_secs(), partition_key.as_deref());
            if is_query {
                self.partitions.asked(second, key, *entities);
            }
            self.partitions.served(second, key, *entities);
        }
    }

    /// The current figures at time `at`.
    pub(super) fn live(&self, at: Duration, attempts: u64) -> Live {
        let sum = |of: fn(&Operations) -> u64| self.operations.iter().map(of).sum();
        Live {
            seconds: at.as_secs_f64(),
            done: sum(|one| one.done),
            failed: sum(|one| one.failed),
            latest: self.series.latest(at),
            points: self.series.points(at),
            tries: self.tries(attempts),
            busiest: self
                .partitions
                .busiest_now()
                .map(|(key, asked)| (key.to_owned(), asked)),
            failures: self.failures.clone(),
        }
    }

    fn tries(&self, attempts: u64) -> Tries {
        Tries {
            attempts,
            ..self.tries.clone()
        }
    }

    /// Records that no operation begins after this time. Answers may still arrive.
    pub(super) fn stopped(&mut self, at: Duration) {
        self.partitions.stopped(at.as_secs());
    }

    /// Ends the run at this time, and returns its metrics.
    pub(super) fn end(&mut self, at: Duration, attempts: u64, is_closed: bool) -> Measured {
        let seconds = at.as_secs_f64();
        self.partitions.end(seconds);
        let mut all = Operations::default();
        self.operations.iter().for_each(|one| all.add(one));
        let named = Kind::ALL.iter().zip(&self.operations);
        let operations = named
            .filter(|(_, one)| one.done + one.failed > 0)
            .map(|(kind, one)| one.metrics(kind.name(), seconds, is_closed));
        let steady = self.partitions.steady();
        let per_second = |count: u64| tenths(count as f64 / steady.seconds.max(1e-3));
        Measured {
            operations: operations.collect(),
            all: all.metrics("all", seconds, is_closed),
            points: self.series.points(at),
            partitions: self.partitions.busiest(PARTITIONS_NAMED),
            partitions_seen: self.partitions.len(),
            growth: self.partitions.growth(),
            tries: self.tries(attempts),
            failures: self.failures.clone(),
            steady_seconds: steady.seconds,
            asked_per_second: per_second(steady.asked),
            served_per_second: per_second(steady.served),
            busiest_asked_per_second: per_second(steady.busiest_asked),
        }
    }
}
