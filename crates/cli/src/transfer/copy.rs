//! `partita copy SRC DST`: copies the rows of a table to another table, of this or another account.

use super::progress_file::Job;
use super::target::{TargetArgs, place};
use super::{ReadArgs, TwoTablesCommand};
use crate::args::connection::Connection;
use crate::prelude::*;
use partita_tools::transfer;

/// Copy the rows of a table to another table, of this or another account
#[derive(clap::Args)]
#[command(
    after_help = "Rows of DST whose keys are not in SRC are kept. --jobs is the number of parallel reads, and of parallel writes. A row that changes meanwhile is copied before or after its change; `partita diff` shows what differs then."
)]
pub(crate) struct CopyCommand {
    /// Table to read
    #[arg(value_name = "SRC")]
    source: String,
    /// Table to write
    #[arg(value_name = "DST")]
    destination: String,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl TwoTablesCommand for CopyCommand {
    async fn run(self, first: Connection, second: Connection, progress: Progress) -> CommandResult {
        let scan = &self.read.scan;
        let (from, to) = (
            place(&first, &self.source),
            place(&second, &self.destination),
        );
        if from == to {
            return Err(CommandError::usage("a table cannot be copied to itself"));
        }
        let job = Job {
            command: "copy",
            from: &from,
            to: &to,
        };
        let bounds = scan.bounds();
        let reader = self.read.reader(&first, &self.source, bounds).await?;
        let table = second.service.table_client(&self.destination);
        self.target
            .write(
                job,
                &table,
                scan.jobs(),
                progress,
                async |progress, options, observer| {
                    progress.start_bar("rows", scan.total, false);
                    transfer::copy(&reader, &table, options, observer).await
                },
            )
            .await
    }
}
