//! The report of a run: all its settings and figures, as JSON of a version (`docs/format/stress.md`).

use super::metrics::{Growth, Measured, OperationMetrics, PartitionMetrics, Point, Tries};
use super::mix::{Kind, Mix};
use super::run::RunEnd;
use super::verdict::{DUE_FOR_BEGUN_MAX, Evidence, Targets, Verdict};
use partita_load::{Counts, Pattern, Schedule};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What tells a report from other files.
const KIND: &str = "partita-stress";
/// The version that is written, and the only one that is read.
pub const REPORT_VERSION: u64 = 1;
/// Largest report that is read, in bytes: one of 600 points and 50 partitions with the longest keys is a few hundred KiB.
pub const REPORT_BYTES_MAX: u64 = 16 << 20;

/// A report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// `partita-stress`.
    pub kind: String,
    /// [`REPORT_VERSION`].
    pub version: u64,
    /// What made it, such as `partita 0.1.0`.
    pub made_by: String,
    /// When the run began, a date-time.
    pub began: String,
    /// What was asked for.
    pub settings: Settings,
    /// How the table was filled; none where it was not.
    pub load: Option<FillMetrics>,
    /// What is to be said about it.
    pub verdict: Verdict,
    /// How long operations were begun, in seconds.
    pub seconds: f64,
    /// How long of that counts for rates against targets: whole seconds after the ramp, or all where there is none.
    pub steady_seconds: f64,
    /// Whether it was stopped before its end.
    pub is_interrupted: bool,
    /// Operations that were due and never begun, because all workers were busy.
    pub not_begun: u64,
    /// Rows that the run wrote besides those of the load, at most: those of writes that failed may be missing.
    pub new_rows: u64,
    /// Entities a second in the steady part that were asked for; at a rate that could not be kept, those due and never begun too. So
    /// it is of the other figures of what was asked for.
    pub asked_per_second: f64,
    /// Entities a second that were read or written in the steady part.
    pub served_per_second: f64,
    /// Entities a second that were asked of the busiest partition of each second, on average over the steady part.
    pub busiest_asked_per_second: f64,
    /// All operations together.
    pub all: OperationMetrics,
    /// Each kind of operation that there was.
    pub operations: Vec<OperationMetrics>,
    /// What became of attempts, and what the retry policy did.
    pub tries: Tries,
    /// What operations failed of.
    pub failures: Counts,
    /// Partitions that were told apart.
    pub partitions_seen: u64,
    /// The busiest ones, at most 50.
    pub partitions: Vec<PartitionMetrics>,
    /// Where writes lay.
    pub growth: Growth,
    /// What happened over time, at most 600 points.
    pub series: Vec<Point>,
}

/// What a run was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the table is.
    pub endpoint: String,
    /// Its name.
    pub table: String,
    /// Marks the rows of the run, as their property `StressRun`.
    pub run: String,
    /// Which partitions rows lie in.
    pub pattern: Pattern,
    /// What keys and operations follow from.
    pub seed: u64,
    /// Rows that were to be loaded.
    pub rows: u64,
    /// Bytes of text in each row.
    pub row_bytes: u64,
    /// Operations by weight.
    pub mix: Mix,
    /// Rows of a batch.
    pub batch_rows: u64,
    /// Rows of a range, at most.
    pub range_rows: u64,
    /// The only PartitionKey that was worked on; all if none.
    pub aim: Option<String>,
    /// When operations began.
    pub schedule: Schedule,
    /// Operations at the same time, at most.
    pub workers: u64,
    /// How long operations were to be begun, in seconds.
    pub duration_seconds: Option<f64>,
    /// How many operations there were to be.
    pub operations: Option<u64>,
    /// How often a request that failed is tried again.
    pub retries: u32,
    /// What is promised.
    pub targets: Targets,
}

/// How a table was filled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillMetrics {
    /// Rows that were written.
    pub rows: u64,
    /// How long it took.
    pub seconds: f64,
    /// Requests that were tried again meanwhile.
    pub retries: u64,
}

/// A text that is no report.
#[derive(Debug, Error)]
pub enum InvalidReport {
    /// Not of this kind.
    #[error("not a report of partita stress")]
    Kind(#[source] Option<serde_json::Error>),
    /// Of a version that this program does not know.
    #[error("unsupported report version {0}: this program reads version {REPORT_VERSION}")]
    Version(u64),
    /// A report that does not hold what it should.
    #[error("the report is damaged")]
    Damaged(#[source] serde_json::Error),
}

/// What every version has.
#[derive(Deserialize)]
struct Head {
    kind: String,
    version: u64,
}

/// What a report is made of besides what was measured.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) made_by: String,
    pub(super) began: String,
    pub(super) settings: Settings,
    pub(super) load: Option<FillMetrics>,
    pub(super) new_rows: u64,
}

impl Report {
    pub(super) fn of(about: About, end: RunEnd, measured: Measured) -> Self {
        let About {
            made_by,
            began,
            settings,
            load,
            new_rows,
        } = about;
        let Measured {
            operations,
            all,
            points,
            partitions,
            partitions_seen,
            growth,
            tries,
            failures,
            steady_seconds,
            asked_per_second,
            served_per_second,
            busiest_asked_per_second,
        } = measured;
        let mut report = Self {
            kind: KIND.to_owned(),
            version: REPORT_VERSION,
            made_by,
            began,
            load,
            verdict: Verdict::none(),
            seconds: end.at.as_secs_f64(),
            steady_seconds,
            is_interrupted: end.is_interrupted,
            not_begun: end.not_begun,
            new_rows,
            asked_per_second,
            served_per_second,
            busiest_asked_per_second,
            all,
            operations,
            tries,
            failures,
            partitions_seen,
            partitions,
            growth,
            series: points,
            settings,
        };
        report.count_what_was_due();
        report.verdict = report.judged(report.settings.targets);
        report
    }

    /// Where a rate could not be kept, what was due and never begun was asked for too: by the same partitions, in the same shares.
    fn count_what_was_due(&mut self) {
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

    /// Operations that were due, for each that was begun: 1 where all were.
    fn due_for_begun(&self) -> f64 {
        let begun = self.all.done + self.all.failed;
        (begun + self.not_begun) as f64 / begun.max(1) as f64
    }

    /// What is to be said of it by these targets.
    #[must_use]
    pub fn judged(&self, targets: Targets) -> Verdict {
        let kinds: Vec<(Kind, u64, u64)> = self
            .operations
            .iter()
            .filter_map(|one| {
                let kind = Kind::ALL
                    .into_iter()
                    .find(|kind| kind.name() == one.operation)?;
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

    /// As it is written to a file.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .expect("its maps have texts for keys, and its numbers are finite")
    }

    /// The same on one line.
    #[must_use]
    pub fn to_json_line(&self) -> String {
        serde_json::to_string(self)
            .expect("its maps have texts for keys, and its numbers are finite")
    }

    /// Reads one.
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
    fn what_was_due_and_never_begun_was_asked_for() {
        let kept = report();
        let mut report = report();
        report.count_what_was_due();
        assert_eq!(report, kept);

        // As many again were due, and half of the rate was asked for.
        report.not_begun = report.all.done + report.all.failed;
        report.asked_per_second = 500.0;
        report.count_what_was_due();
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
    fn reports_are_read_as_they_were_written_and_others_are_refused() {
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
