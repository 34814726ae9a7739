//! `partita entity get TABLE PARTITION-KEY ROW-KEY`

use super::EntityArgs;
use crate::args::connection::Connection;
use crate::args::{ConnectionArgs, SelectArgs};
use crate::error::{CommandError, Outcome};
use crate::output::{Output, OutputArgs, OutputRow, Shape};
use crate::progress::Progress;

#[derive(clap::Args)]
#[command(about = "Show the entity with these keys")]
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
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl GetCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let progress = Progress::new(&connection);
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
            Err(error) if super::is_missing(&error) => {
                super::report_missing(partition_key, row_key);
                progress.finish("0 entities");
                return Ok(Outcome::NothingFound);
            }
            Err(error) => return Err(error.into()),
        };
        let mut output = Output::stdout(self.output, Shape::Single, columns.as_deref());
        output.row(&OutputRow::Entity {
            entity: &entity,
            etag: self.etag,
        })?;
        output.finish()?;
        progress.finish("1 entity");
        Ok(Outcome::Done)
    }
}
