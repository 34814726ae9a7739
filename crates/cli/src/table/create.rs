//! `partita table create TABLE…`

use crate::args::ConnectionArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::progress::{Progress, message};
use crate::units::many;

#[derive(clap::Args)]
#[command(about = "Create tables")]
pub(crate) struct CreateCommand {
    /// Table names
    #[arg(value_name = "TABLE", required = true, num_args = 1..)]
    table: Vec<String>,
    /// Accept a table that exists already
    #[arg(long)]
    if_not_exists: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl CreateCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let progress = Progress::new(&connection);
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
        progress.finish(&format!("{} created", many(created, "table", "tables")));
        Ok(Outcome::Done)
    }
}
