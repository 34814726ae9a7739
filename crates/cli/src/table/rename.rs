//! `partita table rename TABLE NAME`

use super::extended_table;
use crate::args::ConnectionArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::progress::Progress;

#[derive(clap::Args)]
#[command(about = "Rename a table, instantly (Partita only)")]
pub(crate) struct RenameCommand {
    /// Table name
    #[arg(value_name = "TABLE")]
    table: String,
    /// New name
    #[arg(value_name = "NAME")]
    to: String,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl RenameCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let (table, settings) = extended_table(&connection, &self.table).await?;
        let progress = Progress::new(&connection);
        table.rename(&self.to).await?;
        progress.finish(&format!("{} renamed to {}", settings.name, self.to));
        Ok(Outcome::Done)
    }
}
