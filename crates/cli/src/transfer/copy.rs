//! `partita copy SRC DST`: the rows of a table into another table, of this or another account.

use super::progress_file::ProgressFile;
use super::target::TargetArgs;
use super::watch::{CountedRows, TransferWatch};
use super::{ReadArgs, run_transfer};
use crate::args::connection::Connection;
use crate::args::{ConnectionArgs, DestinationArgs};
use crate::error::{CommandError, Outcome};
use crate::progress::Progress;
use partita_tools::transfer;

#[derive(clap::Args)]
#[command(
    about = "Copy the rows of a table to another table, of this or another account",
    after_help = "Other rows of DST are kept. --jobs is the number of parallel reads, and of parallel writes. A row that changes\nmeanwhile is copied before or after its change; `partita diff` shows what differs then."
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
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    to: DestinationArgs,
}

impl CopyCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        let from = Connection::new(&self.connection)?;
        let to = self.to.open(&self.connection, &from)?;
        let place = |connection: &Connection, table: &str| {
            let endpoint = connection.service.endpoint().to_string();
            format!("{endpoint}/{}", table.to_ascii_lowercase())
        };
        let from_place = place(&from, &self.source);
        let to_place = place(&to, &self.destination);
        if from_place == to_place {
            return Err(CommandError::usage("a table cannot be copied to itself"));
        }
        let mut progress = Progress::new(&from);
        let table = to.service.table_client(&self.destination);
        let file = ProgressFile::new(
            &self.target.progress_file,
            self.target.dry_run,
            "copy",
            &from_place,
            &to_place,
        )?;
        self.target.check(&table, file.is_resumed).await?;
        let reader = self.read.reader(&from, &self.source).await?;
        progress.start_bar("rows", self.read.scan.total, false);
        let watch = TransferWatch::new(progress.bar(), CountedRows::Written);
        let jobs = self.read.scan.jobs();
        let options = self.target.load_options(jobs, file.path.clone());
        let observer = watch.observer();
        let transfer = transfer::copy(&reader, &table, &options, &observer);
        let counts = run_transfer(&progress, &watch, transfer).await;
        let counts = counts.map_err(|error| file.explain(error))?;
        self.target.finish(progress, &counts, 0);
        Ok(Outcome::Done)
    }
}
