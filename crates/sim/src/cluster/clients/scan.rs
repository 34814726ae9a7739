//! A client that scans the whole table in pages, over failures: rows are in order, and none that was not touched is
//! missing. Each page is also a read of every entity in its span.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use partita_load::history::{Outcome, Register, Value};

use super::entity::value;
use super::{Answered, Connection, Load, STABLE_ROWS, TABLE, stable_partition};
use crate::workload::protocol::{TableRequest, page};

/// PartitionKey and RowKey.
type Keys = (String, String);

/// One scan.
pub(super) async fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let top = connection.random.u64(10..120);
    let mut token = String::new();
    let mut last: Option<Keys> = None;
    let mut stable = 0;
    loop {
        let before: Vec<Arc<Register>> = load.entities.all.borrow().clone();
        let request = TableRequest {
            query: format!("$top={top}&{token}"),
            ..TableRequest::new("GET", format!("/{TABLE}()"))
        };
        let start = Instant::now();
        let answer = match connection.send(&request).await? {
            Answered::Got(answer) => answer,
            // The last scan ends with the other clients.
            _ if load.is_over() => return Ok(()),
            _ => continue,
        };
        answer.expect(200).context("scanning")?;
        let page = page(TABLE, &answer)?;
        let rows = page.rows.into_iter().map(|(key, row)| {
            let keys = (key.partition, key.row);
            Ok((keys, value(&row)?))
        });
        let rows = rows.collect::<anyhow::Result<Vec<(Keys, Value)>>>()?;
        check_order(last.as_ref(), &rows)?;
        let is_stable = |(keys, _): &&(Keys, Value)| stable_number(keys).is_some();
        stable += rows.iter().filter(is_stable).count() as u64;
        note(&before, &rows, last.is_none(), page.next.is_none(), start);
        last = rows.into_iter().next_back().map(|(keys, _)| keys).or(last);
        match page.next {
            Some(next) => token = next,
            None => break,
        }
    }
    ensure!(
        stable == STABLE_ROWS,
        "a scan returned {stable} of {STABLE_ROWS} rows that nothing changes"
    );
    load.work.borrow_mut().scans += 1;
    Ok(())
}

/// The number of a row that never changes.
fn stable_number(keys: &Keys) -> Option<u64> {
    keys.0.strip_prefix('s')?.parse().ok()
}

/// Rows come in the order of their keys, and those that never change with their values.
fn check_order(last: Option<&Keys>, rows: &[(Keys, Value)]) -> anyhow::Result<()> {
    let mut previous = last;
    for (keys, value) in rows {
        ensure!(
            previous.is_none_or(|previous| previous < keys),
            "a scan returned {keys:?} after {previous:?}"
        );
        if let Some(number) = stable_number(keys) {
            ensure!(
                *value == number && keys.0 == stable_partition(number),
                "a scan returned {keys:?} with {value}, which nothing wrote"
            );
        }
        previous = Some(keys);
    }
    Ok(())
}

/// Records what a page says of the entities that existed for the clients before it was asked for: those between its
/// first and its last row. Of rows before the first one, the page before told: a page begins with the key in the token,
/// not after the last row of the page before.
fn note(
    registers: &[Arc<Register>],
    rows: &[(Keys, Value)],
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
