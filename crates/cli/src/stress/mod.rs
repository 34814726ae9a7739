//! `partita stress TABLE`: load on a table, what it comes to, and what that says about its keys. `compare` and `page` work on the reports
//! that it writes.
//!
//! - A table that was not there is made, filled, and dropped at the end, unless `--keep`. One that was there needs `--use-existing`: rows
//!   are only added to it, under RowKeys of the run's own, marked with its id, and stay.
//! - Ctrl-C ends a run early, with its report. The second one does not wait for what is under way.

mod compare;
mod files;
mod flags;
mod live;
mod page;
mod run;
mod table;
mod text;

use crate::error::{End, Failure};
use clap::{ArgMatches, Command};

pub(crate) fn command() -> Command {
    flags::add(Command::new("stress"))
        .about("Put load on a table, and say whether its keys would be throttled and what would help")
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .subcommand(compare::command())
        .subcommand(page::command())
        .after_help(
            "Exit code 0: within the targets. 1: over them, refused, or operations failed. 2: there was no run.\n\
             What it costs on Azure: a transaction for each operation and for each 100 rows that are loaded.",
        )
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    match matches.subcommand() {
        Some(("compare", matches)) => compare::run(matches),
        Some((_, matches)) => page::run(matches),
        None => run::run(matches).await,
    }
}
