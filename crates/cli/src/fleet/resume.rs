//! `partita fleet resume JOB`: continues a stopped or failed job.

use super::{Fleet, RunOnFleet};
use crate::prelude::*;
use partita_tools::fleet::resume;

/// Continue a stopped job, or a failed one with its dead steps
#[derive(clap::Args)]
pub(crate) struct ResumeCommand {
    /// Id of the job
    job: String,
}

impl RunOnFleet for ResumeCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        let job = resume(&fleet.table, &self.job).await?;
        progress.finish(&format!("job {} is {}", job.id, job.state), Outcome::Done)
    }
}
