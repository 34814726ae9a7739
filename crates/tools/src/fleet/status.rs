//! The progress of a job, computed from its rows.

use super::coordinator::sums;
use super::{FleetError, FleetTable, Job, StepState, StepSummary, Tally};
use partita_client::DateTime;
use std::time::Duration;

/// The speed is measured over this time.
const WINDOW: Duration = Duration::from_secs(60);
/// Number of dead steps whose errors are shown.
const ERRORS_MAX: usize = 10;
const TICKS_PER_SECOND: u64 = 10_000_000;

/// The progress of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStatus {
    /// The job.
    pub job: Job,
    /// The sums over its done steps.
    pub totals: Tally,
    /// Number of open steps.
    pub open: u64,
    /// Number of done steps.
    pub done: u64,
    /// Number of dead steps.
    pub dead: u64,
    /// Number of workers with a recent sign of life; zero unless the job is running.
    pub workers: u64,
    /// Rows per second: of a running job in the last minute, of an ended one from start to end.
    pub rows_per_second: f64,
    /// The estimated time to the end, if the expected number of rows is known.
    pub left: Option<Duration>,
    /// The ids of the first dead steps, with their errors.
    pub errors: Vec<(String, String)>,
}

/// Reads the progress of a job. `now` is the current time.
///
/// # Errors
/// [`FleetError::NoJob`], [`FleetError::Table`], [`FleetError::Damaged`].
pub async fn status(table: &FleetTable, id: &str, now: DateTime) -> Result<JobStatus, FleetError> {
    let job = table.job(id).await?;
    let steps = table.steps(id, &StepSummary::SELECT).await?;
    let workers = match job.state {
        super::JobState::Running => table.workers(id).await?,
        _ => Vec::new(),
    };
    let alive = workers.iter().filter(|worker| worker.is_alive(Some(now)));
    Ok(JobStatus::new(job, &steps, alive.count() as u64, now))
}

impl JobStatus {
    fn new(job: Job, steps: &[StepSummary], workers: u64, now: DateTime) -> Self {
        let (totals, open, dead) = sums(steps);
        let errors = steps.iter().filter(|step| step.state == StepState::Dead);
        let errors = errors.take(ERRORS_MAX).map(|step| {
            let error = step.error.clone().unwrap_or_default();
            (step.id.clone(), error)
        });
        let rows_per_second = speed(&job, steps, totals.rows, now);
        let rows_left = job.spec.rows_expected.filter(|_| job.ended.is_none());
        let rows_left = rows_left.map(|expected| expected.saturating_sub(totals.rows));
        let left = rows_left.map(|rows| Duration::try_from_secs_f64(rows as f64 / rows_per_second));
        Self {
            totals,
            open,
            dead,
            done: steps.len() as u64 - open - dead,
            workers,
            rows_per_second,
            left: left.and_then(Result::ok),
            errors: errors.collect(),
            job,
        }
    }
}

fn speed(job: &Job, steps: &[StepSummary], rows: u64, now: DateTime) -> f64 {
    let seconds = |from: DateTime, to: DateTime| {
        let ticks = to.ticks().saturating_sub(from.ticks());
        ticks.max(1) as f64 / TICKS_PER_SECOND as f64
    };
    if let Some(ended) = job.ended {
        return rows as f64 / seconds(job.started, ended);
    }
    let window = WINDOW.as_secs() * TICKS_PER_SECOND;
    let from = now.ticks().saturating_sub(window).max(job.started.ticks());
    let from = DateTime::from_ticks(from).unwrap_or(job.started);
    let is_recent = |step: &&StepSummary| step.written.is_some_and(|written| written >= from);
    let recent = steps.iter().filter(is_recent);
    let rows: u64 = recent.map(|step| step.tally.rows).sum();
    rows as f64 / seconds(from, now)
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::count;
    use super::*;

    fn after(time: DateTime, seconds: u64) -> DateTime {
        DateTime::from_ticks(time.ticks() + seconds * TICKS_PER_SECOND).unwrap()
    }

    fn step(state: StepState, rows: u64, written: DateTime) -> StepSummary {
        StepSummary {
            id: "a".to_owned(),
            state,
            tally: Tally {
                rows,
                ..Tally::default()
            },
            error: (state == StepState::Dead).then(|| "refused".to_owned()),
            written: Some(written),
            output: None,
        }
    }

    #[test]
    fn speed_and_time_left_are_those_of_the_last_minute() {
        let mut job = Job::new(count());
        let begin = DateTime::UNIX_EPOCH;
        (job.started, job.spec.rows_expected) = (begin, Some(10_000));
        let steps = [
            step(StepState::Done, 5_000, after(begin, 10)),
            step(StepState::Done, 3_000, after(begin, 90)),
            step(StepState::Open, 0, after(begin, 90)),
            step(StepState::Dead, 0, after(begin, 90)),
        ];
        let status = JobStatus::new(job.clone(), &steps, 2, after(begin, 100));
        assert_eq!((status.open, status.done, status.dead), (1, 2, 1));
        assert_eq!((status.totals.rows, status.rows_per_second), (8_000, 50.0));
        assert_eq!(status.left, Some(Duration::from_secs(40)));
        assert_eq!(status.errors, [("a".to_owned(), "refused".to_owned())]);
        job.ended = Some(after(begin, 80));
        let ended = JobStatus::new(job, &steps, 0, after(begin, 100));
        assert_eq!((ended.rows_per_second, ended.left), (100.0, None));
    }

    #[test]
    fn nothing_is_estimated_without_rows() {
        let mut job = Job::new(count());
        job.spec.rows_expected = Some(10);
        let now = job.started;
        let status = JobStatus::new(job, &[], 0, now);
        assert_eq!((status.rows_per_second, status.left), (0.0, None));
    }
}
