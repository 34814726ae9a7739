//! `partita entity query TABLE [FILTER]`: page after page, in the table's order, up to a number of entities.

use crate::args::connection::Connection;
use crate::args::{self, required, selected, text};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{Talk, many};
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_client::{Filter, QueryOptions};
use partita_model::limits::PAGE_ENTITIES_MAX;

pub(crate) fn command() -> Command {
    let top = Arg::new("top")
        .long("top")
        .short('n')
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .help("At most so many entities");
    Command::new("query")
        .about("Show the entities that pass a filter")
        .arg(args::table())
        .arg(args::filter())
        .arg(args::select())
        .arg(top)
        .arg(args::etag())
        .arg(output::argument())
        .after_help("One request after the other; `partita scan` makes several at a time.")
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let mut talk = Talk::new(&connection);
    let table = connection.service.table_client(required(matches, "table")?);
    let columns = selected(matches);
    let top = matches.get_one::<u64>("top").copied().unwrap_or(u64::MAX);
    let page = top.min(PAGE_ENTITIES_MAX as u64);
    let mut options = QueryOptions::new().top(u32::try_from(page).unwrap_or(1));
    if let Some(filter) = text(matches, "filter").filter(|text| !text.trim().is_empty()) {
        options = options.filter(Filter::raw(filter));
    }
    if let Some(names) = &columns {
        options = options.select(names);
    }
    let mut output = Output::of(matches, Shape::Rows, columns.as_deref());
    talk.show_progress("entities", None, true);
    let (mut found, mut from) = (0, None);
    let etag = matches.get_flag("etag");
    loop {
        let page = table.query_page(&options, from.as_ref()).await?;
        for entity in page.entities()?.iter().take(left(top, found)) {
            output.row(&Shown::Entity { entity, etag })?;
            found += 1;
        }
        talk.progress(found);
        from = page.continuation().cloned();
        if from.is_none() || found >= top {
            break;
        }
    }
    output.end()?;
    talk.end(&many(found, "entity", "entities"));
    Ok(End::of_count(found))
}

fn left(top: u64, found: u64) -> usize {
    usize::try_from(top - found).unwrap_or(usize::MAX)
}
