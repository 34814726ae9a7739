//! `partita log tail TABLE PARTITION`: the newest rows, and those that come.

use crate::args::connection::Connection;
use crate::args::{self, selected, switch, text};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{Talk, many, say};
use crate::scan_session::signal;
use crate::units;
use clap::{Arg, ArgMatches, Command, value_parser};
use futures::TryStreamExt as _;
use partita_client::{DateTime, Entity, FollowOptions, LogTail};
use partita_wire::table::push_value_text;
use std::io::{self, Write as _};
use std::time::Duration;

/// Rows without `-n` and `--since`.
const ROWS: usize = 10;
/// Most rows to begin a follow with.
const ROWS_MAX: usize = 100_000;
/// The shortest wait between two looks.
const WAIT_MIN: Duration = Duration::from_millis(10);

pub(crate) fn command() -> Command {
    let arg = |name: &'static str, value: &'static str, help: String| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let spans = units::SPAN_HELP;
    let lines = "At most so many rows, 1 to 100,000 [default: 10, or all with --since]";
    let since = format!("Only rows from that time on: a date-time, or a span before now, {spans}");
    let interval = format!(
        "Following, the longest wait between two looks, {spans}: it begins with 200ms and doubles while nothing comes"
    );
    let late = format!(
        "Following, look back so far each time for rows that become visible late, {spans}: for logs with many writers"
    );
    let text = "Only the text of a property, a line for each row [default: Line]";
    let command = Command::new("tail")
        .about("Show the newest rows of a log, and those that come")
        .arg(
            arg("lines", "N", lines.to_owned())
                .short('n')
                .value_parser(value_parser!(u32).range(1..=100_000)),
        )
        .arg(
            switch(
                "follow",
                "Go on with the rows that come, until it is stopped",
            )
            .short('f'),
        )
        .arg(arg("since", "TIME", since))
        .arg(arg("interval", "SPAN", interval).default_value("2s"))
        .arg(arg("late", "SPAN", late).default_value("0s"))
        .arg(
            arg("text", "NAME", text.to_owned())
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("Line")
                .conflicts_with_all(["output", "select"]),
        )
        .arg(args::select())
        .arg(output::argument());
    super::of_log(command).after_help(
        "Rows come newest first; with --follow in the order of their times. Times are those in the keys, by the clocks of the writers.",
    )
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let mut log = super::log(&connection, matches)?;
    if let Some(names) = selected(matches) {
        log = log.select(names);
    } else if let Some(name) = text(matches, "text") {
        log = log.select([name]);
    }
    let since = text(matches, "since").map(|text| units::since(text, log.now()));
    let lines = matches.get_one::<u32>("lines");
    let asked = Asked {
        lines: lines.and_then(|&lines| usize::try_from(lines).ok()),
        since: since.transpose()?,
    };
    let span = |name| units::span(text(matches, name).unwrap_or_default());
    let wait_max = span("interval")?.max(WAIT_MIN);
    let options = FollowOptions {
        late: span("late")?,
        wait_min: FollowOptions::default().wait_min.min(wait_max),
        wait_max,
    };
    let talk = Talk::new(&connection);
    let mut sink = Sink::of(matches);
    let outcome = if matches.get_flag("follow") {
        follow(&log, &asked, options, &mut sink).await
    } else {
        look(&log, &asked, &mut sink).await
    };
    if matches!(outcome, Err(Failure::Output(_))) {
        return outcome.map(|()| End::Done);
    }
    let rows = sink.end()?;
    outcome?;
    talk.end(&many(rows, "row", "rows"));
    Ok(End::of_count(rows))
}

/// Which rows.
struct Asked {
    lines: Option<usize>,
    since: Option<DateTime>,
}

async fn look(log: &LogTail, asked: &Asked, sink: &mut Sink) -> Result<(), Failure> {
    if let (Some(time), None) = (asked.since, asked.lines) {
        let mut rows = log.since(time);
        while let Some(row) = rows.try_next().await? {
            sink.row(&row)?;
        }
        return Ok(());
    }
    for row in newest(log, asked).await? {
        sink.row(&row)?;
    }
    Ok(())
}

async fn newest(log: &LogTail, asked: &Asked) -> Result<Vec<Entity>, Failure> {
    let rows = match asked.since {
        None => log.latest(asked.lines.unwrap_or(ROWS)).await,
        Some(time) => {
            log.latest_since(time, asked.lines.unwrap_or(ROWS_MAX))
                .await
        }
    };
    Ok(rows?)
}

/// Shows what there is and what comes, until a signal: that is how it ends, and no failure.
async fn follow(
    log: &LogTail,
    asked: &Asked,
    options: FollowOptions,
    sink: &mut Sink,
) -> Result<(), Failure> {
    let mut stop = std::pin::pin!(signal());
    let begin = tokio::select! {
        biased;
        () = &mut stop => return Ok(()),
        begin = newest(log, asked) => begin?,
    };
    for row in begin.iter().rev() {
        sink.row(row)?;
    }
    sink.flush()?;
    // Where nothing is so new, what is older does not come either.
    let from = asked.since.unwrap_or(DateTime::MIN);
    let mut follow = log.follow_from(from, &begin, options);
    loop {
        let followed = tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            followed = follow.next() => followed?,
        };
        if followed.is_cut {
            say("more rows came than can be shown: older ones are left out");
        }
        for row in &followed.rows {
            sink.row(row)?;
        }
        sink.flush()?;
    }
}

/// Where rows go.
struct Sink {
    form: Form,
    rows: u64,
}

enum Form {
    Rows(Box<Output>),
    /// The text of that property.
    Text(String),
}

impl Sink {
    fn of(matches: &ArgMatches) -> Self {
        let form = match text(matches, "text") {
            Some(name) => Form::Text(name.to_owned()),
            None => {
                let columns = selected(matches);
                let output = Output::of(matches, Shape::Rows, columns.as_deref());
                Form::Rows(Box::new(output))
            }
        };
        Self { form, rows: 0 }
    }

    fn row(&mut self, row: &Entity) -> Result<(), Failure> {
        self.rows += 1;
        match &mut self.form {
            Form::Rows(output) => output.row(&Shown::Entity {
                entity: row,
                etag: false,
            }),
            Form::Text(name) => {
                let mut line = String::new();
                if let Some(value) = row.get(name) {
                    push_value_text(value.as_ref(), &mut line);
                }
                line.push('\n');
                let written = io::stdout().write_all(line.as_bytes());
                written.map_err(Failure::Output)
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.form {
            Form::Rows(output) => output.flush(),
            Form::Text(_) => io::stdout().flush().map_err(Failure::Output),
        }
    }

    fn end(mut self) -> Result<u64, Failure> {
        self.flush()?;
        if let Form::Rows(output) = self.form {
            output.end()?;
        }
        Ok(self.rows)
    }
}
