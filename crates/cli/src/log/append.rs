//! `partita log append TABLE PARTITION`: each line of stdin as a row.

use super::lines::{Line, lines};
use crate::args::connection::Connection;
use crate::args::{self, switch};
use crate::error::{End, Failure};
use crate::progress::{Talk, many, say};
use crate::scan_session::signal;
use clap::{Arg, ArgMatches, Command};
use partita_client::{Entity, LogTail};
use partita_model::check_property_name;
use partita_model::limits::BATCH_OPERATIONS_MAX;
use partita_tools::batches;

pub(crate) fn command() -> Command {
    let property = Arg::new("property")
        .long("property")
        .value_name("NAME")
        .default_value("Line")
        .help("Property that holds the line");
    let command = Command::new("append")
        .about("Append the lines of stdin to a log, as they come")
        .arg(property)
        .arg(switch(
            "json",
            "Each line is a JSON object, whose members become properties",
        ))
        .arg(switch("create-table", "Make the table if it is not there"))
        .arg(args::dry_run("Read and check, and write nothing"));
    super::of_log(command).after_help(
        "Up to 100 lines that are there together go in one request. Keys are made of the time by the clock of this machine; in JSON,\nPartitionKey, RowKey, Timestamp and odata.etag do not count.",
    )
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let log = super::log(&connection, matches)?;
    let property = args::required(matches, "property")?;
    if check_property_name(property).is_err() {
        let what = format!("{property:?} is no name for a property");
        return Err(Failure::Usage(what));
    }
    let mut talk = Talk::new(&connection);
    let dry_run = matches.get_flag("dry-run");
    if matches.get_flag("create-table") && !dry_run {
        let name = log.table().name();
        connection.service.create_table_if_not_exists(name).await?;
    }
    talk.show_progress("rows", None, false);
    let row = RowOf {
        property: (!matches.get_flag("json")).then_some(property),
    };
    let mut appending = Appending {
        log: (!dry_run).then_some(log),
        talk: &talk,
        rows: 0,
    };
    let outcome = appending.all(&row).await;
    let found = appending.rows;
    let rows = many(found, "row", "rows");
    talk.hide_progress();
    if let Err(failure) = outcome {
        if found > 0 && !dry_run {
            say(&format!("{rows} appended before the end"));
        }
        return Err(failure);
    }
    if dry_run {
        say(&format!("{rows} would be appended"));
        talk.end("0 rows appended");
    } else {
        talk.end(&format!("{rows} appended"));
    }
    Ok(End::of_count(found))
}

/// How a line becomes a row.
struct RowOf<'a> {
    /// The property that holds it; none for JSON.
    property: Option<&'a str>,
}

impl RowOf<'_> {
    fn row(&self, (number, line): &Line) -> Result<Entity, Failure> {
        let Some(property) = self.property else {
            let read = Entity::read(line.as_bytes());
            return read.map_err(|error| {
                Failure::usage(format!("line {number} of the input is no row: {error}"))
            });
        };
        let mut row = Entity::default();
        row.insert(property, line.as_str());
        Ok(row)
    }
}

struct Appending<'a> {
    /// None to write nothing.
    log: Option<LogTail>,
    talk: &'a Talk,
    rows: u64,
}

impl Appending<'_> {
    /// Appends until the input ends. A signal lets the request under way come to its end.
    async fn all(&mut self, row: &RowOf<'_>) -> Result<(), Failure> {
        let mut lines = lines(std::io::stdin())?;
        let mut stop = std::pin::pin!(signal());
        loop {
            let taken = tokio::select! {
                biased;
                () = &mut stop => return Err(Failure::Interrupted),
                taken = lines.recv() => taken,
            };
            let Some(taken) = taken else { return Ok(()) };
            let mut taken = taken?;
            // What came during the last request is appended together.
            let mut failure = None;
            while taken.len() < BATCH_OPERATIONS_MAX && failure.is_none() {
                match lines.try_recv() {
                    Ok(Ok(more)) => taken.extend(more),
                    Ok(Err(error)) => failure = Some(error),
                    Err(_) => break,
                }
            }
            self.some(&taken, row).await?;
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
    }

    /// Appends lines, up to the first that is no row.
    async fn some(&mut self, lines: &[Line], row: &RowOf<'_>) -> Result<(), Failure> {
        let mut rows = Vec::with_capacity(lines.len());
        let mut failure = None;
        for line in lines {
            match row.row(line) {
                // Keys as long as those that the log gives them.
                Ok(row) => rows.push(row.with_keys("", format!("{:028}", line.0))),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        for batch in batches(rows) {
            let count = batch.len() as u64;
            if let Some(log) = &self.log {
                log.append_all(batch).await?;
            }
            self.rows += count;
            self.talk.progress(self.rows);
        }
        failure.map_or(Ok(()), Err)
    }
}
