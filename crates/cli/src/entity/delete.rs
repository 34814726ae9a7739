//! `partita entity delete TABLE PARTITION-KEY ROW-KEY`

use super::{EntityArgs, IfMatchArgs};
use crate::args::connection::Connection;
use crate::args::{ConfirmArgs, ConnectionArgs};
use crate::error::{CommandError, Outcome};
use crate::progress::{Progress, confirm};

#[derive(clap::Args)]
#[command(about = "Delete the entity with these keys")]
pub(crate) struct DeleteCommand {
    #[command(flatten)]
    entity: EntityArgs,
    #[command(flatten)]
    if_match: IfMatchArgs,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl DeleteCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let EntityArgs {
            table,
            partition_key,
            row_key,
        } = &self.entity;
        let question = format!(
            "delete the entity with PartitionKey {partition_key:?} and RowKey {row_key:?} of table {table}"
        );
        confirm(&question, self.confirm.yes)?;
        let progress = Progress::new(&connection);
        let table = connection.service.table_client(table);
        let if_match = self.if_match.if_match();
        match table.delete_entity(partition_key, row_key, &if_match).await {
            Ok(()) => {
                progress.finish("1 entity deleted");
                Ok(Outcome::Done)
            }
            Err(error) if super::is_missing(&error) => {
                super::report_missing(partition_key, row_key);
                progress.finish("0 entities deleted");
                Ok(Outcome::NothingFound)
            }
            Err(error) => Err(error.into()),
        }
    }
}
