//! `partita table list`: the names of the tables of an account.

use crate::args::FilterArgs;
use crate::prelude::*;
use futures::TryStreamExt as _;
use partita_client::Filter;

/// List the tables
#[derive(clap::Args)]
pub(crate) struct ListCommand {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl AccountCommand for ListCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let mut output = Output::stdout(self.output, Shape::Rows, None);
        let mut tables = match self.filter.checked()? {
            Some(filter) => connection.service.query_tables(Filter::raw(filter)),
            None => connection.service.list_tables(),
        };
        let mut found = 0;
        while let Some(name) = tables.try_next().await? {
            output.record(&[("TableName", Field::text(&name))])?;
            found += 1;
        }
        output.finish()?;
        progress.finish_count(found, "table", "tables")
    }
}
