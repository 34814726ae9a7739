//! How rows are written to a table: mode, progress file, the checks before the transfer, and the last line after it.

use super::progress_file::{Job, ProgressFile, ProgressFileArgs};
use super::run_transfer;
use super::watch::{CountedRows, TransferWatch};
use crate::args::choice;
use crate::args::connection::Connection;
use crate::prelude::*;
use clap::builder::TypedValueParser;
use partita_client::{QueryOptions, TableClient};
use partita_tools::transfer::{Counts, Mode, Observer, TransferError, WriteOptions};
use std::path::PathBuf;
use std::sync::Arc;

/// How rows are written.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// What to do with an existing row: insert fails, merge and replace overwrite it, skip keeps it
    #[arg(long, value_name = "MODE", value_parser = modes(), default_value = "insert")]
    mode: Mode,
    /// Create the table if it does not exist
    #[arg(long)]
    create_table: bool,
    /// Only read and count, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    pub(super) progress_file: ProgressFileArgs,
}

fn modes() -> impl TypedValueParser<Value = Mode> {
    choice([
        ("insert", Mode::Insert),
        ("merge", Mode::Merge),
        ("replace", Mode::Replace),
        ("skip", Mode::SkipExisting),
    ])
}

/// Endpoint and table as one text, from which the name of a progress file is derived. Table names ignore case.
pub(super) fn place(connection: &Connection, table: &str) -> String {
    let endpoint = connection.service.endpoint();
    format!("{endpoint}/{}", table.to_ascii_lowercase())
}

impl TargetArgs {
    /// Runs a resumable transfer: checks the table, transfers the rows, prints the last line.
    pub(super) async fn write(
        &self,
        job: Job<'_>,
        table: &TableClient,
        jobs: usize,
        mut progress: Progress,
        transfer: impl AsyncFnOnce(
            &Progress,
            &WriteOptions,
            &Arc<dyn Observer>,
        ) -> Result<Counts, TransferError>,
    ) -> CommandResult {
        let file = ProgressFile::new(&self.progress_file, self.dry_run, &job)?;
        self.check(table, file.is_resumed, &mut progress).await?;
        let options = self.write_options(jobs, file.path.clone());
        let watch = TransferWatch::new(progress.bar.clone(), CountedRows::Written);
        let observer = watch.observer();
        let running = transfer(&progress, &options, &observer);
        let counts = run_transfer(&progress, &watch, running).await;
        let counts = counts.map_err(|error| file.explain(error))?;
        self.finish(progress, &counts, watch.rows_before())
    }

    /// The options of the transfer.
    pub(super) fn write_options(&self, jobs: usize, state: Option<PathBuf>) -> WriteOptions {
        WriteOptions {
            mode: self.mode,
            jobs,
            create_table: self.create_table,
            state,
            resume: self.progress_file.resume,
            dry_run: self.dry_run,
            ..WriteOptions::default()
        }
    }

    /// Checks that the table exists, and asks before its rows are overwritten. A resumed run has been confirmed
    /// already.
    pub(super) async fn check(
        &self,
        table: &TableClient,
        is_resumed: bool,
        progress: &mut Progress,
    ) -> Result<(), CommandError> {
        if self.dry_run {
            return Ok(());
        }
        let first = QueryOptions::new().page_size(1).select(["PartitionKey"]);
        let is_empty = match table.query_page(&first, None).await {
            Ok(page) => page.continuation().is_none() && page.entities()?.is_empty(),
            Err(error) if error.is_not_found() && self.create_table => true,
            Err(error) if error.is_not_found() => {
                let name = table.name();
                return Err(CommandError::usage(format!(
                    "there is no table {name}: --create-table creates it"
                )));
            }
            // The shared access signature may permit writing only. The table then counts as not empty.
            Err(error) if error.status() == Some(403) => false,
            Err(error) => return Err(error.into()),
        };
        let verb = match self.mode {
            Mode::Merge => "merge",
            Mode::Replace => "replace",
            Mode::Insert | Mode::SkipExisting => return Ok(()),
        };
        if is_empty || is_resumed {
            return Ok(());
        }
        let question = format!("{verb} rows of table {}, which is not empty", table.name());
        self.confirm.confirm(&question, progress)
    }

    /// Writes the last line; `before` is the number of rows that the interrupted run wrote.
    pub(super) fn finish(&self, progress: Progress, counts: &Counts, before: u64) -> CommandResult {
        let rows = many(counts.rows_written, "row", "rows");
        if self.dry_run {
            let requests = many(counts.writes, "request", "requests");
            let end = format!("{rows} would be written in {requests}");
            return progress.finish(&end, Outcome::Done);
        }
        let mut line = format!("{rows} written");
        if counts.rows_skipped > 0 || self.mode == Mode::SkipExisting {
            let skipped = count(counts.rows_skipped);
            line.push_str(&format!(", {skipped} skipped"));
        }
        if before > 0 {
            let before = count(before);
            line.push_str(&format!(" after {before} of the interrupted run"));
        }
        progress.finish(&line, Outcome::Done)
    }
}
