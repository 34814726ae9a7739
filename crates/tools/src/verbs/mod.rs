//! The verbs of the command line that work on any account, one module each. They hold what concerns a terminal: arguments, forms
//! of output, questions, progress. What they do lives in the library's own modules.
//!
//! All of them keep to this:
//! - data on stdout, talk on stderr; the last line of the talk has counts, requests, bytes and time;
//! - exit code 0 done, 1 nothing found, 2 failed;
//! - what destroys asks first, or needs `--yes`;
//! - a scan that is interrupted says how to go on.

mod arguments;
mod connection;
mod count;
mod entity;
mod failure;
mod log;
mod migrate;
mod operate;
mod output;
mod partitions;
mod purge;
mod reading;
mod resume;
mod scan;
mod screen;
mod table;
mod talk;
mod time;

use clap::{ArgMatches, Command};
use failure::{End, Failure};
use std::process::ExitCode;

/// The commands, to be added to a command line.
#[must_use]
pub fn commands() -> Vec<Command> {
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
    ];
    of_nouns
        .into_iter()
        .chain(on_rows.map(connection::add))
        .chain(operate::commands())
        .collect()
}

/// Runs the command of that name, one of [`commands`], on a runtime of its own, and says what went wrong. `None` for any other
/// name.
#[must_use]
pub fn run(name: &str, matches: &ArgMatches) -> Option<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let outcome = match (name, runtime) {
        ("log" | "migrate", Err(error)) => Err(Failure::Input(error)),
        ("table" | "entity" | "scan" | "partitions" | "count" | "purge", Err(error)) => {
            Err(Failure::Input(error))
        }
        ("table", Ok(runtime)) => runtime.block_on(table::run(matches)),
        ("entity", Ok(runtime)) => runtime.block_on(entity::run(matches)),
        ("log", Ok(runtime)) => runtime.block_on(log::run(matches)),
        ("migrate", Ok(runtime)) => runtime.block_on(migrate::run(matches)),
        ("scan", Ok(runtime)) => runtime.block_on(scan::run(matches)),
        ("partitions", Ok(runtime)) => runtime.block_on(partitions::run(matches)),
        ("count", Ok(runtime)) => runtime.block_on(count::run(matches)),
        ("purge", Ok(runtime)) => runtime.block_on(purge::run(matches)),
        ("hot" | "ranges" | "heat" | "status" | "admin", Err(error)) => Err(Failure::Input(error)),
        ("hot" | "ranges" | "heat" | "status" | "admin", Ok(runtime)) => {
            runtime.block_on(operate::run(name, matches))
        }
        _ => return None,
    };
    Some(exit_code(outcome))
}

fn exit_code(outcome: Result<End, Failure>) -> ExitCode {
    match outcome {
        Ok(end) => end.into(),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            talk::say(&format!("error: {}", failure.chain()));
            ExitCode::from(2)
        }
    }
}
