//! What all kinds of jobs share: which rows, how steps are cut, and the start.

use super::super::Fleet;
use super::super::work::work;
use crate::args::ScanArgs;
use crate::prelude::*;
use crate::scan_session::ScanSpec;
use crate::units::seconds_within;
use clap::value_parser;
use partita_tools::fleet::{Job, JobKind, JobSpec, announce, plan, start};
use partita_tools::scan::{Emit, Order, Strategy};
use partita_tools::transfer::Source;

/// A step ends after this many rows, unless the command says otherwise.
pub(super) const STEP_ROWS: u64 = 20_000;

/// How the steps of a job are repeated.
#[derive(Debug, clap::Args)]
pub(super) struct StepArgs {
    /// Attempts of a step before it is dead
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000), default_value_t = 5)]
    pub(super) tries: u32,
    /// How long a step is reserved for a worker that gives no sign of life
    #[arg(long, value_name = "TIME", value_parser = seconds_within(1..=86_400), default_value = "60s")]
    pub(super) visibility: u64,
    /// Also work on the job in this process, with --jobs steps at a time
    #[arg(long)]
    work: bool,
}

/// How a job runs.
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// A step ends after this many rows
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), default_value_t = STEP_ROWS)]
    step_rows: u64,
    #[command(flatten)]
    steps: StepArgs,
    #[command(flatten)]
    scan: ScanArgs,
}

impl StepArgs {
    /// Shows the id of a job that has started, sends its first messages, and works on it if that is wanted.
    pub(super) async fn started(
        &self,
        fleet: &Fleet,
        progress: Progress,
        job: &Job,
        jobs: usize,
    ) -> CommandResult {
        output::print(&job.id)?;
        announce(&fleet.table, &fleet.queue(job), job).await?;
        if self.work {
            work(fleet, job, fleet.access(None, true), jobs).await?;
            return progress.finish_count(1, "job", "jobs");
        }
        progress.finish(&format!("job {} started", job.id), Outcome::Done)
    }
}

impl StartArgs {
    /// Starts a job on the rows of a table.
    pub(super) async fn start(
        &self,
        fleet: &Fleet,
        progress: Progress,
        kind: JobKind,
        table: &str,
        filter: Option<&str>,
    ) -> CommandResult {
        let filter = filter.filter(|text| !text.trim().is_empty());
        let spec = JobSpec {
            kind,
            source: Source {
                endpoint: fleet.first.service.endpoint().to_string(),
                table: table.to_owned(),
                filter: filter.map(str::to_owned),
                select: Vec::new(),
                bounds: self.scan.bounds(),
            },
            page_rows: self.scan.page_rows.into(),
            step_rows: self.step_rows,
            tries: self.steps.tries,
            visibility_seconds: self.steps.visibility,
            rows_expected: self.scan.total,
        };
        let strategy = self.scan.strategy;
        let scan = ScanSpec::new(&self.scan, filter, Vec::new(), Emit::EveryRow, Order::Any)?;
        let points = match strategy {
            Strategy::Serial | Strategy::Prefix => Vec::new(),
            Strategy::Ranges => scan.split_points(&fleet.first, table, true).await?,
            Strategy::Auto => scan.split_points(&fleet.first, table, false).await?,
        };
        let steps = match strategy {
            Strategy::Serial | Strategy::Ranges => strategy.plan(&spec.source.bounds, &points, 1),
            Strategy::Prefix | Strategy::Auto => plan(&spec, &points),
        };
        let job = start(&fleet.table, spec, &steps).await?;
        let jobs = self.scan.jobs();
        self.steps.started(fleet, progress, &job, jobs).await
    }
}
