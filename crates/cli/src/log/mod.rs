//! `partita log append|tail`: partitions as logs, newest row first.

mod append;
mod tail;

use crate::command::{Connection, OnAccount, commands};
use crate::error::CommandError;
use partita_client::{ErrorCode, LogTail};

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

/// Adds the name of the table to the error of a missing table, and what to do.
fn name_table(error: CommandError, log: &LogTail, remedy: &str) -> CommandError {
    match error {
        CommandError::Client(error) if error.code() == Some(ErrorCode::TableNotFound) => {
            CommandError::Because {
                what: missing_table(log, remedy),
                source: error.into(),
            }
        }
        error => error,
    }
}

fn missing_table(log: &LogTail, remedy: &str) -> String {
    format!("there is no table {}{remedy}", log.table().name())
}
