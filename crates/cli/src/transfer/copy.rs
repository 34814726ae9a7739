//! `partita copy SRC DST`: a table's rows to another table, of this or another account.

use super::state_file::StateFile;
use super::watch::{Done, Watch};
use super::{reader_of, run_transfer, table, target};
use crate::args::connection::{self, Connection};
use crate::args::{required, total};
use crate::error::{End, Failure};
use crate::progress::Talk;
use clap::{ArgMatches, Command};
use partita_tools::transfer;

pub(crate) fn command() -> Command {
    let command = Command::new("copy")
        .about("Copy a table's rows to another table, of this account or another one")
        .arg(table("source", "SRC", "Name of the table to read"))
        .arg(table("destination", "DST", "Name of the table to write"));
    let command = target::add(super::reading(command));
    connection::add_second(command).after_help(
        "Rows that DST has besides stay. --jobs is how many requests read, and how many write. A row that changes meanwhile\nis copied before or after its change; `partita diff` tells what differs then.",
    )
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let from = Connection::of(matches)?;
    let to = from.second(matches)?;
    let (source, destination) = (
        required(matches, "source")?,
        required(matches, "destination")?,
    );
    let place = |connection: &Connection, table: &str| {
        let endpoint = connection.service.endpoint().to_string();
        format!("{endpoint}/{}", table.to_ascii_lowercase())
    };
    let places = (place(&from, source), place(&to, destination));
    if places.0 == places.1 {
        return Err(Failure::usage("a table cannot be copied to itself"));
    }
    let mut talk = Talk::new(&from);
    let table = to.service.table_client(destination);
    let state = StateFile::of(matches, "copy", &places.0, &places.1)?;
    target::check(matches, &table, state.is_resumed).await?;
    let reader = reader_of(matches, &from, source).await?;
    talk.show_progress("rows", total(matches), false);
    let watch = Watch::new(talk.bar(), Done::Written);
    let (options, observer) = (
        target::options(matches, state.path.clone()),
        watch.observer(),
    );
    let transfer = transfer::copy(&reader, &table, &options, &observer);
    let counts = run_transfer(&talk, &watch, transfer).await;
    let counts = counts.map_err(|failure| state.after(failure))?;
    target::end(talk, matches, &counts, 0);
    Ok(End::Done)
}
