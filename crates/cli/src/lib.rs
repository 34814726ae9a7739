//! The verbs of the command line that work on any account, one module each. They hold what concerns a terminal: arguments, forms
//! of output, questions, progress. What they do lives in `partita-tools`.
//!
//! All of them keep to this:
//! - data on stdout, talk on stderr; the last line of the talk has counts, requests, bytes and time;
//! - exit code 0 done, 1 nothing found or a difference, 2 failed;
//! - what destroys asks first, or needs `--yes`;
//! - what reads or moves whole tables says how to go on when it is interrupted.

mod admin;
mod args;
mod argv0;
mod backup;
mod command_line;
mod config;
mod entity;
mod error;
mod log;
mod migrate;
mod output;
mod progress;
mod resume;
mod rows;
mod scan_session;
mod screen;
mod server;
mod shell;
mod snapshot;
mod stress;
mod table;
mod transfer;
mod units;

pub use command_line::run::main;

use args::connection;
use clap::{ArgMatches, Command};
use error::{End, Failure};
use rows::{count, partitions, purge, scan};
use server as operate;
use std::process::ExitCode;
use transfer as bulk;

/// The commands, to be added to a command line.
#[must_use]
pub(crate) fn commands() -> Vec<Command> {
    let on_rows = [
        scan::command(),
        partitions::command(),
        count::command(),
        purge::command(),
    ];
    let of_nouns = [
        table::command(),
        entity::command(),
        log::command(),
        migrate::command(),
        stress::command(),
    ];
    of_nouns
        .into_iter()
        .chain(on_rows.map(connection::add))
        .chain(operate::commands())
        .chain(bulk::commands().map(connection::add))
        .collect()
}

/// Runs the command of that name, one of [`commands`], on a runtime of its own, and says what went wrong. `None` for any other
/// name.
#[must_use]
pub(crate) fn run(name: &str, matches: &ArgMatches) -> Option<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Some(exit_code(Err(Failure::Input(error)))),
    };
    let outcome = runtime.block_on(run_verb(name, matches))?;
    // A transfer that was stopped at once may have a thread that still writes or waits for input: it ends with the process.
    runtime.shutdown_background();
    Some(exit_code(outcome))
}

async fn run_verb(name: &str, matches: &ArgMatches) -> Option<Result<End, Failure>> {
    Some(match name {
        "table" => table::run(matches).await,
        "entity" => entity::run(matches).await,
        "scan" => scan::run(matches).await,
        "partitions" => partitions::run(matches).await,
        "count" => count::run(matches).await,
        "purge" => purge::run(matches).await,
        "copy" => bulk::copy(matches).await,
        "diff" => bulk::diff(matches).await,
        "export" => bulk::export(matches).await,
        "import" => bulk::import(matches).await,
        "log" => log::run(matches).await,
        "migrate" => migrate::run(matches).await,
        "stress" => stress::run(matches).await,
        "hot" | "ranges" | "heat" | "status" | "admin" => operate::run(name, matches).await,
        _ => return None,
    })
}

fn exit_code(outcome: Result<End, Failure>) -> ExitCode {
    match outcome {
        Ok(end) => end.into(),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let hint = if failure.is_nobody_there() {
                " (is a server there? `partita serve` starts one)"
            } else {
                ""
            };
            progress::say(&format!("error: {}{hint}", failure.chain()));
            ExitCode::from(2)
        }
    }
}
