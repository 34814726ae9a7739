//! `partita table delete TABLE…`

use crate::args::connection::Connection;
use crate::args::{ConfirmArgs, ConnectionArgs};
use crate::error::{CommandError, Outcome};
use crate::progress::{Progress, confirm, message};
use crate::units::many;

#[derive(clap::Args)]
#[command(about = "Delete tables with all their rows")]
pub(crate) struct DeleteCommand {
    /// Table names
    #[arg(value_name = "TABLE", required = true, num_args = 1..)]
    table: Vec<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl DeleteCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let names: Vec<&str> = self.table.iter().map(|name| name.trim()).collect();
        let tables = if names.len() == 1 { "table" } else { "tables" };
        let question = format!("delete {tables} {} with all rows", names.join(", "));
        confirm(&question, self.confirm.yes)?;
        let progress = Progress::new(&connection);
        let mut deleted = 0;
        for name in &names {
            match connection.service.delete_table(name).await {
                Ok(()) => deleted += 1,
                Err(error) if error.is_not_found() => {
                    message(&format!("there is no table {name}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        progress.finish(&format!("{} deleted", many(deleted, "table", "tables")));
        Ok(Outcome::of_count(deleted))
    }
}
