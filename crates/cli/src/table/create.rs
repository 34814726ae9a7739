//! `partita table create TABLE…`: one table after the other, until one fails.

use crate::prelude::*;

/// Create tables
#[derive(clap::Args)]
pub(crate) struct CreateCommand {
    /// Table names
    #[arg(value_name = "TABLE", required = true, num_args = 1..)]
    table: Vec<String>,
    /// Accept a table that exists already
    #[arg(long)]
    if_not_exists: bool,
}

impl AccountCommand for CreateCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let mut created = 0;
        for name in self.table.iter().map(|name| name.trim()) {
            match connection.service.create_table(name).await {
                Ok(_) => created += 1,
                Err(error) if self.if_not_exists && error.code_text() == "TableAlreadyExists" => {
                    message(&format!("table {name} exists already"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let end = format!("{} created", many(created, "table", "tables"));
        progress.finish(&end, Outcome::Done)
    }
}
