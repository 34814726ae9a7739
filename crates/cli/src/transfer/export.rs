//! `partita export TABLE FILE|DIR`: writes the rows of a table to files.

use super::watch::{CountedRows, TransferWatch};
use super::{ReadArgs, run_transfer, suggest_resume};
use crate::args::choice;
use crate::prelude::*;
use clap::builder::TypedValueParser;
use clap::value_parser;
use partita_tools::formats::{Format, FormatError, Schema, Style};
use partita_tools::source::EntitySource;
use partita_tools::transfer::{
    self, Counts, Destination, ExportOptions, TableReader, TransferError,
};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of stdout in messages.
const STDOUT: &str = "stdout";

/// Write the rows of a table to a file, or to several files with a manifest
#[derive(clap::Args)]
#[command(
    after_help = "Rows are in key order. csv and parquet have one set of columns for all rows, which is known once all are read: rows are first stored as compressed JSON lines. See docs/format/export.md."
)]
pub(crate) struct ExportCommand {
    /// Table to read
    table: String,
    /// File or directory to write: a name with an extension is a file, unless a directory has that name; - for stdout
    #[arg(value_name = "FILE|DIR")]
    to: PathBuf,
    /// Format of the files [default: by the name of the file; jsonl.zst in a directory, jsonl on stdout]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    /// Approximate rows of each file in a directory; after kill -9 at most this many are read again
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), default_value_t = 500_000)]
    part_rows: u64,
    /// Leave out Timestamp
    #[arg(long)]
    no_timestamp: bool,
    /// For programs that analyse data: csv without the columns of types, parquet without those of 100 ns
    #[arg(long)]
    plain: bool,
    /// Only look at the destination, read and count: write nothing
    #[arg(long)]
    dry_run: bool,
    /// Resume an interrupted run, if there is one
    #[arg(long)]
    resume: bool,
    /// Discard an interrupted run, and start again
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
    /// Replace an existing file or a finished export
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// The parser of `--format`.
pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    choice(Format::ALL.map(|format| (format.name(), format)))
}

/// Where rows are written.
enum To {
    Stdout,
    Files(Destination),
}

impl AccountCommand for ExportCommand {
    async fn run(self, connection: Connection, mut progress: Progress) -> CommandResult {
        let (to, format) = self.destination()?;
        if self.plain && !format.has_columns() {
            return Err(CommandError::usage(format!(
                "--plain is for csv and parquet, not for {format}"
            )));
        }
        if let To::Files(to) = &to
            && self.overwrite
            && !self.dry_run
            && to.is_replaceable()
        {
            let question = format!("overwrite {}", self.to.display());
            self.confirm.confirm(&question, &mut progress)?;
        }
        let bounds = self.read.scan.bounds();
        let reader = self.read.reader(&connection, &self.table, bounds).await?;
        progress.start_bar("rows", self.read.scan.total, matches!(to, To::Stdout));
        let export = Export {
            watch: TransferWatch::new(progress.bar.clone(), CountedRows::Read),
            progress: &progress,
            reader,
            options: ExportOptions {
                format,
                style: Style {
                    no_timestamp: self.no_timestamp,
                    plain: self.plain,
                },
                part_rows_max: self.part_rows,
                resume: self.resume,
                restart: self.restart,
                overwrite: self.overwrite,
                dry_run: self.dry_run,
                ..ExportOptions::default()
            },
        };
        let counts = match &to {
            To::Files(to) => export.to_files(to).await?,
            To::Stdout if self.resume => {
                return Err(CommandError::usage("an export to stdout cannot be resumed"));
            }
            To::Stdout if self.dry_run => export.count().await?,
            To::Stdout if !format.has_columns() => export.to_stdout().await?,
            To::Stdout => export.to_stdout_by_file().await?,
        };
        let rows = many(counts.rows_written, "row", "rows");
        let end = match (&to, self.dry_run) {
            (_, true) => format!("{rows} would be written"),
            (To::Stdout, _) => format!("{rows} written"),
            _ => format!("{rows} in {}", many(counts.writes, "file", "files")),
        };
        progress.finish(&end, Outcome::Done)
    }
}

impl ExportCommand {
    fn destination(&self) -> Result<(To, Format), CommandError> {
        let path = &self.to;
        if path.as_os_str() == "-" {
            return Ok((To::Stdout, self.format.unwrap_or(Format::Jsonl)));
        }
        let ends_in_slash = path.as_os_str().to_string_lossy().ends_with(['/', '\\']);
        let is_directory = ends_in_slash || path.is_dir() || path.extension().is_none();
        if is_directory {
            let to = Destination::Directory(path.clone());
            return Ok((To::Files(to), self.format.unwrap_or(Format::JsonlZstd)));
        }
        let unknown = || CommandError::from(TransferError::unknown_format(path));
        let format = self
            .format
            .or_else(|| Format::of_path(path))
            .ok_or_else(unknown)?;
        Ok((To::Files(Destination::File(path.clone())), format))
    }
}

struct Export<'a> {
    progress: &'a Progress,
    watch: Arc<TransferWatch>,
    reader: TableReader<EntitySource>,
    options: ExportOptions,
}

impl Export<'_> {
    async fn to_files(&self, to: &Destination) -> Result<Counts, CommandError> {
        let observer = self.watch.observer();
        let transfer = transfer::export(&self.reader, to, &self.options, &observer);
        let error = match run_transfer(self.progress, &self.watch, transfer).await {
            Ok(counts) => return Ok(counts),
            Err(error) => error,
        };
        let is_interrupted = to.is_interrupted();
        if let CommandError::Transfer(cause) = &error {
            let restart = if is_interrupted {
                ": --resume resumes it, --restart starts again"
            } else {
                ""
            };
            match &**cause {
                TransferError::AlreadyThere(path) if is_interrupted => {
                    let path = path.display();
                    let what = format!("{path} has an interrupted export{restart}");
                    return Err(CommandError::usage(what));
                }
                TransferError::AlreadyThere(_) if to.is_replaceable() => {
                    let what = format!("{}: --overwrite replaces it", **cause);
                    return Err(CommandError::usage(what));
                }
                TransferError::OtherJob(path) => {
                    let path = path.display();
                    return Err(CommandError::usage(format!(
                        "{path} has an export with other arguments, or of another table{restart}"
                    )));
                }
                _ => {}
            }
        }
        if is_interrupted {
            suggest_resume(&error);
        }
        Err(error)
    }

    /// A dry run of an export to stdout.
    async fn count(&self) -> Result<Counts, CommandError> {
        let observer = self.watch.observer();
        let counting = transfer::count_rows(&self.reader, &observer);
        run_transfer(self.progress, &self.watch, counting).await
    }

    async fn to_stdout(&self) -> Result<Counts, CommandError> {
        let (observer, options) = (self.watch.observer(), &self.options);
        // These formats have no columns.
        let columns = Schema::default();
        let (out, form) = (io::stdout(), (options.format, options.style, &columns));
        let transfer =
            transfer::export_stream(&self.reader, out, Path::new(STDOUT), form, &observer);
        let counts = run_transfer(self.progress, &self.watch, transfer).await;
        counts.map_err(|error| match error {
            CommandError::Transfer(error) => match *error {
                TransferError::Rows {
                    source: FormatError::Io(error),
                    ..
                }
                | TransferError::Io { source: error, .. } => CommandError::Output(error),
                other => other.into(),
            },
            other => other,
        })
    }

    /// Writes to a temporary file first: a format with columns cannot be written before all rows are read.
    async fn to_stdout_by_file(&self) -> Result<Counts, CommandError> {
        let directory = tempfile::tempdir().map_err(CommandError::Output)?;
        let path = directory.path().join("rows");
        let to = Destination::File(path.clone());
        let observer = self.watch.observer();
        let transfer = transfer::export(&self.reader, &to, &self.options, &observer);
        let counts = run_transfer(self.progress, &self.watch, transfer).await?;
        let copied = File::open(path).and_then(|mut file| {
            let mut out = io::stdout();
            io::copy(&mut file, &mut out)?;
            io::Write::flush(&mut out)
        });
        copied.map_err(CommandError::Output)?;
        Ok(counts)
    }
}
