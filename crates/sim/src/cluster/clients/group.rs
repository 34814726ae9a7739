//! A client of groups of four entities of one partition, which only batches change: a group is one register.

use std::time::Instant;

use anyhow::{Context as _, Error};
use partita_load::history::{Action, Outcome, Register};

use super::entity::value;
use super::{Answered, Connection, Load, TABLE, write};
use crate::client::Answer;
use crate::model::{RowChange, Write};
use crate::workload::batch;
use crate::workload::protocol::{TableRequest, escaped, page};

const ROWS: [&str; 4] = ["a", "b", "c", "d"];

/// One request for a random group.
pub(super) async fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let register = load.register(&load.groups, &mut connection.random);
    let action = match connection.random.u32(..100) {
        0..15 => Action::Insert(load.value()),
        15..45 => Action::Upsert(load.value()),
        45..55 => Action::Delete,
        _ => Action::Scan,
    };
    if action == Action::Scan {
        let start = Instant::now();
        if let Answered::Got(answer) = connection.send(&query(&register)).await?
            && let Some(outcome) = read_outcome(&register, &answer)?
        {
            register.add_scan(start, outcome);
        }
        return Ok(());
    }
    let Some(ticket) = register.begin(action) else {
        return Ok(());
    };
    let request = batch::request(&writes(&register, action));
    match connection.send(&request).await? {
        Answered::Got(answer) => {
            let outcome = outcome(&answer)?;
            register.end(&ticket, outcome);
            if outcome == Outcome::Done {
                load.acknowledged();
            }
        }
        Answered::Refused => register.end(&ticket, Outcome::Refused),
        Answered::Unknown => {}
    }
    Ok(())
}

fn outcome(answer: &Answer) -> anyhow::Result<Outcome> {
    answer.expect(202).context("a batch")?;
    let parts = batch::parts(answer)?;
    let refused = parts.iter().find(|part| part.status >= 300);
    let outcome = Outcome::of_batch(refused.map(|part| part.status));
    outcome.with_context(|| format!("a batch: {}", answer.text()))
}

fn writes(register: &Register, action: Action) -> Vec<Write> {
    let (change, value) = match action {
        Action::Insert(value) => (RowChange::Insert, value),
        Action::Delete => (RowChange::Delete, 0),
        Action::Upsert(value) | Action::Swap { to: value, .. } => {
            (RowChange::InsertOrReplace, value)
        }
        Action::Read | Action::Scan => return Vec::new(),
    };
    let write = |row| Write {
        if_match: (change == RowChange::Delete).then(|| "*".to_owned()),
        ..write(&register.name, row, change, value)
    };
    ROWS.into_iter().map(write).collect()
}

/// The query that reads a group.
pub(super) fn query(register: &Register) -> TableRequest {
    let filter = format!("PartitionKey eq '{}'", register.name);
    TableRequest {
        query: format!("$filter={}&", escaped(&filter)),
        ..TableRequest::new("GET", format!("/{TABLE}()"))
    }
}

/// What the answer to the query says. `None`: the page ended early.
///
/// # Errors
/// A batch was executed in part.
pub(super) fn read_outcome(
    register: &Register,
    answer: &Answer,
) -> anyhow::Result<Option<Outcome>> {
    answer.expect(200).context("querying a group")?;
    let page = page(TABLE, answer)?;
    // A page that ends early is of one moment, and the next one of another.
    if page.next.is_some() {
        return Ok(None);
    }
    let values = page.rows.iter().map(|(_, row)| value(row));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let outcome = register.outcome_of_group(ROWS.len(), &values);
    outcome.map(Some).map_err(Error::msg)
}
