//! `partita fleet status`: the progress of jobs.

use super::{Fleet, RunOnFleet};
use crate::prelude::*;
use crate::signals::{interruptible, stop_requested};
use crate::units::{rate, rough_duration};
use partita_tools::fleet::{Job, JobState, JobStatus, Tally, status, verify};
use std::time::Duration;

/// How often `--watch` reads the job.
const INTERVAL: Duration = Duration::from_secs(1);

/// Show the progress of a job, or all jobs
#[derive(clap::Args)]
pub(crate) struct StatusCommand {
    /// Id of the job [default: all jobs]
    job: Option<String>,
    /// Show the progress until the job ends
    #[arg(long, requires = "job")]
    watch: bool,
    /// Compare the result with a serial scan: the number of rows, and a hash of all rows
    #[arg(long, requires = "job")]
    verify: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl RunOnFleet for StatusCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        let Some(id) = &self.job else {
            return self.list(&fleet, progress).await;
        };
        let found = if self.watch {
            watch(&fleet, id, &progress).await?
        } else {
            status(&fleet.table, id, partita_client::now()).await?
        };
        let left = found.left.map(rough_duration).unwrap_or_default();
        self.output.write(Shape::Single, |output| {
            output.record(&fields(&found, &left))?;
            Ok(())
        })?;
        for (step, error) in &found.errors {
            message(&format!("step {step} is dead: {error}"));
        }
        let outcome = match self.verify {
            true => verified(&fleet, &found.job).await?,
            false => Outcome::Done,
        };
        progress.finish(&format!("job {id} is {}", found.job.state), outcome)
    }
}

impl StatusCommand {
    async fn list(&self, fleet: &Fleet, progress: Progress) -> CommandResult {
        let jobs = fleet.table.jobs().await?;
        self.output.write(Shape::Rows, |output| {
            for job in &jobs {
                let mut fields = vec![
                    ("job", Field::text(&job.id)),
                    ("kind", Field::text(job.spec.kind.name())),
                    ("table", Field::text(&job.spec.source.table)),
                    ("state", Field::text(job.state.name())),
                ];
                if let Some(totals) = &job.totals {
                    fields.push(("rows", Field::count(totals.rows)));
                }
                output.record(&fields)?;
            }
            Ok(())
        })?;
        progress.finish_count(jobs.len() as u64, "job", "jobs")
    }
}

/// Shows the progress until the job is done, failed or stopped.
async fn watch(fleet: &Fleet, id: &str, progress: &Progress) -> Result<JobStatus, CommandError> {
    let mut stop = std::pin::pin!(stop_requested());
    let mut found = status(&fleet.table, id, partita_client::now()).await?;
    progress.start_bar("rows", found.job.spec.rows_expected, false);
    while found.job.state == JobState::Running {
        progress
            .bar
            .set_position_with(found.totals.rows, &note(&found));
        interruptible(&mut stop, tokio::time::sleep(INTERVAL)).await?;
        found = status(&fleet.table, id, partita_client::now()).await?;
    }
    progress.bar.hide();
    Ok(found)
}

/// What the bar shows besides the rows.
fn note(found: &JobStatus) -> String {
    let dead = match found.dead {
        0 => String::new(),
        dead => format!(", {} dead", count(dead)),
    };
    format!(
        "  {} rows/s, steps: {} open, {} done{dead}, {}",
        rate(found.rows_per_second),
        count(found.open),
        count(found.done),
        many(found.workers, "worker", "workers"),
    )
}

fn fields<'a>(found: &'a JobStatus, left: &'a str) -> Vec<(&'static str, Field<'a>)> {
    let job = &found.job;
    let Tally {
        rows,
        effects,
        kept,
        ..
    } = found.totals;
    let mut fields = vec![
        ("job", Field::text(&job.id)),
        ("kind", Field::text(job.spec.kind.name())),
        ("table", Field::text(&job.spec.source.table)),
        ("state", Field::text(job.state.name())),
        ("rows", Field::count(rows)),
        ("effects", Field::count(effects)),
        ("kept", Field::count(kept)),
        ("rows_per_second", Field::tenths(found.rows_per_second)),
        ("steps_open", Field::count(found.open)),
        ("steps_done", Field::count(found.done)),
        ("steps_dead", Field::count(found.dead)),
        ("workers", Field::count(found.workers)),
    ];
    if !left.is_empty() {
        fields.push(("left", Field::text(left)));
    }
    fields
}

async fn verified(fleet: &Fleet, job: &Job) -> Result<Outcome, CommandError> {
    let found = verify(&fleet.access(None, false), job).await?;
    let line = |what: &str, tally: &Tally| {
        let rows = many(tally.rows, "row", "rows");
        message(&format!("{what}: {rows}, hash {}", tally.hash));
    };
    line("job", &found.job);
    line("serial scan", &found.source);
    if let Some(destination) = &found.destination {
        line("destination", destination);
    }
    Ok(match found.is_equal() {
        true => Outcome::Done,
        false => Outcome::Differs,
    })
}
