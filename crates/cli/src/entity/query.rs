//! `partita entity query TABLE`: reads one page after the other, in key order, up to `--top` entities.

use super::of_table;
use crate::args::FilterArgs;
use crate::prelude::*;
use clap::value_parser;
use partita_client::{Filter, QueryOptions};
use partita_model::limits::PAGE_ENTITIES_MAX;

/// Show the entities that match a filter
#[derive(clap::Args)]
#[command(after_help = "Sends one request after the other; `partita scan` sends them in parallel.")]
pub(crate) struct QueryCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    select: SelectArgs,
    /// Maximum number of entities
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u64).range(1..))]
    top: Option<u64>,
    /// Show the ETag of each entity as odata.etag
    #[arg(long)]
    etag: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl AccountCommand for QueryCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let table = connection.service.table_client(&self.table);
        let columns = self.select.names();
        let top = self.top.unwrap_or(u64::MAX);
        let page = top.min(PAGE_ENTITIES_MAX as u64);
        let mut options = QueryOptions::new().limit(usize::try_from(page).unwrap_or(1));
        if let Some(filter) = self.filter.checked()? {
            options = options.filter(Filter::raw(filter));
        }
        if let Some(names) = &columns {
            options = options.select(names);
        }
        let mut output = Output::stdout(self.output, Shape::Rows, columns.as_deref());
        progress.start_bar("entities", None, true);
        let (mut found, mut from) = (0, None);
        let etag = self.etag;
        loop {
            let page = table.query_page(&options, from.as_ref()).await;
            let page = page.map_err(|error| of_table(error, &table))?;
            let left = usize::try_from(top - found).unwrap_or(usize::MAX);
            for entity in page.entities()?.iter().take(left) {
                output.row(&OutputRow::Entity { entity, etag })?;
                found += 1;
            }
            progress.bar.set_position(found);
            from = page.continuation().cloned();
            if from.is_none() || found >= top {
                break;
            }
        }
        output.finish()?;
        progress.finish_count(found, "entity", "entities")
    }
}
