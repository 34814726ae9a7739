//! `partita table rename TABLE NAME`: a new name for a table; its rows are not touched.

use super::extended_table;
use crate::command::{AccountCommand, CommandResult, Connection, Outcome, Progress};

/// Rename a table, instantly (Partita only)
#[derive(clap::Args)]
pub(crate) struct RenameCommand {
    /// Table name
    table: String,
    /// New name
    #[arg(value_name = "NAME")]
    to: String,
}

impl AccountCommand for RenameCommand {
    async fn run(self, connection: Connection, _: Progress) -> CommandResult {
        let (table, settings, progress) = extended_table(&connection, &self.table).await?;
        table.rename(&self.to).await?;
        let end = format!("{} renamed to {}", settings.name, self.to);
        progress.finish(&end, Outcome::Done)
    }
}
