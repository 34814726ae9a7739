//! The verbs that move whole tables: copy, diff, export, import. What they have in common: the rows that they read, how they write
//! them, how they stop and go on.
//!
//! - The first Ctrl-C stops a transfer where it can go on; the second one at once, which loses no more than `kill -9` would.
//! - Exports keep where they stand in their directory, the others in a state file ([`state_file`]).
//! - *Destructive* is what changes rows that were there before: `merge` and `replace` into a table that is not empty. It asks.

mod copy;
mod diff;
mod export;
mod import;
mod state_file;
mod target;
mod watch;

use crate::args::connection::Connection;
use crate::args::{self, bounds, job_count, selected, text};
use crate::error::Failure;
use crate::progress::{Talk, say};
use crate::scan_session::{Reading, signal};
use clap::{Arg, ArgMatches, Command};
use partita_tools::scan::{Bounds, Emit, Order};
use partita_tools::transfer::{TableReader, TableSource, TransferError};
use std::sync::Arc;
use watch::Watch;

pub(crate) use copy::run as copy;
pub(crate) use diff::run as diff;
pub(crate) use export::run as export;
pub(crate) use import::run as import;

/// The commands, without the flags of the first side's connection.
pub(crate) fn commands() -> [Command; 4] {
    [
        copy::command(),
        diff::command(),
        export::command(),
        import::command(),
    ]
}

/// The name of a table.
fn table(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(id).required(true).value_name(value).help(help)
}

/// Adds the flags that say which rows of a table are read, and how.
fn reading(command: Command) -> Command {
    let command = command
        .arg(args::filter_flag())
        .arg(args::select().help("Only these properties and the keys; the keys come in any case"));
    args::scanning(command)
}

/// The rows of a table that the flags say.
async fn reader(
    matches: &ArgMatches,
    connection: &Connection,
    table: &str,
    bounds: Bounds,
) -> Result<TableReader<TableSource>, Failure> {
    let filter = text(matches, "filter");
    let select = selected(matches).unwrap_or_default();
    let reading = Reading::of(matches, filter, select, Emit::EveryRow, Order::Table)?;
    let steps = reading.plan_of(&bounds, matches, connection, table).await?;
    let client = connection.service.table_client(table);
    Ok(TableReader {
        endpoint: connection.service.endpoint().to_string(),
        name: client.name().to_owned(),
        table: Arc::new(TableSource(client)),
        query: reading.query,
        bounds,
        steps,
        jobs: job_count(matches),
    })
}

/// The rows of a table within the bounds of the flags.
async fn reader_of(
    matches: &ArgMatches,
    connection: &Connection,
    table: &str,
) -> Result<TableReader<TableSource>, Failure> {
    reader(matches, connection, table, bounds(matches)).await
}

/// Runs a transfer to its end, or until it has stopped.
async fn run_transfer<T>(
    talk: &Talk,
    watch: &Watch,
    transfer: impl Future<Output = Result<T, TransferError>>,
) -> Result<T, Failure> {
    let mut transfer = std::pin::pin!(transfer);
    let ended = tokio::select! {
        biased;
        () = signal() => None,
        ended = &mut transfer => Some(ended),
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            talk.hide_progress();
            say("stopping where it can go on; once more stops it at once");
            watch.stop();
            tokio::select! {
                biased;
                () = signal() => Err(TransferError::Stopped),
                ended = &mut transfer => ended,
            }
        }
    };
    talk.hide_progress();
    ended.map_err(|error| match error {
        TransferError::Stopped => Failure::Interrupted,
        other => other.into(),
    })
}

/// Says how to go on, if that would be of use.
fn say_resume(failure: &Failure) {
    let is_useful = match failure {
        Failure::Interrupted => true,
        Failure::Transfer(error) => matches!(
            **error,
            TransferError::Read(_) | TransferError::Write { .. } | TransferError::Io { .. }
        ),
        _ => false,
    };
    if is_useful {
        say("to go on from here, repeat the command with --resume");
    }
}
