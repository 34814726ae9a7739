//! `partita count TABLE [FILTER]`: how many rows.

use crate::args::connection::Connection;
use crate::args::{self, required, text};
use crate::error::{End, Failure};
use crate::output;
use crate::progress::{Talk, many};
use crate::scan_session::Reading;
use clap::{ArgMatches, Command};
use partita_tools::scan::{Emit, Order};

pub(crate) fn command() -> Command {
    let command = Command::new("count")
        .about("Count the rows of a table: reads their keys only, several pages at a time")
        .arg(args::table())
        .arg(args::filter())
        .arg(args::resume());
    args::scanning(command)
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let table = required(matches, "table")?;
    let (filter, select) = (text(matches, "filter"), Reading::keys_only());
    let reading = Reading::of(matches, filter, select, Emit::EveryRow, Order::Any)?;
    let mut talk = Talk::new(&connection);
    let mut running = reading
        .begin::<u64>("count", matches, &connection, table)
        .await?;
    talk.show_progress("rows", args::total(matches), false);
    let outcome = running.run(&talk, |rows, batch| {
        *rows += batch.rows.len() as u64;
        Ok(*rows)
    });
    if let Err(failure) = outcome.await {
        running.print_token(&failure);
        return Err(failure);
    }
    let rows = running.state;
    talk.hide_progress();
    output::number(rows)?;
    talk.end(&many(rows, "row", "rows"));
    Ok(End::of_count(rows))
}
