//! `partita table truncate TABLE`

use super::extended_table;
use crate::args::connection::Connection;
use crate::args::{ConfirmArgs, ConnectionArgs};
use crate::error::{CommandError, Outcome};
use crate::progress::{Progress, confirm};

#[derive(clap::Args)]
#[command(about = "Delete all rows of a table, instantly (Partita only)")]
pub(crate) struct TruncateCommand {
    /// Table name
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl TruncateCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let (table, settings) = extended_table(&connection, &self.table).await?;
        let question = format!("delete all rows of table {}", settings.name);
        confirm(&question, self.confirm.yes)?;
        let progress = Progress::new(&connection);
        table.truncate().await?;
        progress.finish(&format!("all rows of {} deleted", settings.name));
        Ok(Outcome::Done)
    }
}
