//! `partita restore --from URL --location DIR`: a data directory made from a backup.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_server::backup::{Backup, restore};
use serde_json::json;

use super::place;
use crate::command_line as cli;
use crate::output::plain as output;
use crate::snapshot::{as_json, many, size};

const FROM: &str = "from";
const LOCATION: &str = "location";

/// The command.
pub(crate) fn command() -> Command {
    let from = Arg::new(FROM)
        .long(FROM)
        .required(true)
        .value_name("URL")
        .help("The backup: a path, or a URL");
    let location = Arg::new(LOCATION)
        .long(LOCATION)
        .required(true)
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("The data directory to make; not there yet, or empty");
    Command::new("restore")
        .about("Make a data directory from a backup")
        .arg(from)
        .arg(location)
        .arg(cli::output())
        .after_help("Needs no server. Every file is checked as it is read. All is as it was when the snapshot was taken, ETags and\nTimestamps too; then: partita serve --location DIR")
}

/// Runs it.
pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let place = place(matches, FROM)?;
    let directory = matches.get_one::<PathBuf>(LOCATION);
    let directory = std::path::absolute(directory.context("no directory")?)?;
    let (origin, restored) = crate::command_line::run::blocking(async {
        let backup = Backup::open(place.store()?).await;
        let backup = backup.with_context(|| format!("the backup in {place} cannot be restored"))?;
        let origin = backup.origin().clone();
        let restored = restore(&backup, &directory, &|_| {}).await;
        let restored =
            restored.with_context(|| format!("the backup in {place} cannot be restored"))?;
        Ok((origin, restored))
    })?;
    let answer = json!({
        "snapshot": origin.name,
        "created": origin.created.to_string(),
        "rows": restored.rows,
        "bytes": restored.bytes,
    });
    if !as_json(matches, &answer)? {
        output::talk(&format!(
            "restored {} of {}: {}, {}: partita serve --location {}",
            origin.name,
            origin.created,
            many(restored.rows, "row"),
            size(&answer, "bytes"),
            directory.display(),
        ));
    }
    Ok(ExitCode::SUCCESS)
}
