//! `partita table policy list|set|remove`: the stored access policies of a table.

use crate::policy::{self, RemoveArgs, SetArgs, letters};
use crate::prelude::*;
use crate::sas::TABLE;

commands! {
    pub(crate) enum PolicyCommand {
        List(OnAccount<ListCommand>), Set(OnAccount<SetCommand>), Remove(OnAccount<RemoveCommand>),
    }
}

/// List the stored access policies of a table
#[derive(clap::Args)]
pub(crate) struct ListCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl AccountCommand for ListCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let table = connection.service.table_client(&self.table);
        policy::list(&table, self.output, progress).await
    }
}

/// Add or replace a stored access policy of a table
#[derive(clap::Args)]
#[command(
    after_help = "A table has at most five. A term that is missing here can be in the signature. In Azure a change takes up to 30s."
)]
pub(crate) struct SetCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    set: SetArgs,
    /// Letters of r (read), a (add), u (update), d (delete)
    #[arg(long, value_name = "LETTERS", value_parser = letters(TABLE))]
    permissions: Option<String>,
}

impl AccountCommand for SetCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let table = connection.service.table_client(&self.table);
        let permissions = self.permissions.as_deref();
        self.set.run(&table, permissions, progress).await
    }
}

/// Remove a stored access policy of a table, which revokes its signatures
#[derive(clap::Args)]
pub(crate) struct RemoveCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    remove: RemoveArgs,
}

impl AccountCommand for RemoveCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let table = connection.service.table_client(&self.table);
        self.remove.run(&table, progress).await
    }
}
