//! Verbs for whoever runs a Partita server: what is hot, where it lies, how it stands, and what can be done to ranges. They ask the
//! admin port, not the tables, so they work on Partita only.
//!
//! With `--output json` each prints what the port said, whole; the other forms are for people and their spreadsheets.

pub(crate) mod connect;
mod heat;
mod hot;
mod ranges;
pub(crate) mod serve;
mod status;

use crate::args::admin_port;
use crate::error::{End, Failure};
use crate::output::{self, Form};
use crate::progress::{Talk, say};
use clap::{ArgMatches, Command};
use partita_client::ValueRef;
use partita_tools::admin::{AdminPort, Answer, Place};
use partita_tools::source::Traffic;
use std::sync::Arc;

/// Whose tables are meant unless told otherwise.
pub(crate) const DEFAULT_ACCOUNT: &str = "devstoreaccount1";

/// The commands.
pub(crate) fn commands() -> [Command; 5] {
    [
        with_port(hot::command()),
        with_port(ranges::command()),
        with_port(heat::command()),
        with_port(status::command()),
        crate::admin::command(),
    ]
}

/// Runs the command of that name.
pub(crate) async fn run(name: &str, matches: &ArgMatches) -> Result<End, Failure> {
    match name {
        "hot" => hot::run(matches).await,
        "ranges" => ranges::run(matches).await,
        "heat" => heat::run(matches).await,
        "status" => status::run(matches).await,
        _ => crate::admin::run(matches).await,
    }
}

/// Adds the flags that say where the admin port is, and how to print what it says.
pub(crate) fn with_port(command: Command) -> Command {
    let admin = admin_port::argument().help_heading("Connection");
    command.arg(output::argument()).arg(admin)
}

/// The admin port, and the talk about what is asked of it.
pub(crate) struct Asking {
    pub(crate) port: AdminPort,
    pub(crate) talk: Talk,
}

impl Asking {
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let traffic = Arc::new(Traffic::default());
        Ok(Self {
            talk: Talk::over(&traffic),
            port: admin_port::of(matches, traffic)?,
        })
    }
}

/// Prints the answer as it came, if that is wanted.
pub(crate) fn printed_whole(matches: &ArgMatches, answer: &Answer) -> Result<bool, Failure> {
    let whole = Form::of(matches) == Form::Json;
    if whole {
        output::print(&answer.text)?;
    }
    Ok(whole)
}

/// A bound of a range in words.
fn bound(place: Option<&Place>, none: &str) -> String {
    place.map_or_else(|| none.to_owned(), Place::to_string)
}

/// Notes that are no data, on stderr.
fn say_all(notes: &[String]) {
    notes.iter().for_each(|note| say(note));
}

/// A count as a column.
fn number(number: u64) -> ValueRef<'static> {
    ValueRef::Int64(i64::try_from(number).unwrap_or(i64::MAX))
}

/// To a tenth, for figures that nobody reads further.
pub(crate) fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
