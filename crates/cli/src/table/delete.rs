//! `partita table delete TABLE…`: one table after the other; a missing table is reported and skipped.

use crate::prelude::*;

/// Delete tables with all their rows
#[derive(clap::Args)]
pub(crate) struct DeleteCommand {
    /// Table names
    #[arg(value_name = "TABLE", required = true, num_args = 1..)]
    table: Vec<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl AccountCommand for DeleteCommand {
    async fn run(self, connection: Connection, mut progress: Progress) -> CommandResult {
        let names: Vec<&str> = self.table.iter().map(|name| name.trim()).collect();
        let tables = if names.len() == 1 { "table" } else { "tables" };
        let question = format!("delete {tables} {} with all rows", names.join(", "));
        self.confirm.confirm(&question, &mut progress)?;
        let mut deleted = 0;
        for name in &names {
            match connection.service.delete_table(name).await {
                Ok(()) => deleted += 1,
                Err(error) if error.is_not_found() => {
                    message(&format!("table {name} does not exist"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let end = format!("{} deleted", many(deleted, "table", "tables"));
        progress.finish(&end, Outcome::of_count(deleted))
    }
}
