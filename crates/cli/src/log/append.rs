//! `partita log append TABLE PARTITION`: each line of stdin as a row.

use super::LogArgs;
use crate::lines::{Line, lines};
use crate::prelude::*;
use crate::signals::{interruptible, stop_requested};
use partita_client::{Entity, LogTail};
use partita_model::check_property_name;
use partita_model::limits::BATCH_OPERATIONS_MAX;
use partita_tools::batches;
use partita_tools::formats::explain_entity;
use partita_tools::transfer::TargetState;

/// What to do if the table does not exist.
const REMEDY: &str = "; --create-table creates it";

/// Append the lines of stdin to a log, as they arrive
#[derive(clap::Args)]
#[command(
    after_help = "Up to 100 lines that arrive together share one request. Keys contain the time by this machine's clock. In JSON, PartitionKey, RowKey, Timestamp and odata.etag are ignored."
)]
pub(crate) struct AppendCommand {
    /// Property that holds the line
    #[arg(long, value_name = "NAME", default_value = "Line")]
    property: String,
    /// Read each line as a JSON object, whose members become properties
    #[arg(long)]
    json: bool,
    /// Create the table if it does not exist
    #[arg(long)]
    create_table: bool,
    /// Read and check the input, but write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    log: LogArgs,
}

impl AccountCommand for AppendCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let log = self.log.open(&connection);
        let property = self.property.as_str();
        if check_property_name(property).is_err() {
            let what = format!("{property:?} is not a valid property name");
            return Err(CommandError::usage(what));
        }
        if self.create_table && !self.dry_run {
            let name = log.table().name();
            connection.service.create_table_if_not_exists(name).await?;
        }
        if self.dry_run && !self.create_table {
            let state = TargetState::of(log.table()).await?;
            if state == TargetState::Missing {
                let name = log.table().name();
                let what = format!("table {name} does not exist{REMEDY}");
                return Err(CommandError::usage(what));
            }
        }
        progress.start_bar("rows", None, false);
        let property = (!self.json).then_some(property);
        let mut appender = Appender {
            log: (!self.dry_run).then_some(log),
            progress: &progress,
            rows: 0,
        };
        let appended = appender.append_stdin(property).await;
        let found = appender.rows;
        let rows = many(found, "row", "rows");
        progress.bar.hide();
        if let Err(error) = appended {
            if found > 0 && !self.dry_run {
                message(&format!("{rows} appended before the error"));
            }
            return Err(error);
        }
        let mut end = format!("{rows} appended");
        if self.dry_run {
            message(&format!("{rows} would be appended"));
            "0 rows appended".clone_into(&mut end);
        }
        progress.finish(&end, Outcome::of_count(found))
    }
}

/// Makes a row from a line. The line becomes the value of `property`; if that is `None`, the line is a row as JSON.
fn row(property: Option<&str>, (number, line): &Line) -> Result<Entity, CommandError> {
    let Some(property) = property else {
        return Entity::read(line.as_bytes()).map_err(|error| {
            let why = explain_entity(line).unwrap_or_else(|| error.to_string());
            CommandError::usage(format!("line {number} of the input is invalid: {why}"))
        });
    };
    let mut row = Entity::default();
    row.insert(property, line.as_str());
    Ok(row)
}

struct Appender<'a> {
    /// The log to append to; `None` on a dry run.
    log: Option<LogTail>,
    progress: &'a Progress,
    rows: u64,
}

impl Appender<'_> {
    /// Appends until stdin ends, or until a signal. A signal does not abort the current request.
    async fn append_stdin(&mut self, property: Option<&str>) -> Result<(), CommandError> {
        let mut lines = lines(std::io::stdin())?;
        let mut stop = std::pin::pin!(stop_requested());
        loop {
            let taken = interruptible(&mut stop, lines.recv()).await?;
            let Some(taken) = taken else { return Ok(()) };
            let mut taken = taken?;
            // Lines that arrived during the last request share the next one.
            let mut read_error = None;
            while taken.len() < BATCH_OPERATIONS_MAX && read_error.is_none() {
                match lines.try_recv() {
                    Ok(Ok(more)) => taken.extend(more),
                    Ok(Err(error)) => read_error = Some(error),
                    Err(_) => break,
                }
            }
            self.append(&taken, property).await?;
            if let Some(error) = read_error {
                return Err(error);
            }
        }
    }

    /// Appends lines, up to the first invalid one.
    async fn append(&mut self, lines: &[Line], property: Option<&str>) -> Result<(), CommandError> {
        let mut rows = Vec::with_capacity(lines.len());
        let mut invalid = None;
        for line in lines {
            match row(property, line) {
                // Placeholder keys as long as those that the log assigns, because keys count towards the size of a
                // batch.
                Ok(row) => rows.push(row.with_keys("", format!("{:028}", line.0))),
                Err(error) => {
                    invalid = Some(error);
                    break;
                }
            }
        }
        for batch in batches(rows) {
            let count = batch.len() as u64;
            if let Some(log) = &self.log {
                let appended = log.append_all(batch).await;
                let of_table =
                    |error| CommandError::from(error).of_table(log.table().name(), REMEDY);
                appended.map_err(of_table)?;
            }
            self.rows += count;
            self.progress.bar.set_position(self.rows);
        }
        invalid.map_or(Ok(()), Err)
    }
}
