//! `partita entity get TABLE PARTITION-KEY ROW-KEY`: reads one entity.

use super::{EntityArgs, failed};
use crate::prelude::*;

/// Show the entity with these keys
#[derive(clap::Args)]
pub(crate) struct GetCommand {
    #[command(flatten)]
    entity: EntityArgs,
    #[command(flatten)]
    select: SelectArgs,
    /// Show the ETag as odata.etag
    #[arg(long)]
    etag: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl AccountCommand for GetCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let EntityArgs {
            table,
            partition_key,
            row_key,
        } = &self.entity;
        let table = connection.service.table_client(table);
        let columns = self.select.names();
        let found = match &columns {
            None => table.get_entity(partition_key, row_key).await,
            Some(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                table
                    .get_entity_selected(partition_key, row_key, &names)
                    .await
            }
        };
        let entity = match found {
            Ok(entity) => entity,
            Err(error) => {
                let keys = (&**partition_key, &**row_key);
                return failed(error, &table, keys, progress, "0 entities");
            }
        };
        let mut output = Output::stdout(self.output, Shape::Single, columns.as_deref());
        output.row(&OutputRow::Entity {
            entity: &entity,
            etag: self.etag,
        })?;
        output.finish()?;
        progress.finish("1 entity", Outcome::Done)
    }
}
