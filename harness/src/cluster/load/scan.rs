//! A client that scans the whole table in pages, over failures: rows are in order, and none that was not touched is
//! missing. Each page is also a read of every entity in its span.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use partita_bench::client::{Request, Response};
use partita_bench::cluster::Connection;
use partita_load::history::{Outcome, Register, Value};

use super::entity::value;
use super::{Load, QUERY, STABLE_ROWS, lock, stable_partition};

/// PartitionKey and RowKey.
type Key = (String, String);

/// One scan.
pub(super) fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let top = 20 + connection.random.below(150);
    let mut token = String::new();
    let mut last: Option<Key> = None;
    let mut stable = 0;
    loop {
        let before: Vec<Arc<Register>> = lock(&load.entities.all).clone();
        let query = format!("$top={top}{token}");
        let request = Request {
            query: &query,
            ..Request::new("GET", QUERY)
        };
        let answer = connection.send_until_answered(&request, || load.is_over());
        let Some((start, answer)) = answer else {
            return Ok(());
        };
        let page = answer.expect(200).context("scanning")?;
        let rows = rows(&page)?;
        let next = page.next_page();
        check_order(last.as_ref(), &rows)?;
        let is_stable = |(key, _): &&(Key, Value)| stable_number(key).is_some();
        stable += rows.iter().filter(is_stable).count() as u64;
        note(&before, &rows, last.is_none(), next.is_none(), start);
        last = rows.into_iter().next_back().map(|(key, _)| key).or(last);
        match next {
            Some(next) => token = format!("&{next}"),
            None => break,
        }
    }
    ensure!(
        stable == STABLE_ROWS,
        "a scan returned {stable} of {STABLE_ROWS} rows that nothing changes"
    );
    Ok(())
}

fn rows(page: &Response) -> anyhow::Result<Vec<(Key, Value)>> {
    let rows = page.entities()?;
    let row = |row: &serde_json::Value| {
        let key = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        Ok(((key("PartitionKey"), key("RowKey")), value(row)?))
    };
    rows.iter().map(row).collect()
}

/// The number of a row that never changes.
fn stable_number(key: &Key) -> Option<u64> {
    key.0.strip_prefix('s')?.parse().ok()
}

/// Rows come in the order of their keys, and those that never change with their values.
fn check_order(last: Option<&Key>, rows: &[(Key, Value)]) -> anyhow::Result<()> {
    let mut previous = last;
    for (key, value) in rows {
        ensure!(
            previous.is_none_or(|previous| previous < key),
            "a scan returned {key:?} after {previous:?}"
        );
        if let Some(number) = stable_number(key) {
            ensure!(
                *value == number && key.0 == stable_partition(number),
                "a scan returned {key:?} with {value}, which nothing wrote"
            );
        }
        previous = Some(key);
    }
    Ok(())
}

/// Records what a page says of the entities that existed for the clients before it was asked for: those between its first
/// and its last row. Of rows before the first one, the page before told: a page begins with the key in the token, not after
/// the last row of the page before.
fn note(
    registers: &[Arc<Register>],
    rows: &[(Key, Value)],
    is_first: bool,
    is_last: bool,
    start: Instant,
) {
    let found: HashMap<&str, Value> = rows
        .iter()
        .map(|((partition, _), value)| (partition.as_str(), *value))
        .collect();
    let first = rows.first().map(|((partition, _), _)| partition.as_str());
    let last = rows.last().map(|((partition, _), _)| partition.as_str());
    for register in registers {
        let name = register.name.as_str();
        let is_after = is_first || first.is_some_and(|first| first <= name);
        let is_before = is_last || last.is_some_and(|last| name <= last);
        let outcome = found
            .get(name)
            .map_or(Outcome::Missing, |value| Outcome::Found(*value));
        if is_after && is_before {
            register.add_scan(start, outcome);
        }
    }
}
