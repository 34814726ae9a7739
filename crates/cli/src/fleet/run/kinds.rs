//! The kinds of jobs, with their own arguments.

use super::super::{Fleet, RunOnFleet};
use super::start::StartArgs;
use crate::args::connection::Connection;
use crate::args::{NeededFilterArgs, choice};
use crate::prelude::*;
use crate::transfer::export::formats;
use partita_tools::fleet::{JobKind, Per, TablePlace};
use partita_tools::formats::Format;
use partita_tools::transfer::Mode;
use std::path::PathBuf;

/// Which rows.
#[derive(Debug, clap::Args)]
struct FilterArgs {
    /// OData filter, such as "Age ge 18 and PartitionKey eq 'a'"
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
}

/// What happens to rows that exist.
#[derive(clap::Args)]
pub(super) struct ExistingArgs {
    /// What to do with an existing row: merge and replace overwrite it, skip keeps it
    #[arg(long, value_name = "MODE", default_value = "replace", value_parser = choice([
        ("merge", Mode::Merge), ("replace", Mode::Replace), ("skip", Mode::SkipExisting),
    ]))]
    pub(super) mode: Mode,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl ExistingArgs {
    /// Creates the table to which a job writes. Asks first if the job may overwrite its rows.
    pub(super) async fn prepare(
        &self,
        connection: &Connection,
        table: &str,
        progress: &mut Progress,
    ) -> Result<(), CommandError> {
        let created = create(connection, table).await?;
        if created == Created::Existed && self.mode != Mode::SkipExisting {
            let question = format!("overwrite rows of table {table}, which exists");
            self.confirm.confirm(&question, progress)?;
        }
        Ok(())
    }
}

/// Count the rows of a table
#[derive(clap::Args)]
pub(crate) struct CountCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    start: StartArgs,
}

impl RunOnFleet for CountCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        let filter = self.filter.filter.as_deref();
        let start = self.start;
        start
            .start(&fleet, progress, JobKind::Count, &self.table, filter)
            .await
    }
}

/// Copy the rows of a table to another table, of this or another account
#[derive(clap::Args)]
pub(crate) struct CopyCommand {
    /// Table to read
    #[arg(value_name = "SRC")]
    source: String,
    /// Table to write; it is created if it does not exist
    #[arg(value_name = "DST")]
    destination: String,
    #[command(flatten)]
    existing: ExistingArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    start: StartArgs,
}

impl RunOnFleet for CopyCommand {
    async fn run(self, fleet: Fleet, mut progress: Progress) -> CommandResult {
        let to = destination(&fleet, &self.destination);
        let is_same = to.endpoint == fleet.first.service.endpoint().to_string()
            && self.source.eq_ignore_ascii_case(&self.destination);
        if is_same {
            return Err(CommandError::usage("a table cannot be copied to itself"));
        }
        let mode = self.existing.mode;
        let existing = self.existing;
        existing
            .prepare(&fleet.second, &self.destination, &mut progress)
            .await?;
        let kind = JobKind::Copy { to, mode };
        let filter = self.filter.filter.as_deref();
        self.start
            .start(&fleet, progress, kind, &self.source, filter)
            .await
    }
}

/// Write the rows of a table to part files with one manifest
#[derive(clap::Args)]
pub(crate) struct ExportCommand {
    /// Table to read
    table: String,
    /// New directory, which all workers have
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Format of the files
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "jsonl.zst")]
    format: Format,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    start: StartArgs,
}

impl RunOnFleet for ExportCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        let directory = std::path::absolute(&self.directory).because("invalid directory")?;
        let Some(directory) = directory.to_str() else {
            return Err(CommandError::usage(
                "the name of the directory is not UTF-8",
            ));
        };
        let kind = JobKind::Export {
            directory: directory.to_owned(),
            format: self.format,
        };
        let filter = self.filter.filter.as_deref();
        self.start
            .start(&fleet, progress, kind, &self.table, filter)
            .await
    }
}

/// Find the distinct PartitionKeys of a table
#[derive(clap::Args)]
pub(crate) struct PartitionsCommand {
    /// Table name
    table: String,
    /// Table to which the keys are written, with an empty RowKey; it is created if it does not exist
    #[arg(long, value_name = "TABLE")]
    to: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    start: StartArgs,
}

impl RunOnFleet for PartitionsCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        if let Some(table) = &self.to {
            create(&fleet.second, table).await?;
        }
        let to = self.to.as_deref().map(|table| destination(&fleet, table));
        let kind = JobKind::Partitions { to };
        let filter = self.filter.filter.as_deref();
        self.start
            .start(&fleet, progress, kind, &self.table, filter)
            .await
    }
}

/// Delete the rows that match a filter
#[derive(clap::Args)]
pub(crate) struct PurgeCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    filter: NeededFilterArgs,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    start: StartArgs,
}

impl RunOnFleet for PurgeCommand {
    async fn run(self, fleet: Fleet, mut progress: Progress) -> CommandResult {
        let question = format!("delete rows of table {}", self.table);
        self.confirm.confirm(&question, &mut progress)?;
        let filter = Some(self.filter.checked()?);
        self.start
            .start(&fleet, progress, JobKind::Purge, &self.table, filter)
            .await
    }
}

/// Send a message for each row or partition of a table
#[derive(clap::Args)]
#[command(
    after_help = "A message may be sent twice if a worker dies. {Name} in the template stands for a property, {{ and }} for braces."
)]
pub(crate) struct EnqueueCommand {
    /// Table to read
    table: String,
    /// Queue of the account; it is created if it does not exist
    queue: String,
    /// What gets a message: row, or partition (made of its first row)
    #[arg(long, value_name = "WHAT", default_value = "row", value_parser = choice([
        ("row", Per::Row), ("partition", Per::Partition),
    ]))]
    per: Per,
    /// Text of a message
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "{PartitionKey}/{RowKey}"
    )]
    body: String,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    start: StartArgs,
}

impl RunOnFleet for EnqueueCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        // As a copy creates its table. Else each step would fail until it is dead.
        let created = fleet.queues.create_queue_if_not_exists(&self.queue);
        created.await?;
        let kind = JobKind::Enqueue {
            queue: self.queue,
            per: self.per,
            body: self.body,
        };
        let filter = self.filter.filter.as_deref();
        self.start
            .start(&fleet, progress, kind, &self.table, filter)
            .await
    }
}

/// Run a shell command for the rows of each step, as JSON lines on stdin
#[derive(clap::Args)]
#[command(
    after_help = "Exit code 0 means done; any other code repeats the step. Workers run the command, so run only workers for jobs that you trust. A step whose worker died is repeated."
)]
pub(crate) struct ExecCommand {
    /// Table to read
    table: String,
    /// Shell command
    #[arg(value_name = "CMD")]
    command: String,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    start: StartArgs,
}

impl RunOnFleet for ExecCommand {
    async fn run(self, fleet: Fleet, progress: Progress) -> CommandResult {
        let kind = JobKind::Exec {
            command: self.command,
        };
        let filter = self.filter.filter.as_deref();
        self.start
            .start(&fleet, progress, kind, &self.table, filter)
            .await
    }
}

#[derive(PartialEq, Eq)]
enum Created {
    New,
    Existed,
}

/// Creates a table to which a job writes.
async fn create(connection: &Connection, table: &str) -> Result<Created, CommandError> {
    match connection.service.create_table(table).await {
        Ok(_) => Ok(Created::New),
        Err(error) if error.is_conflict() => Ok(Created::Existed),
        Err(error) => Err(error.into()),
    }
}

fn destination(fleet: &Fleet, table: &str) -> TablePlace {
    TablePlace {
        endpoint: fleet.second.service.endpoint().to_string(),
        table: table.to_owned(),
    }
}
