//! `partita log append|tail`: partitions as logs, the newest row first.

mod append;
mod lines;
mod tail;

use crate::args::connection::{self, Connection};
use crate::args::{self, required};
use crate::error::{End, Failure};
use clap::{Arg, ArgMatches, Command};
use partita_client::LogTail;

pub(crate) fn command() -> Command {
    let verbs = [append::command(), tail::command()];
    Command::new("log")
        .about("Partitions as logs: rows whose keys count down, so that the newest come first")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(verbs.map(connection::add))
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    match matches.subcommand() {
        Some(("append", matches)) => append::run(matches).await,
        Some(("tail", matches)) => tail::run(matches).await,
        _ => unreachable!("clap lets only known verbs through"),
    }
}

/// Adds table and partition.
fn of_log(command: Command) -> Command {
    let partition = Arg::new("partition")
        .required(true)
        .value_name("PARTITION")
        .help("PartitionKey of the log");
    command.arg(args::table()).arg(partition)
}

fn log(connection: &Connection, matches: &ArgMatches) -> Result<LogTail, Failure> {
    let table = connection.service.table_client(required(matches, "table")?);
    Ok(LogTail::new(table, required(matches, "partition")?))
}
