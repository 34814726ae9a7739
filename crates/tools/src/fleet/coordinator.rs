//! Starts, stops, resumes and ends jobs. There is no coordinator process: any process with access to the job table does
//! these, and each is correct if it is interrupted at any point and done again.

use super::appetite::{FOLLOW_UPS_MAX, deal};
use super::job::Job;
use super::job_spec::JobSpec;
use super::job_state::JobState;
use super::queue::StepQueue;
use super::step_row::StepSummary;
use super::{Access, FleetError, FleetTable, ImportFile, StepRow, StepState, Tally, Work, jobs};
use crate::scan::{Part, Step, Strategy};

/// Number of dead steps that [`resume`] opens between two queries.
const RESUMED_AT_ONCE: u32 = 100;

/// The first steps of a job, cut at the server's split points. With few ranges, each is read by prefixes, because a
/// range that is read page after page cannot be shared.
pub fn plan(spec: &JobSpec, split_points: &[String]) -> Vec<Step> {
    let ranges = Strategy::Ranges.plan(&spec.source.bounds, split_points, 1);
    if ranges.len() >= FOLLOW_UPS_MAX {
        return ranges;
    }
    let by_prefix = |step: &Step| match &step.part {
        Part::Range { bounds } => Strategy::Prefix.plan(bounds, &[], 1),
        _ => vec![step.clone()],
    };
    ranges.iter().flat_map(by_prefix).collect()
}

/// Starts a job with these first steps, which must be in the table's order. The row of the job is written last, so a job
/// that is interrupted here does not exist. [`announce`] then sends the messages, else the workers do.
///
/// # Errors
/// [`FleetError::Query`], [`FleetError::Template`], [`FleetError::Transfer`], [`FleetError::Table`].
pub async fn start(table: &FleetTable, spec: JobSpec, steps: &[Step]) -> Result<Job, FleetError> {
    let work = deal(steps, FOLLOW_UPS_MAX).into_iter().map(Work::Parts);
    start_with(table, spec, work).await
}

/// Starts an import of these files, as [`start`].
///
/// # Errors
/// [`FleetError::Insert`], [`FleetError::Table`].
pub async fn start_import(
    table: &FleetTable,
    spec: JobSpec,
    files: &[ImportFile],
) -> Result<Job, FleetError> {
    let work = deal(files, FOLLOW_UPS_MAX).into_iter().map(Work::Files);
    start_with(table, spec, work).await
}

async fn start_with(
    table: &FleetTable,
    spec: JobSpec,
    work: impl Iterator<Item = Work>,
) -> Result<Job, FleetError> {
    spec.query()?;
    jobs::prepare(&spec).await?;
    let job = Job::new(spec);
    let rows = work.map(|work| StepRow::open(&job.id, work));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    table.create().await?;
    table.insert_steps(&rows).await?;
    table.insert_job(&job).await?;
    Ok(job)
}

/// Sends the messages of the first steps of a new job. Without them, each worker would find that they are missing, and send
/// them; so several workers would execute the same steps.
///
/// # Errors
/// [`FleetError::Queue`], [`FleetError::Table`]. The job runs all the same.
pub async fn announce<Q: StepQueue>(
    table: &FleetTable,
    queue: &Q,
    job: &Job,
) -> Result<(), FleetError> {
    let steps = table.ids_in_state(&job.id, StepState::Open, FOLLOW_UPS_MAX as u32);
    for step in steps.await? {
        queue.send(&step).await.map_err(FleetError::Queue)?;
    }
    Ok(())
}

/// Stops a running job: workers end their running steps and begin no others.
///
/// # Errors
/// [`FleetError::State`] if the job is not running; [`FleetError::NoJob`], [`FleetError::Table`].
pub async fn stop(table: &FleetTable, id: &str) -> Result<Job, FleetError> {
    let stop = |job: &mut Job| match job.state {
        JobState::Running => {
            job.state = JobState::Stopped;
            Ok(true)
        }
        JobState::Stopped => Ok(false),
        JobState::Done | JobState::Failed => Err(other_state(job)),
    };
    table.change_job(id, stop).await
}

/// Continues a stopped or failed job. Opens its dead steps.
///
/// # Errors
/// [`FleetError::State`] if the job is done; [`FleetError::NoJob`], [`FleetError::Table`].
pub async fn resume(table: &FleetTable, id: &str) -> Result<Job, FleetError> {
    let job = table.job(id).await?;
    if job.state == JobState::Done {
        return Err(other_state(&job));
    }
    loop {
        let dead = table.ids_in_state(id, StepState::Dead, RESUMED_AT_ONCE);
        let dead = dead.await?;
        if dead.is_empty() {
            break;
        }
        for step in dead {
            let step = table.step(id, &step).await?;
            if let Some(step) = step.filter(|step| step.state == StepState::Dead) {
                let opened = StepRow {
                    state: StepState::Open,
                    tries: 0,
                    error: None,
                    is_kept: false,
                    ..step
                };
                table.replace(&opened).await?;
            }
        }
    }
    let run = |job: &mut Job| match job.state {
        JobState::Running => Ok(false),
        JobState::Stopped | JobState::Failed => {
            (job.state, job.totals, job.ended) = (JobState::Running, None, None);
            Ok(true)
        }
        JobState::Done => Err(other_state(job)),
    };
    table.change_job(id, run).await
}

/// Ends a job that has no open step: writes its totals. Does nothing if a step is open again, or if the job is no longer
/// running.
pub(super) async fn finish(
    table: &FleetTable,
    access: &Access,
    job: &Job,
) -> Result<(), FleetError> {
    let steps = table.steps(&job.id, &[]).await?;
    let (totals, open, dead) = sums(&steps);
    if open > 0 {
        return Ok(());
    }
    let state = match dead {
        0 => JobState::Done,
        _ => JobState::Failed,
    };
    if state == JobState::Done {
        jobs::conclude(access, job, &steps).await?;
    }
    table.end_job(&job.id, state, totals).await?;
    Ok(())
}

/// The sum over the done steps, and the numbers of open and dead steps.
pub(super) fn sums(steps: &[StepSummary]) -> (Tally, u64, u64) {
    let (mut totals, mut open, mut dead) = (Tally::default(), 0, 0);
    for step in steps {
        match step.state {
            StepState::Open => open += 1,
            StepState::Dead => dead += 1,
            StepState::Done => totals += step.tally,
        }
    }
    (totals, open, dead)
}

fn other_state(job: &Job) -> FleetError {
    FleetError::State {
        job: job.id.clone(),
        state: job.state,
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::count;
    use super::*;

    #[test]
    fn few_ranges_are_read_by_prefixes() {
        let points = |count: u32| -> Vec<String> {
            let points = 1..count;
            points.map(|at| format!("a{at:03}")).collect()
        };
        for (ranges, is_range) in [(1, false), (3, false), (64, true), (100, true)] {
            let steps = plan(&count(), &points(ranges));
            assert_eq!(steps.len() as u32, ranges);
            let is = |step: &Step| matches!(step.part, Part::Range { .. });
            assert!(steps.iter().all(|step| is(step) == is_range));
        }
    }
}
