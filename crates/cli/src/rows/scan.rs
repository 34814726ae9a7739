//! `partita scan TABLE`: every row.

use crate::args::connection::Connection;
use crate::args::{self, required, selected, text};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{Talk, many};
use crate::scan_session::Reading;
use clap::{ArgMatches, Command};
use partita_tools::scan::{Emit, Order};

pub(crate) fn command() -> Command {
    let command = Command::new("scan")
        .about("Read every row of a table, several pages at a time")
        .arg(args::table())
        .arg(args::filter_flag())
        .arg(args::select())
        .arg(args::etag())
        .arg(args::switch(
            "unordered",
            "Rows as they come, not in the table's order: faster with several jobs",
        ))
        .arg(output::argument())
        .arg(args::resume());
    args::scanning(command)
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let table = required(matches, "table")?;
    let columns = selected(matches);
    let order = if matches.get_flag("unordered") {
        Order::Any
    } else {
        Order::Table
    };
    let select = columns.clone().unwrap_or_default();
    let reading = Reading::of(
        matches,
        text(matches, "filter"),
        select,
        Emit::EveryRow,
        order,
    )?;
    let mut talk = Talk::new(&connection);
    let mut running = reading
        .begin::<()>("scan", matches, &connection, table)
        .await?;
    let mut output = Output::of(matches, Shape::Rows, columns.as_deref());
    talk.show_progress("rows", args::total(matches), true);
    let (mut rows, etag) = (0, matches.get_flag("etag"));
    let outcome = running.run(&talk, |(), batch| {
        for row in &batch.rows {
            output.row(&Shown::Row { row, etag })?;
        }
        rows += batch.rows.len() as u64;
        Ok(rows)
    });
    let outcome = outcome.await;
    if let Err(failure) = outcome {
        if !matches!(failure, Failure::Output(_)) {
            output.end()?;
        }
        running.print_token(&failure);
        return Err(failure);
    }
    output.end()?;
    talk.end(&many(rows, "row", "rows"));
    Ok(End::of_count(rows))
}
