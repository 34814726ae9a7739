//! `partita export TABLE FILE|DIR`: a table's rows to files.

use super::watch::{Done, Watch};
use super::{reader_of, run_transfer, say_resume, table};
use crate::args::connection::Connection;
use crate::args::{self, required, text};
use crate::error::{End, Failure};
use crate::progress::{Talk, many};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_tools::formats::{Format, FormatError, Schema};
use partita_tools::transfer::{
    self, Counts, Destination, ExportOptions, Manifest, Progress, TableReader, TableSource,
    TransferError,
};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What a stream that is no file is called.
const STDOUT: &str = "stdout";

/// The format of a file or of the files of a directory.
pub(crate) fn format(help: &'static str) -> Arg {
    let names = Format::ALL.map(Format::extension);
    Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(PossibleValuesParser::new(names))
        .help(help)
}

/// The format that was asked for.
pub(crate) fn format_of(matches: &ArgMatches) -> Option<Format> {
    let name = text(matches, "format")?;
    Format::ALL
        .into_iter()
        .find(|format| format.extension() == name)
}

pub(crate) fn command() -> Command {
    let to = Arg::new("to")
        .required(true)
        .value_name("FILE|DIR")
        .value_parser(value_parser!(PathBuf))
        .help("File or directory to write: a name with a dot in it is a file's; - for stdout");
    let part_rows = Arg::new("part-rows")
        .long("part-rows")
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .default_value("500000")
        .help("Rows of a file in a directory, about; after kill -9 at most so many are read again");
    let command = Command::new("export")
        .about("Write a table's rows to a file, or to several with a manifest")
        .arg(table("table", "TABLE", "Name of the table to read"))
        .arg(to)
        .arg(format(
            "Format of the files [default: by the file's name; jsonl.zst in a directory, jsonl on stdout]",
        ))
        .arg(part_rows)
        .arg(args::dry_run("Only read and count: nothing is written"))
        .arg(args::switch(
            "resume",
            "Go on where an interrupted run stopped, if there was one",
        ));
    super::reading(command).after_help(
        "Rows are in the table's order. csv and parquet have one set of columns for all rows, which is known when all are read:\nthey are fetched into compressed JSON lines first. See docs/format/export.md.",
    )
}

/// Where rows go.
enum To {
    Stdout,
    Files(Destination),
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let (to, format) = destination(matches)?;
    let mut talk = Talk::new(&connection);
    let reader = reader_of(matches, &connection, required(matches, "table")?).await?;
    talk.show_progress("rows", args::total(matches), matches!(to, To::Stdout));
    let watch = Watch::new(talk.bar(), Done::Read);
    let options = ExportOptions {
        format,
        part_rows_max: matches.get_one("part-rows").copied().unwrap_or(u64::MAX),
        resume: matches.get_flag("resume"),
        dry_run: matches.get_flag("dry-run"),
        ..ExportOptions::default()
    };
    let counts = match &to {
        To::Files(to) => to_files(&talk, &watch, &reader, to, &options).await?,
        To::Stdout if options.resume => {
            return Err(Failure::usage("rows to stdout cannot be gone on with"));
        }
        To::Stdout if options.dry_run => {
            let nowhere = Destination::File(PathBuf::new());
            to_files(&talk, &watch, &reader, &nowhere, &options).await?
        }
        To::Stdout if !format.has_columns() => to_stdout(&talk, &watch, &reader, &options).await?,
        To::Stdout => by_way_of_a_file(&talk, &watch, &reader, &options).await?,
    };
    let rows = many(counts.rows_written, "row", "rows");
    talk.end(&match (&to, options.dry_run) {
        (_, true) => format!("{rows} would be written"),
        (To::Stdout, _) => format!("{rows} written"),
        _ => format!("{rows} in {}", many(counts.writes, "file", "files")),
    });
    Ok(End::Done)
}

fn destination(matches: &ArgMatches) -> Result<(To, Format), Failure> {
    let path = matches.get_one::<PathBuf>("to");
    let path = path.ok_or_else(|| Failure::usage("FILE is missing"))?;
    let asked = format_of(matches);
    if path.as_os_str() == "-" {
        return Ok((To::Stdout, asked.unwrap_or(Format::Jsonl)));
    }
    let ends_in_slash = path.as_os_str().to_string_lossy().ends_with(['/', '\\']);
    let is_directory = ends_in_slash || path.is_dir() || path.extension().is_none();
    if is_directory {
        let to = Destination::Directory(path.clone());
        return Ok((To::Files(to), asked.unwrap_or(Format::JsonlZstd)));
    }
    let unknown = || Failure::from(TransferError::UnknownFormat(path.clone()));
    let format = asked
        .or_else(|| Format::of_path(path))
        .ok_or_else(unknown)?;
    Ok((To::Files(Destination::File(path.clone())), format))
}

async fn to_files(
    talk: &Talk,
    watch: &std::sync::Arc<Watch>,
    reader: &TableReader<TableSource>,
    to: &Destination,
    options: &ExportOptions,
) -> Result<Counts, Failure> {
    let observer = watch.observer();
    let transfer = transfer::export(reader, to, options, &observer);
    let failure = match run_transfer(talk, watch, transfer).await {
        Ok(counts) => return Ok(counts),
        Err(failure) => failure,
    };
    let interrupted = |path: &Path| {
        let manifest = Manifest::load(path).ok().flatten();
        manifest.is_some_and(|manifest| manifest.progress != Progress::Complete)
    };
    match failure {
        Failure::Transfer(error) => Err(match *error {
            TransferError::AlreadyThere(path) if interrupted(&path) => {
                let path = path.display();
                Failure::usage(format!(
                    "an interrupted export is in {path}: --resume goes on with it, removing it begins anew"
                ))
            }
            TransferError::OtherJob(path) => Failure::usage(format!(
                "what is in {} was exported with other arguments, or from another table",
                path.display()
            )),
            other => {
                let failure = Failure::from(other);
                say_resume(&failure);
                failure
            }
        }),
        other => {
            say_resume(&other);
            Err(other)
        }
    }
}

async fn to_stdout(
    talk: &Talk,
    watch: &std::sync::Arc<Watch>,
    reader: &TableReader<TableSource>,
    options: &ExportOptions,
) -> Result<Counts, Failure> {
    let observer = watch.observer();
    // These formats have none.
    let columns = Schema::default();
    let (out, form) = (io::stdout(), (options.format, &columns));
    let transfer = transfer::export_stream(reader, out, Path::new(STDOUT), form, &observer);
    let counts = run_transfer(talk, watch, transfer).await;
    counts.map_err(|failure| match failure {
        Failure::Transfer(error) => match *error {
            TransferError::Rows {
                source: FormatError::Io(error),
                ..
            }
            | TransferError::Io { source: error, .. } => Failure::Output(error),
            other => other.into(),
        },
        other => other,
    })
}

/// A format with columns cannot be written before all rows are read.
async fn by_way_of_a_file(
    talk: &Talk,
    watch: &std::sync::Arc<Watch>,
    reader: &TableReader<TableSource>,
    options: &ExportOptions,
) -> Result<Counts, Failure> {
    let directory = tempfile::tempdir().map_err(Failure::Output)?;
    let path = directory.path().join("rows");
    let to = Destination::File(path.clone());
    let observer = watch.observer();
    let transfer = transfer::export(reader, &to, options, &observer);
    let counts = run_transfer(talk, watch, transfer).await?;
    let copied = File::open(path).and_then(|mut file| {
        let mut out = io::stdout();
        io::copy(&mut file, &mut out)?;
        io::Write::flush(&mut out)
    });
    copied.map_err(Failure::Output)?;
    Ok(counts)
}
