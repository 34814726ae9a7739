//! The report of a run: all its settings and figures, as versioned JSON (`docs/format/stress.md`).

use super::metrics::{Growth, Measured, OperationMetrics, PartitionMetrics, Point, Tries};
use super::mix::{Kind, Mix};
use super::run::RunEnd;
use super::verdict::{DUE_FOR_BEGUN_MAX, Evidence, Targets, Verdict};
use partita_load::{Counts, Pattern, Schedule};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The value of `kind`, which distinguishes a report from other JSON files.
const KIND: &str = "partita-stress";
/// The version of reports that this program writes and reads.
pub const REPORT_VERSION: u64 = 1;
/// Maximum size of a report file, in bytes. The largest report, with 600 points and 50 partitions with the longest
/// keys, has a few hundred KiB.
pub const REPORT_BYTES_MAX: u64 = 16 << 20;

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Always `partita-stress`.
    pub kind: String,
    /// The version of the format: [`REPORT_VERSION`].
    pub version: u64,
    /// The program that wrote the report, such as `partita 0.1.0`.
    pub made_by: String,
    /// The start of the run, as a date-time.
    pub began: String,
    /// The settings of the run.
    pub settings: Settings,
    /// How the table was filled; `None` if it was not.
    pub load: Option<FillMetrics>,
    /// The verdict.
    pub verdict: Verdict,
    /// The length of the run, in seconds: until its last operation ended, at most the duration in the settings.
    pub seconds: f64,
    /// The length of the steady part, in seconds: the complete seconds after the ramp, or the whole run if there are
    /// none. Rates that are compared with targets are averages over the steady part.
    pub steady_seconds: f64,
    /// Whether the run was stopped before its end.
    pub is_interrupted: bool,
    /// Operations that were due but never began, because all workers were busy.
    pub not_begun: u64,
    /// The number of rows that the run tried to insert. Rows of failed writes may not exist.
    pub new_rows: u64,
    /// Entities per second that operations requested in the steady part. If the rate could not be kept, all figures
    /// named `asked`, except `peak_asked`, include operations that were due but never began.
    pub asked_per_second: f64,
    /// Entities per second that were read or written in the steady part.
    pub served_per_second: f64,
    /// Entities requested from the busiest partition of each second, as an average over the seconds of the steady part.
    pub busiest_asked_per_second: f64,
    /// The metrics of all operations together.
    pub all: OperationMetrics,
    /// The metrics of each kind of operation in the run.
    pub operations: Vec<OperationMetrics>,
    /// Outcomes of attempts, and decisions of the retry policy.
    pub tries: Tries,
    /// Numbers of failed operations, by reason.
    pub failures: Counts,
    /// Number of partitions with their own totals at the end, at most 40,000. A run with more partitions drops the
    /// totals of those with the least load.
    pub partitions_seen: u64,
    /// The busiest partitions, at most 50.
    pub partitions: Vec<PartitionMetrics>,
    /// Writes at the ends of the table.
    pub growth: Growth,
    /// Metrics over time, at most 600 points.
    pub series: Vec<Point>,
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The endpoint of the account.
    pub endpoint: String,
    /// The name of the table.
    pub table: String,
    /// The id of the run, stored in its rows as the property `StressRun`.
    pub run: String,
    /// The distribution of rows over partitions.
    pub pattern: Pattern,
    /// The seed of keys and operations.
    pub seed: u64,
    /// Number of rows with which the table is filled before the run.
    pub rows: u64,
    /// Bytes of text in each row.
    pub row_bytes: u64,
    /// The kinds of operations, with their weights.
    pub mix: Mix,
    /// Number of rows per batch.
    pub batch_rows: u64,
    /// Maximum number of rows that a range query returns.
    pub range_rows: u64,
    /// The only PartitionKey that operations use; `None` for all.
    pub aim: Option<String>,
    /// When operations began.
    pub schedule: Schedule,
    /// Maximum number of parallel operations.
    pub workers: u64,
    /// The time during which operations begin, in seconds; `None` for no limit.
    pub duration_seconds: Option<f64>,
    /// The maximum number of operations; `None` for no limit.
    pub operations: Option<u64>,
    /// Maximum number of retries of a failed request.
    pub retries: u32,
    /// The targets of the service, with which the load is compared.
    pub targets: Targets,
}

/// How a table was filled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillMetrics {
    /// Number of rows written.
    pub rows: u64,
    /// Duration of the fill, in seconds.
    pub seconds: f64,
    /// Number of retried requests.
    pub retries: u64,
}

/// Why a text is not a report.
#[derive(Debug, Error)]
pub enum InvalidReport {
    /// The text is not a report.
    #[error("not a report of partita stress")]
    Kind(#[source] Option<serde_json::Error>),
    /// The report has an unknown version.
    #[error("unsupported report version {0}: this program reads version {REPORT_VERSION}")]
    Version(u64),
    /// The fields of the report are invalid.
    #[error("the report is damaged")]
    Damaged(#[source] serde_json::Error),
}

/// The fields that reports of all versions have.
#[derive(Deserialize)]
struct Head {
    kind: String,
    version: u64,
}

impl Report {
    pub(super) fn of(
        settings: Settings,
        load: Option<FillMetrics>,
        (began, new_rows): (String, u64),
        end: RunEnd,
        measured: Measured,
    ) -> Self {
        let mut report = Self {
            kind: KIND.to_owned(),
            version: REPORT_VERSION,
            made_by: format!("partita {}", env!("CARGO_PKG_VERSION")),
            began,
            load,
            verdict: Verdict::default(),
            seconds: end.at.as_secs_f64(),
            steady_seconds: measured.steady_seconds,
            is_interrupted: end.is_interrupted,
            not_begun: end.not_begun,
            new_rows,
            asked_per_second: measured.asked_per_second,
            served_per_second: measured.served_per_second,
            busiest_asked_per_second: measured.busiest_asked_per_second,
            all: measured.all,
            operations: measured.operations,
            tries: measured.tries,
            failures: measured.failures,
            partitions_seen: measured.partitions_seen,
            partitions: measured.partitions,
            growth: measured.growth,
            series: measured.points,
            settings,
        };
        report.count_missed_operations();
        report.verdict = report.judged(report.settings.targets);
        report
    }

    /// If the rate could not be kept, adds the entities of the operations that never began to the requested entities.
    /// They are divided among the partitions as the other requested entities are.
    fn count_missed_operations(&mut self) {
        let Schedule::Rate { per_second, .. } = self.settings.schedule else {
            return;
        };
        if self.due_for_begun() <= DUE_FOR_BEGUN_MAX || self.asked_per_second <= 0.0 {
            return;
        }
        let entities = self.all.entities as f64 / self.all.done.max(1) as f64;
        let factor = (per_second * entities / self.asked_per_second).max(1.0);
        let scale = |rate: &mut f64| *rate = (*rate * factor * 10.0).round() / 10.0;
        scale(&mut self.asked_per_second);
        scale(&mut self.busiest_asked_per_second);
        self.partitions
            .iter_mut()
            .for_each(|one| scale(&mut one.asked_per_second));
    }

    /// The number of operations that were due, divided by the number that began: 1 if all began.
    fn due_for_begun(&self) -> f64 {
        let begun = self.all.done + self.all.failed;
        (begun + self.not_begun) as f64 / begun.max(1) as f64
    }

    /// The verdict on the run for these targets, which may differ from those in the settings.
    pub fn judged(&self, targets: Targets) -> Verdict {
        let kinds: Vec<(Kind, u64, u64)> = self
            .operations
            .iter()
            .filter_map(|one| {
                let kind = Kind::of_name(&one.operation)?;
                Some((kind, one.done + one.failed, one.response.p99_us))
            })
            .collect();
        Verdict::of(&Evidence {
            targets,
            at_a_rate: matches!(self.settings.schedule, Schedule::Rate { .. }),
            asked_per_second: self.asked_per_second,
            busiest_asked_per_second: self.busiest_asked_per_second,
            due_for_begun: self.due_for_begun(),
            partitions: &self.partitions,
            growth: self.growth,
            tries: &self.tries,
            failed: self.all.failed,
            kinds: &kinds,
        })
    }

    /// The JSON of a report file, on several lines.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .expect("a report has only string keys and finite numbers")
    }

    /// The JSON of a report file, on one line.
    pub fn to_json_line(&self) -> String {
        serde_json::to_string(self).expect("a report has only string keys and finite numbers")
    }

    /// Reads a report.
    ///
    /// # Errors
    /// [`InvalidReport`].
    pub fn read(text: &str) -> Result<Self, InvalidReport> {
        let head: Head =
            serde_json::from_str(text).map_err(|error| InvalidReport::Kind(Some(error)))?;
        if head.kind != KIND {
            return Err(InvalidReport::Kind(None));
        }
        if head.version != REPORT_VERSION {
            return Err(InvalidReport::Version(head.version));
        }
        serde_json::from_str(text).map_err(InvalidReport::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::report;
    use super::*;

    #[test]
    fn operations_that_never_began_count_as_requested() {
        let kept = report();
        let mut report = report();
        report.count_missed_operations();
        assert_eq!(report, kept);

        // Twice as many operations were due as began, so half of the requested rate was reached.
        report.not_begun = report.all.done + report.all.failed;
        report.asked_per_second = 500.0;
        report.count_missed_operations();
        assert_eq!(report.asked_per_second, 1_000.0);
        assert_eq!(report.partitions[0].asked_per_second, 1_720.0);
        assert_eq!(
            report.partitions[0].peak_asked,
            kept.partitions[0].peak_asked
        );
        let verdict = report.judged(report.settings.targets);
        assert_eq!(verdict.judged[0].asked_per_second, 1_720.0);
    }

    #[test]
    fn reports_round_trip_and_other_texts_are_refused() {
        let report = report();
        assert_eq!(Report::read(&report.to_json()).unwrap(), report);
        assert_eq!(Report::read(&report.to_json_line()).unwrap(), report);
        let unknown = report
            .to_json()
            .replacen("\"seconds\"", "\"more\": 1, \"seconds\"", 1);
        assert!(matches!(
            Report::read(&unknown),
            Err(InvalidReport::Damaged(_))
        ));
        let newer = report
            .to_json()
            .replacen("\"version\": 1", "\"version\": 2", 1);
        assert!(matches!(
            Report::read(&newer),
            Err(InvalidReport::Version(2))
        ));
        assert!(matches!(Report::read("[]"), Err(InvalidReport::Kind(_))));
    }
}
