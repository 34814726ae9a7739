//! `partita table create|list|delete|show|set|rename|truncate`: tables of an account. `set`, `rename` and `truncate` are Partita's own,
//! beyond the Table service.

mod create;
mod delete;
mod list;
mod rename;
mod set;
mod show;
mod truncate;

use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use clap::Subcommand;
use partita_client::{TableClient, TableSettings};

#[derive(Subcommand)]
pub(crate) enum TableCommand {
    Create(create::CreateCommand),
    List(list::ListCommand),
    Delete(delete::DeleteCommand),
    Show(show::ShowCommand),
    Set(set::SetCommand),
    Rename(rename::RenameCommand),
    Truncate(truncate::TruncateCommand),
}

impl TableCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Create(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Delete(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Set(command) => command.run().await,
            Self::Rename(command) => command.run().await,
            Self::Truncate(command) => command.run().await,
        }
    }
}

/// A table on a server that has Partita's own operations.
async fn extended_table(
    connection: &Connection,
    name: &str,
) -> Result<(TableClient, TableSettings), CommandError> {
    let table = connection.service.table_client(name);
    match table.settings().await? {
        Some(settings) => Ok((table, settings)),
        None => Err(CommandError::usage(
            "this server does not support the operation, only Partita does; `partita copy` and `partita purge` work everywhere",
        )),
    }
}

/// The next name of a listing.
async fn next_name(
    tables: &mut partita_client::TableStream,
) -> Option<partita_client::Result<String>> {
    std::future::poll_fn(|context| tables.as_mut().poll_next(context)).await
}
