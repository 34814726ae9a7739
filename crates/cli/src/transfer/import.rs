//! `partita import FILE|DIR TABLE`: writes the rows of files to a table.

use super::export::formats;
use super::progress_file::Job;
use super::run_transfer;
use super::target::{TargetArgs, place};
use super::watch::{CountedRows, TransferWatch};
use crate::command::{AccountCommand, CommandError, CommandResult, Connection, Progress};
use clap::value_parser;
use partita_client::TableClient;
use partita_tools::formats::Format;
use partita_tools::transfer::{self, ImportOptions, TransferError, WriteOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Write the rows of a file, or of an export, to a table
#[derive(clap::Args)]
#[command(
    after_help = "CSV has typed columns as Azure Storage Explorer writes them; JSON lines are entities as `partita scan` prints them.\nParquet files of other programs are accepted. Rows from stdin cannot be resumed."
)]
pub(crate) struct ImportCommand {
    /// File to read, directory of an export, or - for stdin
    #[arg(value_name = "FILE|DIR")]
    from: PathBuf,
    /// Table to write
    table: String,
    /// Format of the file [default: by its name; jsonl on stdin]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
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
        let format = self.format.unwrap_or(Format::Jsonl);
        self.target.check(table, false, &mut progress).await?;
        let load = self.target.write_options(self.jobs.into(), None);
        progress.start_bar("rows", None, false);
        let watch = TransferWatch::new(progress.bar.clone(), CountedRows::Written);
        let (observer, name) = (watch.observer(), Path::new("stdin"));
        let input = io::stdin();
        let transfer = transfer::import_stream(input, (name, format), table, &load, &observer);
        let counts = run_transfer(&progress, &watch, transfer).await?;
        self.target.finish(progress, &counts, 0)
    }
}
