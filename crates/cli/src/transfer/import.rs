//! `partita import FILE|DIR TABLE`: writes the rows of files to a table.

use super::progress_file::{Job, explain_exists};
use super::run_transfer;
use super::target::{TargetArgs, place};
use super::watch::{CountedRows, TransferWatch};
use crate::args::choice;
use crate::command::{AccountCommand, CommandError, CommandResult, Connection, Progress};
use clap::value_parser;
use partita_client::TableClient;
use partita_tools::formats::{InputFormat, ReadOptions};
use partita_tools::transfer::{self, ImportOptions, TransferError, WriteOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Write the rows of a file, or of an export, to a table
#[derive(clap::Args)]
#[command(
    after_help = "CSV has typed columns as Azure Storage Explorer writes them; JSON lines are entities as `partita scan` prints them, and json is an array of them. Names ending in .gz are compressed with gzip. Parquet files of other programs are accepted.\nRows from stdin cannot be resumed."
)]
pub(crate) struct ImportCommand {
    /// File to read, directory of an export, or - for stdin
    #[arg(value_name = "FILE|DIR")]
    from: PathBuf,
    /// Table to write
    table: String,
    /// Format of the file [default: by its name; jsonl on stdin]
    #[arg(long, value_name = "FORMAT", value_parser = choice(InputFormat::ALL.map(|format| (format.name(), format))))]
    format: Option<InputFormat>,
    /// Character between the columns of a CSV file, or tab [default: , ; | or tab, by the first line]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Parallel requests, 1 to 256
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=256), default_value_t = 4)]
    jobs: u16,
    #[command(flatten)]
    target: TargetArgs,
}

impl AccountCommand for ImportCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let table = connection.service.table_client(&self.table);
        if self.from.as_os_str() == "-" {
            return self.import_stdin(progress, &table).await;
        }
        let named = self.format.or_else(|| InputFormat::of_path(&self.from));
        self.check_delimiter(named)?;
        let path = self.from.canonicalize().map_err(|source| {
            let path = self.from.clone();
            CommandError::from(TransferError::Io { path, source })
        })?;
        let job = Job {
            command: "import",
            from: &path.to_string_lossy(),
            to: &place(&connection, &self.table),
        };
        let import = async |_: &_, load: &WriteOptions, observer: &_| {
            let options = ImportOptions {
                format: self.format,
                delimiter: self.delimiter,
                load: load.clone(),
            };
            transfer::import(&self.from, &table, &options, observer).await
        };
        let jobs = self.jobs.into();
        self.target.write(job, &table, jobs, progress, import).await
    }
}

impl ImportCommand {
    async fn import_stdin(&self, mut progress: Progress, table: &TableClient) -> CommandResult {
        let file = &self.target.progress_file;
        if file.resume || file.state.is_some() {
            return Err(CommandError::usage(
                "an import from stdin cannot be resumed",
            ));
        }
        let read = ReadOptions {
            format: self.format.unwrap_or(InputFormat::Jsonl),
            delimiter: self.delimiter,
        };
        self.check_delimiter(Some(read.format))?;
        let before = self.target.check(table, false, &mut progress).await?;
        let load = self.target.write_options(self.jobs.into(), None);
        progress.start_bar("rows", None, false);
        let watch = TransferWatch::new(progress.bar.clone(), CountedRows::Written);
        let (observer, name) = (watch.observer(), Path::new("stdin"));
        let input = io::stdin();
        let transfer = transfer::import_stream(input, (name, read), table, &load, &observer);
        let counts = run_transfer(&progress, &watch, transfer).await;
        let counts = counts.map_err(|error| match error {
            CommandError::Transfer(cause) if cause.is_existing_row() => {
                explain_exists(&cause, false)
            }
            error => error,
        })?;
        self.target.finish(progress, (table, before), &counts, 0)
    }

    fn check_delimiter(&self, format: Option<InputFormat>) -> Result<(), CommandError> {
        match format {
            Some(format) if self.delimiter.is_some() && !format.has_delimiter() => Err(
                CommandError::usage(format!("--delimiter is for CSV files, not for {format}")),
            ),
            _ => Ok(()),
        }
    }
}

/// The parser of `--delimiter`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err("expected one ASCII character, or tab".to_owned()),
    }
}
