//! How rows are written to a table, and what is asked before.

use crate::args::{self, job_count, switch, text};
use crate::error::Failure;
use crate::progress::{Talk, confirm, count, many};
use clap::{Arg, ArgMatches, Command};
use partita_client::{QueryOptions, TableClient};
use partita_tools::transfer::{Counts, Mode, WriteOptions};
use std::path::PathBuf;

/// Adds the flags.
pub(crate) fn add(command: Command) -> Command {
    let mode = Arg::new("mode")
        .long("mode")
        .value_name("MODE")
        .value_parser(["insert", "merge", "replace", "skip"])
        .default_value("insert")
        .help("What to do with a row that is there already: insert fails, merge and replace overwrite it, skip leaves it");
    let command = command
        .arg(mode)
        .arg(switch("create-table", "Make the table if it is not there"))
        .arg(args::dry_run("Only read and count: nothing is written"))
        .arg(args::yes());
    super::state_file::add(command)
}

/// How the flags want rows to be written.
pub(crate) fn options(matches: &ArgMatches, state: Option<PathBuf>) -> WriteOptions {
    WriteOptions {
        mode: mode(matches),
        jobs: job_count(matches),
        create_table: matches.get_flag("create-table"),
        state,
        resume: matches.get_flag("resume"),
        dry_run: matches.get_flag("dry-run"),
        ..WriteOptions::default()
    }
}

fn mode(matches: &ArgMatches) -> Mode {
    match text(matches, "mode") {
        Some("merge") => Mode::Merge,
        Some("replace") => Mode::Replace,
        Some("skip") => Mode::SkipExisting,
        _ => Mode::Insert,
    }
}

/// Looks whether the table is there, and asks before rows of it are overwritten. Who goes on with a run has been asked.
pub(crate) async fn check(
    matches: &ArgMatches,
    table: &TableClient,
    is_resumed: bool,
) -> Result<(), Failure> {
    if matches.get_flag("dry-run") {
        return Ok(());
    }
    let first = QueryOptions::new().top(1).select(["PartitionKey"]);
    let is_empty = match table.query_page(&first, None).await {
        Ok(page) => page.continuation().is_none() && page.entities()?.is_empty(),
        Err(error) if error.is_not_found() && matches.get_flag("create-table") => true,
        Err(error) if error.is_not_found() => {
            let name = table.name();
            return Err(Failure::usage(format!(
                "there is no table {name}: --create-table makes it"
            )));
        }
        // A signature may allow to write and not to read.
        Err(error) if error.status() == Some(403) => false,
        Err(error) => return Err(error.into()),
    };
    let overwrites = matches!(mode(matches), Mode::Merge | Mode::Replace);
    if is_empty || is_resumed || !overwrites {
        return Ok(());
    }
    let what = format!(
        "{} rows of table {}, which is not empty",
        text(matches, "mode").unwrap_or_default(),
        table.name()
    );
    confirm(&what, matches.get_flag("yes"))
}

/// The last line.
pub(crate) fn end(talk: Talk, matches: &ArgMatches, counts: &Counts, before: u64) {
    let rows = many(counts.rows_written, "row", "rows");
    if matches.get_flag("dry-run") {
        let requests = many(counts.writes, "request", "requests");
        talk.end(&format!("{rows} would be written in {requests}"));
        return;
    }
    let mut line = format!("{rows} written");
    if counts.rows_skipped > 0 || text(matches, "mode") == Some("skip") {
        let skipped = count(counts.rows_skipped);
        line.push_str(&format!(", {skipped} skipped"));
    }
    if before > 0 {
        let before = count(before);
        line.push_str(&format!(" after {before} of the run before"));
    }
    talk.end(&line);
}
