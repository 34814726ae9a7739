//! `partita fleet stop JOB`: stops a job where it can be resumed.

use super::{Fleet, RunOnFleet};
use crate::prelude::*;
use partita_tools::fleet::stop;

/// Stop a job: workers end their running steps, and begin no others
#[derive(clap::Args)]
pub(crate) struct StopCommand {
    /// Id of the job
    job: String,
}

impl RunOnFleet for StopCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        let job = stop(&fleet.table, &self.job).await?;
        progress.finish(&format!("job {} is {}", job.id, job.state), Outcome::Done)
    }
}
