//! `partita fleet run import FILE|DIR… TABLE`: files are the steps of a job.

use super::super::{Fleet, RunOnFleet};
use super::kinds::ExistingArgs;
use super::start::{STEP_ROWS, StepArgs};
use crate::args::choice;
use crate::prelude::*;
use clap::value_parser;
use partita_tools::fleet::{ImportPlan, JobKind, JobSpec, start_import};
use partita_tools::formats::InputFormat;
use partita_tools::scan::Bounds;
use partita_tools::transfer::Source;
use std::path::PathBuf;

/// Rows per page, which the steps of an import do not use.
const PAGE_ROWS: usize = 1000;

/// Write the rows of files to a table; each file is a step
#[derive(clap::Args)]
#[command(
    after_help = "All workers need the files. Two files must not have rows with the same keys, because they may be written in any order."
)]
pub(crate) struct ImportCommand {
    /// Files to read, or directories of exports
    #[arg(value_name = "FILE|DIR", required = true)]
    from: Vec<PathBuf>,
    /// Table to write; it is created if it does not exist
    #[arg(required = true)]
    table: String,
    /// Format of the files [default: by their names]
    #[arg(long, value_name = "FORMAT", value_parser = choice(InputFormat::ALL.map(|format| (format.name(), format))))]
    format: Option<InputFormat>,
    /// With --work: files to import at the same time, 1 to 256
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=256), default_value_t = 4)]
    jobs: u16,
    #[command(flatten)]
    existing: ExistingArgs,
    #[command(flatten)]
    steps: StepArgs,
}

impl RunOnFleet for ImportCommand {
    async fn run(self, fleet: Fleet, mut progress: Progress) -> CommandResult {
        let plan = ImportPlan::new(self.from, self.format).await?;
        let Some(directory) = plan.directory.to_str() else {
            let reason = "the name of the directory is not UTF-8";
            return Err(CommandError::usage(reason));
        };
        let (existing, mode) = (&self.existing, self.existing.mode);
        existing
            .prepare(&fleet.first, &self.table, &mut progress)
            .await?;
        let spec = JobSpec {
            kind: JobKind::Import {
                directory: directory.to_owned(),
                mode,
            },
            source: Source {
                endpoint: fleet.first.service.endpoint().to_string(),
                table: self.table,
                filter: None,
                select: Vec::new(),
                bounds: Bounds::default(),
            },
            page_rows: PAGE_ROWS,
            step_rows: STEP_ROWS,
            tries: self.steps.tries,
            visibility_seconds: self.steps.visibility,
            rows_expected: plan.rows,
        };
        let job = start_import(&fleet.table, spec, &plan.files).await?;
        let jobs = self.jobs.into();
        self.steps.started(&fleet, progress, &job, jobs).await
    }
}
