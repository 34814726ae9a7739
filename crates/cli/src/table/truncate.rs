//! `partita table truncate TABLE`: deletes the rows and keeps the table, with its settings and access policies.

use super::extended_table;
use crate::prelude::*;

/// Delete all rows of a table, instantly (Partita only)
#[derive(clap::Args)]
pub(crate) struct TruncateCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl AccountCommand for TruncateCommand {
    async fn run(self, connection: Connection, _: Progress) -> CommandResult {
        let (table, settings, mut progress) = extended_table(&connection, &self.table).await?;
        let question = format!("delete all rows of table {}", settings.name);
        self.confirm.confirm(&question, &mut progress)?;
        table.truncate().await?;
        let end = format!("all rows of {} deleted", settings.name);
        progress.finish(&end, Outcome::Done)
    }
}
