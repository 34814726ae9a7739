//! `partita entity insert|get|replace|merge|upsert|delete|query`.

mod delete;
mod get;
mod properties;
mod query;
mod stdin;
mod write;

use crate::args;
use crate::args::connection;
use crate::error::{End, Failure};
use crate::progress::say;
use clap::{Arg, ArgMatches, Command};
use partita_client::{ETag, ErrorCode, IfMatch};

pub(crate) fn command() -> Command {
    let verbs = [
        get::command(),
        query::command(),
        write::command(write::Kind::Insert),
        write::command(write::Kind::Replace),
        write::command(write::Kind::Merge),
        write::command(write::Kind::Upsert),
        delete::command(),
    ];
    Command::new("entity")
        .about("Entities of a table")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(verbs.map(connection::add))
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    match matches.subcommand() {
        Some(("get", matches)) => get::run(matches).await,
        Some(("query", matches)) => query::run(matches).await,
        Some(("insert", matches)) => write::run(write::Kind::Insert, matches).await,
        Some(("replace", matches)) => write::run(write::Kind::Replace, matches).await,
        Some(("merge", matches)) => write::run(write::Kind::Merge, matches).await,
        Some(("upsert", matches)) => write::run(write::Kind::Upsert, matches).await,
        Some(("delete", matches)) => delete::run(matches).await,
        _ => unreachable!("clap lets only known verbs through"),
    }
}

fn key(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).value_name(value).help(match name {
        "partition-key" => "Its PartitionKey; put -- before keys that begin with a hyphen",
        _ => "Its RowKey",
    })
}

/// Adds table and keys.
fn with_keys(command: Command) -> Command {
    command
        .arg(args::table())
        .arg(key("partition-key", "PARTITION-KEY").required(true))
        .arg(key("row-key", "ROW-KEY").required(true))
}

/// The version that a write is meant for.
fn if_match_argument() -> Arg {
    Arg::new("if-match")
        .long("if-match")
        .value_name("ETAG")
        .help("Only if the entity is in this version [default: any]")
}

fn if_match(matches: &ArgMatches) -> IfMatch {
    match args::text(matches, "if-match") {
        None | Some("*") => IfMatch::Any,
        Some(etag) => IfMatch::ETag(ETag::from(etag)),
    }
}

/// Whether the server says that there is no such entity, in a table that is there.
fn is_missing(error: &partita_client::Error) -> bool {
    error.is_not_found() && error.code() != Some(ErrorCode::TableNotFound)
}

/// Says that nothing has these keys.
fn say_missing(partition_key: &str, row_key: &str) {
    say(&format!(
        "there is no entity with PartitionKey {partition_key:?} and RowKey {row_key:?}"
    ));
}
