//! `partita log tail TABLE PARTITION`: the newest rows, and with `--follow` new rows as they arrive.

use super::LogArgs;
use crate::prelude::*;
use crate::signals::stop_requested;
use crate::units::{Since, parse_duration};
use clap::value_parser;
use futures::TryStreamExt as _;
use partita_client::{DateTime, Entity, FollowOptions, LogTail};
use partita_wire::table::push_value_text;
use std::io::{self, Write as _};
use std::time::Duration;

/// Number of rows to show without `-n` and `--since`.
const ROWS: usize = 10;
/// The largest value of `-n`.
const ROWS_MAX: usize = 100_000;
/// Shortest pause between two polls.
const WAIT_MIN: Duration = Duration::from_millis(10);

/// Show the newest rows of a log, and with --follow new rows as they arrive
#[derive(clap::Args)]
#[command(
    after_help = "Rows are shown newest first; with --follow, oldest first. The time of a row is in its key, from the clock of its writer."
)]
pub(crate) struct TailCommand {
    /// Maximum number of rows, 1 to 100,000 [default: 10, or all with --since]
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..=100_000))]
    lines: Option<u32>,
    /// Continue with new rows as they arrive, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// Only rows since a date-time, or since a duration ago, such as 30s, 10m, 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = Since::parse)]
    since: Option<Since>,
    /// With --follow, longest pause between two polls: pauses begin with 200ms and double while nothing arrives
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, default_value = "2s")]
    interval: Duration,
    /// With --follow, how far each poll looks back for rows that became visible late, for logs with many writers
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, default_value = "0s")]
    late: Duration,
    /// Show only the text of a property, a line for each row [default: Line]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "Line", conflicts_with_all = ["output", "select"])]
    text: Option<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    log: LogArgs,
}

impl AccountCommand for TailCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let mut log = self.log.open(&connection);
        let columns = self.select.names();
        if let Some(names) = columns.clone() {
            log = log.select(names);
        } else if let Some(name) = &self.text {
            log = log.select([name]);
        }
        let selection = Selection {
            lines: self.lines.and_then(|lines| usize::try_from(lines).ok()),
            since: self.since.map(|since| since.time(log.now())),
        };
        let wait_max = self.interval.max(WAIT_MIN);
        let options = FollowOptions {
            late: self.late,
            wait_min: FollowOptions::default().wait_min.min(wait_max),
            wait_max,
        };
        let form = match self.text {
            Some(name) => SinkForm::Text(name),
            None => {
                let output = Output::stdout(self.output, Shape::Rows, columns.as_deref());
                SinkForm::Rows(Box::new(output))
            }
        };
        let mut sink = Sink { form, rows: 0 };
        let ended = if self.follow {
            follow(&log, &selection, options, &mut sink).await
        } else {
            show(&log, &selection, &mut sink).await
        };
        if matches!(ended, Err(CommandError::Output(_))) {
            return ended.map(|()| Outcome::Done);
        }
        let rows = sink.finish()?;
        ended.map_err(|error| error.of_table(log.table().name(), ""))?;
        progress.finish_count(rows, "row", "rows")
    }
}

/// Which existing rows are shown.
struct Selection {
    lines: Option<usize>,
    since: Option<DateTime>,
}

async fn show(log: &LogTail, selection: &Selection, sink: &mut Sink) -> Result<(), CommandError> {
    if let (Some(time), None) = (selection.since, selection.lines) {
        let mut rows = log.since(time);
        while let Some(row) = rows.try_next().await? {
            sink.row(&row)?;
        }
        return Ok(());
    }
    for row in newest(log, selection).await? {
        sink.row(&row)?;
    }
    Ok(())
}

async fn newest(log: &LogTail, selection: &Selection) -> Result<Vec<Entity>, CommandError> {
    let lines = selection.lines;
    let rows = match selection.since {
        None => log.latest(lines.unwrap_or(ROWS)).await,
        Some(time) => log.latest_since(time, lines.unwrap_or(ROWS_MAX)).await,
    };
    Ok(rows?)
}

/// Shows the newest rows and those that arrive, until a signal, which is the normal end.
async fn follow(
    log: &LogTail,
    selection: &Selection,
    options: FollowOptions,
    sink: &mut Sink,
) -> Result<(), CommandError> {
    let mut stop = std::pin::pin!(stop_requested());
    let begin = tokio::select! {
        biased;
        () = &mut stop => return Ok(()),
        begin = newest(log, selection) => begin?,
    };
    for row in begin.iter().rev() {
        sink.row(row)?;
    }
    sink.flush()?;
    // Rows older than --since are never shown, even if the log has no newer row yet.
    let from = selection.since.unwrap_or(DateTime::MIN);
    let mut follow = log.follow_from(from, &begin, options);
    loop {
        let followed = tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            followed = follow.next() => followed?,
        };
        if followed.is_cut {
            message("too many rows since the last poll: only the newest 100,000 are shown");
        }
        for row in &followed.rows {
            sink.row(row)?;
        }
        sink.flush()?;
    }
}

/// The output of rows.
struct Sink {
    form: SinkForm,
    rows: u64,
}

enum SinkForm {
    Rows(Box<Output>),
    /// Only the text of this property.
    Text(String),
}

impl Sink {
    fn row(&mut self, row: &Entity) -> Result<(), CommandError> {
        self.rows += 1;
        match &mut self.form {
            SinkForm::Rows(output) => output.row(&OutputRow::Entity {
                entity: row,
                etag: false,
            }),
            SinkForm::Text(name) => {
                let mut line = String::new();
                if let Some(value) = row.get(name) {
                    push_value_text(value.as_ref(), &mut line);
                }
                line.push('\n');
                let written = io::stdout().write_all(line.as_bytes());
                written.map_err(CommandError::Output)
            }
        }
    }

    fn flush(&mut self) -> Result<(), CommandError> {
        match &mut self.form {
            SinkForm::Rows(output) => output.flush(),
            SinkForm::Text(_) => io::stdout().flush().map_err(CommandError::Output),
        }
    }

    /// Writes the end of the output; returns how many rows were shown.
    fn finish(mut self) -> Result<u64, CommandError> {
        self.flush()?;
        if let SinkForm::Rows(output) = self.form {
            output.finish()?;
        }
        Ok(self.rows)
    }
}
