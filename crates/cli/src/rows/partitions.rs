//! `partita partitions TABLE`: the distinct PartitionKeys.

use crate::args::connection::Connection;
use crate::args::{self, required};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{Talk, many};
use crate::scan_session::Reading;
use clap::{ArgMatches, Command};
use partita_client::ValueRef;
use partita_tools::scan::{Batch, Emit, Keyed as _, Order, PartitionCount, PartitionCounts};
use partita_tools::source::TableRow;
use serde::{Deserialize, Serialize};

pub(crate) fn command() -> Command {
    let command = Command::new("partitions")
        .about("List the distinct PartitionKeys of a table, skipping from one to the next")
        .arg(args::table())
        .arg(args::switch(
            "count",
            "Count the rows of each too; this reads the keys of all rows",
        ))
        .arg(output::argument())
        .arg(args::resume());
    args::scanning(command)
}

/// What has been counted: partitions shown, and the rows of the one that is not complete.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Counted {
    partitions: u64,
    counts: PartitionCounts,
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let table = required(matches, "table")?;
    let counts_rows = matches.get_flag("count");
    let emit = if counts_rows {
        Emit::EveryRow
    } else {
        Emit::FirstOfPartition
    };
    let reading = Reading::of(matches, None, Reading::keys_only(), emit, Order::Table)?;
    let mut talk = Talk::new(&connection);
    let mut running = reading
        .begin::<Counted>("partitions", matches, &connection, table)
        .await?;
    let mut output = Output::of(matches, Shape::Rows, None);
    talk.show_progress("partitions", None, true);
    let outcome = running.run(&talk, |counted, batch| {
        if counts_rows {
            for count in counted.counts.add(&batch) {
                counted.partitions += 1;
                show_count(&count, &mut output)?;
            }
        } else {
            counted.partitions += batch.rows.len() as u64;
            show_keys(&batch, &mut output)?;
        }
        Ok(counted.partitions)
    });
    let outcome = outcome.await;
    if let Err(failure) = outcome {
        if !matches!(failure, Failure::Output(_)) {
            output.end()?;
        }
        running.print_token(&failure);
        return Err(failure);
    }
    let Counted {
        mut partitions,
        counts,
    } = running.state;
    if let Some(last) = counts.finish() {
        partitions += 1;
        show_count(&last, &mut output)?;
    }
    output.end()?;
    talk.end(&many(partitions, "partition", "partitions"));
    Ok(End::of_count(partitions))
}

fn show_keys(batch: &Batch<TableRow>, output: &mut Output) -> Result<(), Failure> {
    for row in &batch.rows {
        let key = ValueRef::String(row.partition_key());
        output.row(&Shown::Record(&[("PartitionKey", key)]))?;
    }
    Ok(())
}

fn show_count(count: &PartitionCount, output: &mut Output) -> Result<(), Failure> {
    let rows = i64::try_from(count.rows).unwrap_or(i64::MAX);
    output.row(&Shown::Record(&[
        ("PartitionKey", ValueRef::String(&count.partition_key)),
        ("Rows", ValueRef::Int64(rows)),
    ]))
}
