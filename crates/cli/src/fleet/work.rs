//! `partita fleet work`: a worker.

use super::{Fleet, RunOnFleet};
use crate::migrate::who;
use crate::prelude::*;
use crate::signals::{interruptible, stop_requested, stoppable};
use clap::value_parser;
use partita_tools::fleet::{Access, Ended, FleetError, Job, JobState, Worker, WorkerOptions};
use std::path::PathBuf;
use std::time::Duration;

/// How often a worker without a job looks for one.
const LOOK_FOR_JOBS: Duration = Duration::from_secs(5);

/// Work on the steps of a job, or of all running jobs
#[derive(clap::Args)]
#[command(
    after_help = "Any number of workers may run, on any machine, at any time. The first Ctrl-C ends the running steps; the second stops at once, as kill -9 does: other workers then repeat the steps."
)]
pub(crate) struct WorkCommand {
    /// Id of the job [default: all running jobs, one after the other]
    job: Option<String>,
    /// Steps to execute at the same time, 1 to 256
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=256), default_value_t = 4)]
    jobs: u16,
    /// Directory of an export or of the files of an import, if this machine has it at another path than the job says
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Run the commands of `exec` jobs: a client that can write to the job table can then run any command here
    #[arg(long)]
    allow_exec: bool,
    /// Without JOB: end when no job is running, instead of waiting for one
    #[arg(long, conflicts_with = "job")]
    until_idle: bool,
}

impl RunOnFleet for WorkCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        let mut worked = 0;
        if let Some(id) = &self.job {
            let job = fleet.table.job(id).await?;
            worked += 1;
            self.work(&fleet, &job).await?;
        } else {
            while let Some(job) = self.next_job(&fleet).await? {
                worked += 1;
                self.work(&fleet, &job).await?;
            }
        }
        progress.finish_count(worked, "job", "jobs")
    }
}

impl WorkCommand {
    /// Waits for a running job.
    async fn next_job(&self, fleet: &Fleet) -> Result<Option<Job>, CommandError> {
        let access = self.access(fleet);
        loop {
            let jobs = fleet.table.jobs().await?;
            let mut running = jobs
                .into_iter()
                .filter(|job| job.state == JobState::Running && access.check(job).is_ok());
            let job = running.next();
            if job.is_some() || self.until_idle {
                return Ok(job);
            }
            let mut stop = std::pin::pin!(stop_requested());
            interruptible(&mut stop, tokio::time::sleep(LOOK_FOR_JOBS)).await?;
        }
    }

    async fn work(&self, fleet: &Fleet, job: &Job) -> Result<(), CommandError> {
        work(fleet, job, self.access(fleet), self.jobs.into()).await
    }

    fn access(&self, fleet: &Fleet) -> Access {
        fleet.access(self.directory.clone(), self.allow_exec)
    }
}

/// Works on a job until it ends.
pub(super) async fn work(
    fleet: &Fleet,
    job: &Job,
    access: Access,
    loops: usize,
) -> Result<(), CommandError> {
    let options = WorkerOptions { loops, name: who() };
    let queue = fleet.queue(job);
    let worker = Worker::new(fleet.table.clone(), queue, &job.id, access, options);
    message(&format!("working on job {}", job.id));
    let stop = || {
        message("ending the running steps; press Ctrl-C again to stop at once");
        worker.stop();
    };
    match stoppable(worker.run(), stop).await {
        None | Some(Ok(Ended::Stopped)) => Err(CommandError::Interrupted),
        Some(Ok(Ended::Job(state))) => {
            message(&format!("job {} is {state}", job.id));
            Ok(())
        }
        Some(Err(error @ FleetError::NoJob(_))) => Err(CommandError::usage(error.to_string())),
        Some(Err(error)) => Err(error.into()),
    }
}
