//! Commands that move whole tables: `copy`, `diff`, `export`, `import`.
//!
//! - The first Ctrl-C stops a transfer where it can be resumed. The second stops it at once, which loses no more than
//!   `kill -9` would.
//! - An export records its position in its directory; imports and copies in a progress file ([`progress_file`]).
//! - `--mode merge` and `replace` overwrite rows, so they ask for confirmation if the table is not empty.

pub(crate) mod copy;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod import;
mod progress_file;
mod target;
mod watch;

use crate::args::{ConnectionArgs, DestinationArgs, ScanArgs, SelectArgs};
use crate::command::{Command, CommandError, CommandResult, Connection, Progress, With, block_on};
use crate::progress::message;
use crate::scan_session::ScanSpec;
use crate::signals::stoppable;
use partita_tools::scan::{Bounds, Emit, Order};
use partita_tools::source::EntitySource;
use partita_tools::transfer::{TableReader, TransferError, WriteError};
use std::sync::Arc;
use watch::TransferWatch;

/// The connections of two tables.
#[derive(clap::Args)]
pub(crate) struct TwoTablesArgs {
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    to: DestinationArgs,
}

/// A command with the flags of two connections.
pub(crate) type OnTwoTables<C> = With<C, TwoTablesArgs>;

/// A command on two tables, which may be in different accounts.
pub(crate) trait TwoTablesCommand: clap::Args {
    async fn run(self, first: Connection, second: Connection, progress: Progress) -> CommandResult;
}

impl<C: TwoTablesCommand> Command for OnTwoTables<C> {
    fn run(self) -> CommandResult {
        let TwoTablesArgs { connection, to } = &self.flags;
        let first = Connection::new(connection)?;
        let second = to.open(connection, &first)?;
        let progress = Progress::new(&first.traffic);
        let profiles = [first.profile.clone(), second.profile.clone()];
        let ended = block_on(self.command.run(first, second, progress));
        ended.map_err(|error| error.on_profiles(profiles))
    }
}

/// Which rows of a table are read, and how.
#[derive(Debug, clap::Args)]
struct ReadArgs {
    /// OData filter, such as "Age ge 18 and PartitionKey eq 'a'"
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    scan: ScanArgs,
}

impl ReadArgs {
    /// The rows of a table within these bounds.
    async fn reader(
        &self,
        connection: &Connection,
        table: &str,
        bounds: Bounds,
    ) -> Result<TableReader<EntitySource>, CommandError> {
        let filter = self.filter.as_deref();
        let select = self.select.names().unwrap_or_default();
        let spec = ScanSpec::new(&self.scan, filter, select, Emit::EveryRow, Order::Table)?;
        let steps = spec.plan(&bounds, connection, table).await?;
        let client = connection.service.table_client(table);
        Ok(TableReader {
            endpoint: connection.service.endpoint().to_string(),
            name: client.name().to_owned(),
            table: Arc::new(EntitySource(client)),
            query: spec.query,
            bounds,
            steps,
            jobs: self.scan.jobs(),
        })
    }
}

/// Runs a transfer until it has ended, or has stopped after a signal.
async fn run_transfer<T>(
    progress: &Progress,
    watch: &TransferWatch,
    transfer: impl Future<Output = Result<T, TransferError>>,
) -> Result<T, CommandError> {
    let stop = || {
        progress.bar.hide();
        message("stopping where it can be resumed; press Ctrl-C again to stop at once");
        watch.stop();
    };
    let ended = stoppable(transfer, stop).await;
    progress.bar.hide();
    let ended = ended.unwrap_or(Err(TransferError::Stopped));
    ended.map_err(|error| match error {
        TransferError::Stopped => CommandError::Interrupted,
        other => other.into(),
    })
}

/// Prints how to resume, if the run can be resumed after this error.
fn suggest_resume(error: &CommandError) {
    let helps = match error {
        CommandError::Interrupted => true,
        CommandError::Transfer(error) => matches!(
            **error,
            TransferError::Read(_)
                | TransferError::Write(WriteError::Failed { .. })
                | TransferError::Io { .. }
        ),
        _ => false,
    };
    if helps {
        message("to resume, repeat the command with --resume");
    }
}
