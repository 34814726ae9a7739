//! `partita import FILE|DIR TABLE`: the rows of files to a table.

use super::state_file::StateFile;
use super::watch::{Done, Watch};
use super::{run_transfer, table, target};
use crate::args::connection::Connection;
use crate::args::{self, required};
use crate::error::{End, Failure};
use crate::progress::Talk;
use clap::{Arg, ArgMatches, Command};
use partita_client::TableClient;
use partita_tools::formats::Format;
use partita_tools::transfer::{self, ImportOptions};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn command() -> Command {
    let from = Arg::new("from")
        .required(true)
        .value_name("FILE|DIR")
        .value_parser(clap::value_parser!(PathBuf))
        .help("File to read, or directory of an export, or - for stdin");
    let command = Command::new("import")
        .about("Write the rows of a file, or of an export, to a table")
        .arg(from)
        .arg(table("table", "TABLE", "Name of the table to write"))
        .arg(super::export::format(
            "Format of the file [default: by its name; jsonl on stdin]",
        ))
        .arg(args::jobs());
    target::add(command).after_help(
        "CSV has typed columns as Azure Storage Explorer writes them; JSON lines are entities as `partita scan` prints them.\nParquet files may be anybody's. Rows from stdin cannot be gone on with.",
    )
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let name = required(matches, "table")?;
    let from = matches.get_one::<PathBuf>("from");
    let from = from.ok_or_else(|| Failure::usage("FILE is missing"))?;
    let talk = Talk::new(&connection);
    let table = connection.service.table_client(name);
    if from.as_os_str() == "-" {
        return of_stdin(matches, talk, &table).await;
    }
    let path = from.canonicalize().map_err(|source| {
        let path = from.clone();
        Failure::from(transfer::TransferError::Io { path, source })
    })?;
    let endpoint = connection.service.endpoint();
    let to = format!("{endpoint}/{}", name.to_ascii_lowercase());
    let state = StateFile::of(matches, "import", &path.to_string_lossy(), &to)?;
    target::check(matches, &table, state.is_resumed).await?;
    let options = ImportOptions {
        format: super::export::format_of(matches),
        load: target::options(matches, state.path.clone()),
    };
    let watch = Watch::new(talk.bar(), Done::Written);
    let observer = watch.observer();
    let transfer = transfer::import(from, &table, &options, &observer);
    let counts = run_transfer(&talk, &watch, transfer).await;
    let counts = counts.map_err(|failure| state.after(failure))?;
    target::end(talk, matches, &counts, watch.rows_before());
    Ok(End::Done)
}

async fn of_stdin(
    matches: &ArgMatches,
    mut talk: Talk,
    table: &TableClient,
) -> Result<End, Failure> {
    if matches.get_flag("resume") || matches.get_one::<PathBuf>("state").is_some() {
        return Err(Failure::usage("rows from stdin cannot be gone on with"));
    }
    let format = super::export::format_of(matches).unwrap_or(Format::Jsonl);
    target::check(matches, table, false).await?;
    let load = target::options(matches, None);
    talk.show_progress("rows", None, false);
    let watch = Watch::new(talk.bar(), Done::Written);
    let (observer, name) = (watch.observer(), Path::new("stdin"));
    let input = io::stdin();
    let transfer = transfer::import_stream(input, (name, format), table, &load, &observer);
    let counts = run_transfer(&talk, &watch, transfer).await?;
    target::end(talk, matches, &counts, 0);
    Ok(End::Done)
}
