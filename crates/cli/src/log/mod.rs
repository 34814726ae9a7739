//! `partita log append|tail`: partitions as logs, newest row first.

mod append;
mod lines;
mod tail;

use crate::args::ConnectionArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use clap::Subcommand;
use partita_client::LogTail;

#[derive(Subcommand)]
pub(crate) enum LogCommand {
    Append(append::AppendCommand),
    Tail(tail::TailCommand),
}

impl LogCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Append(command) => command.run().await,
            Self::Tail(command) => command.run().await,
        }
    }
}

/// A log, and where it is.
#[derive(clap::Args)]
struct LogArgs {
    /// Table name
    #[arg(value_name = "TABLE")]
    table: String,
    /// PartitionKey of the log
    #[arg(value_name = "PARTITION")]
    partition: String,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl LogArgs {
    fn open(&self) -> Result<(Connection, LogTail), CommandError> {
        let connection = Connection::new(&self.connection)?;
        let table = connection.service.table_client(&self.table);
        let log = LogTail::new(table, &self.partition);
        Ok((connection, log))
    }
}
