//! The kinds of jobs: what a step does with its rows. Each kind has a file.
//!
//! An [`Action`] belongs to one run of one step. Its effects must be idempotent, because a step may run several times,
//! also at the same time; or they must become visible only through the step's committed output.

pub(super) mod copy;
pub(super) mod count;
mod enqueue;
mod exec;
pub(super) mod export;
pub(super) mod import;
mod partitions;
mod purge;

use super::step_row::{StepResult, StepSummary};
use super::{FleetError, Job, JobKind, JobSpec, StepRow, TablePlace, Tally, Work};
use crate::source::TableRow;
use crate::transfer::Mode;
use crate::transfer::separate_parts::create_directory;
use futures::future::BoxFuture;
use partita_bulk::Template;
use partita_client::{Endpoint, QueueServiceClient, TableClient, TableServiceClient};
use std::path::PathBuf;

/// The connections of a worker.
#[derive(Debug, Clone)]
pub struct Access {
    /// The account of the rows, of the job table and of the queue.
    pub source: TableServiceClient,
    /// The account of the second table; `None` for the same account.
    pub destination: Option<TableServiceClient>,
    /// The queues of the account, for jobs that send messages.
    pub queues: Option<QueueServiceClient>,
    /// The directory of an export or an import, if this machine has it at another path than the job says.
    pub directory: Option<PathBuf>,
    /// Whether the worker runs the commands of jobs. Every client that can write to the job table can then
    /// run any command on this machine.
    pub commands: bool,
}

/// What one run of a step does with its rows.
pub(super) trait Action: Send {
    /// Applies the effect to the rows of a page. Returns their counts.
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>>;

    /// Ends the run. The result has only the counts that [`Self::take`] did not return.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>>;
}

impl Access {
    /// The table of a job's rows. The job is in the same account, so the account needs no check.
    pub(super) fn source_table(&self, job: &Job) -> TableClient {
        self.source.table_client(&job.spec.source.table)
    }

    /// The second table of a job. Two machines may reach one account by different URLs, so only the name of the account
    /// is compared. But without a second connection, the job must name the account of its rows.
    ///
    /// # Errors
    /// [`FleetError::OtherAccount`].
    pub(super) fn destination_table(
        &self,
        job: &Job,
        place: &TablePlace,
    ) -> Result<TableClient, FleetError> {
        let service = self.destination.as_ref().unwrap_or(&self.source);
        let expected = Endpoint::parse(&place.endpoint).ok();
        let is_same = match &self.destination {
            None => place.endpoint == job.spec.source.endpoint,
            Some(destination) => {
                let account = destination.endpoint().account();
                expected.is_some_and(|expected| expected.account() == account)
            }
        };
        if !is_same {
            return Err(FleetError::OtherAccount {
                expected: place.endpoint.clone(),
                actual: service.endpoint().to_string(),
            });
        }
        Ok(service.table_client(&place.table))
    }

    /// The directory of an export or an import.
    pub(super) fn directory(&self, directory: &str) -> PathBuf {
        let own = self.directory.clone();
        own.unwrap_or_else(|| PathBuf::from(directory))
    }

    /// Checks that the worker has what a job needs.
    ///
    /// # Errors
    /// [`FleetError::OtherAccount`], [`FleetError::NoQueues`], [`FleetError::NoCommands`].
    pub fn check(&self, job: &Job) -> Result<(), FleetError> {
        action(self, job, &StepRow::open(&job.id, Work::Parts(Vec::new()))?).map(drop)
    }
}

/// The action of one run of a step.
pub(super) fn action(
    access: &Access,
    job: &Job,
    step: &StepRow,
) -> Result<Box<dyn Action>, FleetError> {
    Ok(match &job.spec.kind {
        JobKind::Count => Box::new(count::Count),
        JobKind::Copy { to, mode } => {
            Box::new(copy::Copy::new(access.destination_table(job, to)?, *mode))
        }
        JobKind::Export { directory, format } => Box::new(export::Export::new(
            access.directory(directory),
            *format,
            step,
        )),
        JobKind::Partitions { to } => {
            let to = to.as_ref().map(|to| access.destination_table(job, to));
            Box::new(partitions::Partitions {
                to: to.transpose()?,
            })
        }
        // Steps of files use it directly, see `import`.
        JobKind::Import { mode, .. } => Box::new(copy::Copy::new(access.source_table(job), *mode)),
        JobKind::Purge => Box::new(purge::Purge {
            table: access.source_table(job),
        }),
        JobKind::Enqueue { queue, body, .. } => {
            let queues = access.queues.as_ref().ok_or(FleetError::NoQueues)?;
            Box::new(enqueue::Enqueue {
                queue: queues.queue_client(queue),
                body: body.parse::<Template>()?,
            })
        }
        JobKind::Exec { .. } if !access.commands => return Err(FleetError::NoCommands),
        JobKind::Exec { command } => Box::new(exec::Exec::new(command, job, step)),
    })
}

/// Prepares what a job needs before it starts.
pub(super) async fn prepare(spec: &JobSpec) -> Result<(), FleetError> {
    match &spec.kind {
        JobKind::Export { directory, .. } => Ok(create_directory(directory.into()).await?),
        JobKind::Enqueue { body, .. } => {
            body.parse::<Template>()?;
            Ok(())
        }
        JobKind::Copy {
            mode: Mode::Insert, ..
        }
        | JobKind::Import {
            mode: Mode::Insert, ..
        } => Err(FleetError::Insert),
        JobKind::Copy { .. }
        | JobKind::Count
        | JobKind::Exec { .. }
        | JobKind::Import { .. }
        | JobKind::Partitions { .. }
        | JobKind::Purge => Ok(()),
    }
}

/// Removes what a run of a step has made, because another run was committed.
pub(super) async fn discard(
    access: &Access,
    job: &Job,
    result: &StepResult,
) -> Result<(), FleetError> {
    match (&job.spec.kind, &result.output) {
        (JobKind::Export { directory, .. }, Some(output)) => {
            export::discard(&access.directory(directory), output).await
        }
        _ => Ok(()),
    }
}

/// Ends a job whose steps are all done. May be repeated.
pub(super) async fn conclude(
    access: &Access,
    job: &Job,
    steps: &[StepSummary],
) -> Result<(), FleetError> {
    match &job.spec.kind {
        JobKind::Export { directory, format } => {
            export::conclude(&access.directory(directory), *format, job, steps).await
        }
        JobKind::Copy { .. }
        | JobKind::Count
        | JobKind::Enqueue { .. }
        | JobKind::Exec { .. }
        | JobKind::Import { .. }
        | JobKind::Partitions { .. }
        | JobKind::Purge => Ok(()),
    }
}
