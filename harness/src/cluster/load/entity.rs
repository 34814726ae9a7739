//! A client of single entities: inserts, upserts, updates with an ETag, deletes and gets.

use std::time::Instant;

use anyhow::{Context, bail};
use partita_bench::client::{Request, Response};
use partita_bench::cluster::{Answer, Connection};
use partita_load::history::{Action, Keys, Outcome, Register, Value};
use serde_json::Value as Json;

use super::{Load, TABLE, json};

/// One request for a random entity.
pub(super) fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let register = load.register(&load.entities, &mut connection.random);
    let seen = register.seen();
    let value = load.value();
    let (action, etag) = match (connection.random.below(100), &seen) {
        (0..20, _) => (Action::Insert(value), None),
        (20..30, _) => (Action::Upsert(value), None),
        (30..50, Some((expected, etag))) => {
            let expected = *expected;
            (
                Action::Swap {
                    expected,
                    to: value,
                },
                Some(etag.as_str()),
            )
        }
        (50..60, _) => (Action::Delete, Some("*")),
        _ => (Action::Read, None),
    };
    let Some(ticket) = register.begin(action) else {
        return Ok(());
    };
    let merges = connection.random.chance(50);
    let answer = match send(connection, &register, action, etag, merges) {
        Answer::Got(answer) => answer,
        Answer::Refused => {
            register.end(&ticket, Outcome::Refused);
            return Ok(());
        }
        Answer::Unknown => return Ok(()),
    };
    let (outcome, value) = match action {
        Action::Read => read_outcome(&answer)?,
        Action::Delete => (outcome(&answer)?, None),
        _ => (outcome(&answer)?, Some(value)),
    };
    register.end(&ticket, outcome);
    let is_stored = matches!(outcome, Outcome::Done | Outcome::Found(_));
    if let (true, Some(value), Some(etag)) = (is_stored, value, answer.header("etag")) {
        register.saw(value, etag);
    }
    Ok(())
}

fn send(
    connection: &mut Connection,
    register: &Register,
    action: Action,
    etag: Option<&str>,
    merges: bool,
) -> Answer {
    let path = path(register);
    let (method, path, value) = match action {
        Action::Insert(value) => ("POST", TABLE, Some(value)),
        Action::Upsert(value) | Action::Swap { to: value, .. } => {
            (if merges { "MERGE" } else { "PUT" }, &*path, Some(value))
        }
        Action::Delete => ("DELETE", &*path, None),
        Action::Read | Action::Scan => ("GET", &*path, None),
    };
    let body = value.map_or_else(String::new, |value| json(&register.name, "r", value));
    let condition = etag.map(|etag| ("If-Match", etag));
    let prefer = (method == "POST").then_some(("Prefer", "return-no-content"));
    let headers: Vec<(&str, &str)> = condition.into_iter().chain(prefer).collect();
    connection.send(&Request {
        headers: &headers,
        content_type: if body.is_empty() {
            ""
        } else {
            "application/json"
        },
        body: body.as_bytes(),
        ..Request::new(method, path)
    })
}

/// The path of the entity.
pub(super) fn path(register: &Register) -> String {
    format!("{TABLE}(PartitionKey='{}',RowKey='r')", register.name)
}

/// What the answer to a write says.
pub(super) fn outcome(answer: &Response) -> anyhow::Result<Outcome> {
    Ok(match answer.status {
        201 | 202 | 204 => Outcome::Done,
        404 if !answer.text().contains("TableNotFound") => Outcome::Missing,
        409 => Outcome::Exists,
        412 => Outcome::Differs,
        status => bail!("{status} {}", answer.text()),
    })
}

/// What the answer to a get says.
pub(super) fn read_outcome(answer: &Response) -> anyhow::Result<(Outcome, Option<Value>)> {
    if answer.status != 200 {
        return Ok((outcome(answer)?, None));
    }
    let row: Json = serde_json::from_slice(&answer.body).context("reading an entity")?;
    let value = value(&row)?;
    Ok((Outcome::Found(value), Some(value)))
}

/// Adds what a snapshot has.
pub(super) fn add_snapshot(register: &Register, rows: &[(Keys, Value)], taken: [Instant; 2]) {
    let row = rows
        .iter()
        .find(|((partition, _), _)| *partition == register.name);
    let outcome = row.map_or(Outcome::Missing, |(_, value)| Outcome::Found(*value));
    register.add_snapshot(taken, outcome);
}

/// The value of a row.
pub(super) fn value(row: &Json) -> anyhow::Result<Value> {
    let value = row["V"].as_str().and_then(|value| value.parse().ok());
    value.with_context(|| format!("not a row of this test: {row}"))
}
