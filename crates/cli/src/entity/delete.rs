//! `partita entity delete TABLE PARTITION-KEY ROW-KEY`: deletes one entity, with `--if-match` only if it has this ETag.

use super::{EntityArgs, IfMatchArgs, failed};
use crate::prelude::*;

/// Delete the entity with these keys
#[derive(clap::Args)]
pub(crate) struct DeleteCommand {
    #[command(flatten)]
    entity: EntityArgs,
    #[command(flatten)]
    if_match: IfMatchArgs,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl AccountCommand for DeleteCommand {
    async fn run(self, connection: Connection, mut progress: Progress) -> CommandResult {
        let EntityArgs {
            table,
            partition_key,
            row_key,
        } = &self.entity;
        let question = format!(
            "delete the entity with PartitionKey {partition_key:?} and RowKey {row_key:?} of table {table}"
        );
        self.confirm.confirm(&question, &mut progress)?;
        let table = connection.service.table_client(table);
        let if_match = self.if_match.if_match();
        let deleted = table.delete_entity(partition_key, row_key, &if_match).await;
        if let Err(error) = deleted {
            let keys = (&**partition_key, &**row_key);
            return failed(error, &table, keys, progress, "0 entities deleted");
        }
        progress.finish("1 entity deleted", Outcome::Done)
    }
}
