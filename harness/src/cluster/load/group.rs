//! A client of groups of four entities of one partition, which only batches change: a group is one register.

use std::time::Instant;

use anyhow::{Context, Error};
use partita_bench::batch::{self, Batch};
use partita_bench::client::{Request, percent_encode};
use partita_bench::cluster::{Answer, Connection};
use partita_load::history::{Action, Keys, Outcome, Register, Value};

use super::entity::value;
use super::{Load, QUERY, TABLE, json};

const ROWS: [&str; 4] = ["a", "b", "c", "d"];

/// One request for a random group.
pub(super) fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let register = load.register(&load.groups, &mut connection.random);
    let action = match connection.random.below(100) {
        0..15 => Action::Insert(load.value()),
        15..45 => Action::Upsert(load.value()),
        45..55 => Action::Delete,
        _ => Action::Scan,
    };
    if action == Action::Scan {
        if let Some((start, outcome)) = read(connection, &register, || load.is_over())? {
            register.add_scan(start, outcome);
        }
        return Ok(());
    }
    let Some(ticket) = register.begin(action) else {
        return Ok(());
    };
    let body = batch(connection, &register, action);
    let answer = connection.send(&Request {
        content_type: batch::CONTENT_TYPE,
        body: body.as_bytes(),
        ..Request::new("POST", "/$batch")
    });
    match answer {
        Answer::Got(answer) => {
            let parts = batch::parts(&answer)?;
            let refused = parts.iter().find(|part| part.status >= 300);
            let outcome = Outcome::of_batch(refused.map(|part| part.status));
            let outcome = outcome.with_context(|| format!("a batch: {}", answer.text()))?;
            register.end(&ticket, outcome);
        }
        Answer::Refused => register.end(&ticket, Outcome::Refused),
        Answer::Unknown => {}
    }
    Ok(())
}

fn batch(connection: &Connection, register: &Register, action: Action) -> String {
    let mut batch = Batch::new(connection.account(), connection.front());
    for row in ROWS {
        let path = format!("{TABLE}(PartitionKey='{}',RowKey='{row}')", register.name);
        match action {
            Action::Insert(value) => {
                let prefer = [("Prefer", "return-no-content")];
                batch.push("POST", TABLE, &prefer, &json(&register.name, row, value));
            }
            Action::Delete => batch.push("DELETE", &path, &[("If-Match", "*")], ""),
            Action::Upsert(value) | Action::Swap { to: value, .. } => {
                batch.push("PUT", &path, &[], &json(&register.name, row, value));
            }
            Action::Read | Action::Scan => {}
        }
    }
    batch.finish()
}

/// Reads a group by a query until it is answered.
///
/// # Errors
/// A batch was executed in part.
pub(super) fn read(
    connection: &mut Connection,
    register: &Register,
    gives_up: impl Fn() -> bool,
) -> anyhow::Result<Option<(Instant, Outcome)>> {
    let filter = format!("PartitionKey eq '{}'", register.name);
    let query = format!("$filter={}", percent_encode(&filter));
    let request = Request {
        query: &query,
        ..Request::new("GET", QUERY)
    };
    let Some((start, answer)) = connection.send_until_answered(&request, gives_up) else {
        return Ok(None);
    };
    let answer = answer.expect(200).context("querying a group")?;
    // A page that ends early is of one moment, and the next one of another.
    if answer.next_page().is_some() {
        return Ok(None);
    }
    let rows = answer.entities()?;
    let values = rows.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    let outcome = register.outcome_of_group(ROWS.len(), &values);
    Ok(Some((start, outcome.map_err(Error::msg)?)))
}

/// Adds what a snapshot has.
///
/// # Errors
/// It has a part of a batch.
pub(super) fn add_snapshot(
    register: &Register,
    rows: &[(Keys, Value)],
    taken: [Instant; 2],
) -> anyhow::Result<()> {
    let rows = rows.iter();
    let own = rows.filter(|((partition, _), _)| *partition == register.name);
    let values: Vec<Value> = own.map(|(_, value)| *value).collect();
    let outcome = register.outcome_of_group(ROWS.len(), &values);
    register.add_snapshot(taken, outcome.map_err(Error::msg)?);
    Ok(())
}
