//! `partita log append|tail`: partitions as logs, newest row first.

mod append;
mod tail;

use crate::command::{Connection, OnAccount, commands};
use partita_client::LogTail;

commands! {
    pub(crate) enum LogCommand {
        Append(OnAccount<append::AppendCommand>),
        Tail(OnAccount<tail::TailCommand>),
    }
}

/// Table and partition of a log.
#[derive(clap::Args)]
struct LogArgs {
    /// Table name
    table: String,
    /// PartitionKey of the log
    partition: String,
}

impl LogArgs {
    fn open(&self, connection: &Connection) -> LogTail {
        let table = connection.service.table_client(&self.table);
        LogTail::new(table, &self.partition)
    }
}
