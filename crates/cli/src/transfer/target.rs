//! How rows are written to a table: mode, progress file, the checks before the transfer, and the last line after it.

use super::progress_file::{Job, ProgressFile, ProgressFileArgs};
use super::run_transfer;
use super::watch::{CountedRows, TransferWatch};
use crate::args::choice;
use crate::args::connection::Connection;
use crate::prelude::*;
use clap::builder::TypedValueParser;
use partita_client::TableClient;
use partita_tools::transfer::{Counts, Mode, Observer, TargetState, TransferError, WriteOptions};
use std::path::PathBuf;
use std::sync::Arc;

/// How rows are written.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// What to do with an existing row: insert fails, merge and replace overwrite it, skip keeps it
    #[arg(long, value_name = "MODE", value_parser = modes(), default_value = "insert")]
    mode: Mode,
    /// Overwrite existing rows: the same as --mode replace
    #[arg(long, conflicts_with = "mode")]
    overwrite: bool,
    /// Create the table if it does not exist
    #[arg(long)]
    create_table: bool,
    /// Only read the source, look up its rows in the table, and count: write nothing
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
    /// What is done with existing rows.
    fn mode(&self) -> Mode {
        if self.overwrite {
            Mode::Replace
        } else {
            self.mode
        }
    }

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
        let file = ProgressFile::new(&self.progress_file, (self.dry_run, self.mode()), &job)?;
        let before = self.check(table, file.is_resumed, &mut progress).await?;
        let options = self.write_options(jobs, file.path.clone());
        let watch = TransferWatch::new(progress.bar.clone(), CountedRows::Written);
        let observer = watch.observer();
        let running = transfer(&progress, &options, &observer);
        let counts = run_transfer(&progress, &watch, running).await;
        let counts = counts.map_err(|error| file.explain(error))?;
        self.finish(progress, (table, before), &counts, watch.rows_before())
    }

    /// The options of the transfer.
    pub(super) fn write_options(&self, jobs: usize, state: Option<PathBuf>) -> WriteOptions {
        WriteOptions {
            mode: self.mode(),
            jobs,
            create_table: self.create_table,
            state,
            resume: self.progress_file.resume,
            dry_run: self.dry_run,
            ..WriteOptions::default()
        }
    }

    /// Checks that the table exists, and asks before its rows are overwritten. A dry run checks, but does not ask. A
    /// resumed run has been confirmed already.
    pub(super) async fn check(
        &self,
        table: &TableClient,
        is_resumed: bool,
        progress: &mut Progress,
    ) -> Result<TargetState, CommandError> {
        let name = table.name();
        let state = TargetState::of(table).await?;
        if state == TargetState::Missing && !self.create_table {
            return Err(CommandError::usage(format!(
                "the target table {name} does not exist: --create-table creates it"
            )));
        }
        let verb = match self.mode() {
            Mode::Merge => "merge",
            Mode::Replace => "replace",
            Mode::Insert | Mode::SkipExisting => return Ok(state),
        };
        if state == TargetState::HasRows && !is_resumed && !self.dry_run {
            let question = format!("{verb} rows of table {name}, which is not empty");
            self.confirm.confirm(&question, progress)?;
        }
        Ok(state)
    }

    /// Writes the last line, given the state of the table before. `earlier` is the number of rows that the interrupted
    /// run wrote.
    pub(super) fn finish(
        &self,
        progress: Progress,
        (table, before): (&TableClient, TargetState),
        counts: &Counts,
        earlier: u64,
    ) -> CommandResult {
        let rows = many(counts.rows_written, "row", "rows");
        let mut line = if self.dry_run {
            let requests = many(counts.writes, "request", "requests");
            format!("{rows} would be written in {requests}")
        } else {
            format!("{rows} written")
        };
        if counts.rows_changed > 0 {
            line.push_str(&format!(", {} of them exist", count(counts.rows_changed)));
        }
        if counts.rows_skipped > 0 || self.mode() == Mode::SkipExisting {
            let skipped = count(counts.rows_skipped);
            line.push_str(&format!(", {skipped} skipped"));
        }
        if self.dry_run && before == TargetState::Missing {
            line.push_str(&format!(", table {} would be created", table.name()));
        }
        if earlier > 0 {
            let earlier = count(earlier);
            line.push_str(&format!(" after {earlier} of the interrupted run"));
        }
        progress.finish(&line, Outcome::Done)
    }
}
