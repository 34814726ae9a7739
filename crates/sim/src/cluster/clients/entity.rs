//! A client of single entities: inserts, upserts, updates with an ETag, deletes and gets.

use anyhow::{Context as _, bail};
use partita_load::history::{Action, Outcome, Register, Value};

use super::{Answered, Connection, Load, TABLE, key, write};
use crate::client::Answer;
use crate::model::{Row, RowChange};
use crate::workload::protocol::{TableRequest, row};

/// One request for a random entity.
pub(super) async fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let register = load.register(&load.entities, &mut connection.random);
    let seen = register.seen();
    let value = load.value();
    let (action, etag) = match (connection.random.u32(..100), &seen) {
        (0..20, _) => (Action::Insert(value), None),
        (20..30, _) => (Action::Upsert(value), None),
        (30..50, Some((expected, etag))) => {
            let expected = *expected;
            let action = Action::Swap {
                expected,
                to: value,
            };
            (action, Some(etag.as_str()))
        }
        (50..60, _) => (Action::Delete, Some("*")),
        _ => (Action::Read, None),
    };
    let Some(ticket) = register.begin(action) else {
        return Ok(());
    };
    let request = request(&register, action, etag, connection.random.bool());
    let answer = match connection.send(&request).await? {
        Answered::Got(answer) => answer,
        Answered::Refused => {
            register.end(&ticket, Outcome::Refused);
            return Ok(());
        }
        Answered::Unknown => return Ok(()),
    };
    let (outcome, value) = match action {
        Action::Read => read_outcome(&answer)?,
        Action::Delete => (outcome(&answer)?, None),
        _ => (outcome(&answer)?, Some(value)),
    };
    register.end(&ticket, outcome);
    if outcome == Outcome::Done {
        load.acknowledged();
    }
    let is_stored = matches!(outcome, Outcome::Done | Outcome::Found(_));
    if let (true, Some(value), Some(etag)) = (is_stored, value, answer.header("etag")) {
        register.saw(value, etag);
    }
    Ok(())
}

fn request(register: &Register, action: Action, etag: Option<&str>, merges: bool) -> TableRequest {
    let (change, value) = match action {
        Action::Read | Action::Scan => return TableRequest::get(&key(&register.name, "r")),
        Action::Insert(value) => (RowChange::Insert, value),
        Action::Upsert(value) if merges => (RowChange::InsertOrMerge, value),
        Action::Upsert(value) => (RowChange::InsertOrReplace, value),
        Action::Swap { to, .. } if merges => (RowChange::Merge, to),
        Action::Swap { to, .. } => (RowChange::Replace, to),
        Action::Delete => (RowChange::Delete, 0),
    };
    let mut write = write(&register.name, "r", change, value);
    write.if_match = etag.map(str::to_owned);
    TableRequest::write(&write)
}

/// What the answer to a write says.
fn outcome(answer: &Answer) -> anyhow::Result<Outcome> {
    Ok(match answer.status {
        201 | 204 => Outcome::Done,
        404 if !answer.text().contains("TableNotFound") => Outcome::Missing,
        409 => Outcome::Exists,
        412 => Outcome::Differs,
        status => bail!("{status} {}", answer.text()),
    })
}

/// What the answer to a get says.
pub(super) fn read_outcome(answer: &Answer) -> anyhow::Result<(Outcome, Option<Value>)> {
    if answer.status != 200 {
        return Ok((outcome(answer)?, None));
    }
    let (_, row) = row(TABLE, answer)?;
    let value = value(&row)?;
    Ok((Outcome::Found(value), Some(value)))
}

/// The value of a row.
pub(super) fn value(row: &Row) -> anyhow::Result<Value> {
    let number = row.values.number;
    let value = number.and_then(|number| Value::try_from(number).ok());
    value.with_context(|| format!("not a row of this test: {row:?}"))
}
