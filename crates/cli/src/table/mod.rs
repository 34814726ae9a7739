//! `partita table create|list|delete|show|set|rename|truncate|policy`: tables of an account. `set`, `rename` and `truncate`
//! need a Partita server, as they are not operations of the Table service.

mod create;
mod delete;
mod list;
mod policy;
mod rename;
mod set;
mod show;
mod truncate;

pub(crate) use show::policy_text;

use crate::command::{CommandError, Connection, OnAccount, Progress, commands};
use partita_client::{TableClient, TableSettings};

commands! {
    pub(crate) enum TableCommand {
        Create(OnAccount<create::CreateCommand>), List(OnAccount<list::ListCommand>),
        Delete(OnAccount<delete::DeleteCommand>), Show(OnAccount<show::ShowCommand>),
        Set(OnAccount<set::SetCommand>), Rename(OnAccount<rename::RenameCommand>),
        Truncate(OnAccount<truncate::TruncateCommand>),
        /// Stored access policies, from which shared access signatures get their terms
        #[command(subcommand)]
        Policy(policy::PolicyCommand),
    }
}

/// Opens a table, and checks that its server has Partita's own operations. Returns the table, its settings, and a new
/// [`Progress`], which does not count the request of this check.
async fn extended_table(
    connection: &Connection,
    name: &str,
) -> Result<(TableClient, TableSettings, Progress), CommandError> {
    let table = connection.service.table_client(name);
    let settings = table.settings().await;
    let settings = settings.map_err(|error| CommandError::from(error).of_table(name, ""))?;
    let settings = settings.ok_or_else(|| {
        CommandError::usage(
            "this server does not support the operation: only Partita does; `partita copy` and `partita purge` work with every server",
        )
    })?;
    Ok((table, settings, Progress::new(&connection.traffic)))
}
