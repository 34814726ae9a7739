//! `partita count TABLE [FILTER]`: how many rows.

use super::arguments::{self, required, text};
use super::connection::Connection;
use super::failure::{End, Failure};
use super::output;
use super::reading::Reading;
use super::talk::{Talk, many};
use clap::{ArgMatches, Command};
use partita_tools::scan::{Emit, Order};

pub(super) fn command() -> Command {
    let command = Command::new("count")
        .about("Count the rows of a table: reads their keys only, several pages at a time")
        .arg(arguments::table())
        .arg(arguments::filter())
        .arg(arguments::resume());
    arguments::scanning(command)
}

pub(super) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let table = required(matches, "table")?;
    let (filter, select) = (text(matches, "filter"), Reading::keys_only());
    let reading = Reading::of(matches, filter, select, Emit::EveryRow, Order::Any)?;
    let mut talk = Talk::new(&connection);
    let mut running = reading
        .begin::<u64>("count", matches, &connection, table)
        .await?;
    talk.show_progress("rows", arguments::total(matches), false);
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
