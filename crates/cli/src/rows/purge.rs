//! `partita purge TABLE FILTER`: deletes every row that passes a filter.

use crate::args::connection::Connection;
use crate::args::{self, bounds, required};
use crate::error::{End, Failure};
use crate::progress::{Talk, confirm, count, many, say};
use crate::scan_session::{Reading, signal};
use clap::{ArgMatches, Command};
use partita_tools::purge::{Deleted, Purge, PurgeCost};
use partita_tools::scan::{Emit, Keyed as _, Order, Strategy};

pub(crate) fn command() -> Command {
    let command = Command::new("purge")
        .about("Delete every row that passes a filter, in batches, after saying what it will cost")
        .arg(args::table())
        .arg(args::filter().required(true))
        .arg(args::dry_run("Only say what it would cost"))
        .arg(args::yes());
    args::scanning(command).after_help(
        "Rows are deleted in the version that was found: one that is written meanwhile is kept. Interrupted, it is gone on\nwith by starting it again. FILTER \"\" means every row; `partita table delete` is cheaper then.",
    )
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let table = required(matches, "table")?;
    let mut talk = Talk::new(&connection);
    let cost = cost(matches, &connection, table, &mut talk).await?;
    talk.hide_progress();
    if cost.rows() == 0 {
        talk.end("0 rows deleted");
        return Ok(End::NothingFound);
    }
    say(&format!(
        "{} in {} match; deleting them takes {}, and finding them again at most {}",
        many(cost.rows(), "row", "rows"),
        many(cost.partitions(), "partition", "partitions"),
        many(cost.requests(), "request", "requests"),
        count(talk.requests()),
    ));
    if matches.get_flag("dry-run") {
        talk.end("0 rows deleted");
        return Ok(End::Done);
    }
    let rows = many(cost.rows(), "row", "rows");
    confirm(
        &format!("delete {rows} of table {table}"),
        matches.get_flag("yes"),
    )?;
    talk.show_progress("rows", Some(cost.rows()), false);
    let deleted = delete(matches, &connection, table, &talk).await?;
    talk.hide_progress();
    if deleted.changed > 0 {
        let changed = many(deleted.changed, "row was", "rows were");
        say(&format!("{changed} written meanwhile and kept"));
    }
    talk.end(&in_words(deleted));
    Ok(End::Done)
}

/// What was deleted, and what somebody else deleted before it was its turn.
fn in_words(deleted: Deleted) -> String {
    let mut words = format!("{} deleted", many(deleted.rows, "row", "rows"));
    if deleted.gone > 0 {
        let gone = many(deleted.gone, "was", "were");
        words.push_str(&format!(", {gone} gone already"));
    }
    words
}

fn reading(matches: &ArgMatches) -> Result<Reading, Failure> {
    let filter = required(matches, "filter")?;
    let select = Reading::keys_only();
    Reading::of(matches, Some(filter), select, Emit::EveryRow, Order::Table)
}

/// Looks for the rows once, counting.
async fn cost(
    matches: &ArgMatches,
    connection: &Connection,
    table: &str,
    talk: &mut Talk,
) -> Result<PurgeCost, Failure> {
    let mut running = reading(matches)?
        .begin::<()>("purge", matches, connection, table)
        .await?;
    talk.show_progress("rows found", None, false);
    let mut cost = PurgeCost::default();
    let counting = running.run(talk, |(), batch| {
        for row in &batch.rows {
            cost.add(row.partition_key());
        }
        Ok(cost.rows())
    });
    counting.await?;
    Ok(cost)
}

/// Looks for the rows again, deleting.
async fn delete(
    matches: &ArgMatches,
    connection: &Connection,
    table: &str,
    talk: &Talk,
) -> Result<Deleted, Failure> {
    let reading = reading(matches)?;
    let jobs = reading.jobs;
    // A request finds ten times as many rows as another deletes, so that finding is never what is waited for.
    let reading = Reading { jobs: 1, ..reading };
    let steps = Strategy::Serial.plan(&bounds(matches), &[], 1);
    let table = connection.service.table_client(table);
    let scan = reading.scan(&table, steps);
    let mut purge = Purge::new(scan, table, jobs);
    let mut done = Deleted::default();
    let mut stop = std::pin::pin!(signal());
    let failure = loop {
        let next = tokio::select! {
            biased;
            () = &mut stop => break Failure::Interrupted,
            next = purge.next() => next,
        };
        match next {
            None => return Ok(done),
            Some(Err(error)) => break error.into(),
            Some(Ok(deleted)) => {
                done.rows += deleted.rows;
                done.gone += deleted.gone;
                done.changed += deleted.changed;
                talk.progress(done.rows + done.gone + done.changed);
            }
        }
    };
    talk.hide_progress();
    let rows = count(done.rows);
    say(&format!(
        "{rows} rows are deleted; start it again to go on with the others"
    ));
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_gone_are_told() {
        let words = |rows, gone| {
            in_words(Deleted {
                rows,
                gone,
                changed: 0,
            })
        };
        assert_eq!(words(1, 0), "1 row deleted");
        assert_eq!(words(2, 1), "2 rows deleted, 1 was gone already");
        assert_eq!(words(0, 1_000), "0 rows deleted, 1,000 were gone already");
    }
}
