//! Creates the tables of the workloads, and fills the table for reads.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;

use crate::batch::{self, Batch};
use crate::client::{Client, Request};
use crate::workload::WRITE_PARTITIONS;
use crate::{Account, WorkloadKind, admin, entity};

/// Inserts of one batch: the most the protocol allows.
pub(crate) const BATCH_ROWS: u64 = 100;

/// Connections that fill a table.
const FILLING_CONNECTIONS: u64 = 8;

/// Ranges after [`split`].
pub(crate) const RANGES: usize = 16;

/// Split keys in each of the three tables with many partitions.
const CUTS_EACH: u64 = 5;

/// Creates the tables of all workloads and, with `rows`, inserts the 100,000 rows that are read.
///
/// # Errors
/// When the server refuses.
pub fn prepare(addr: SocketAddr, account: &Account, rows: bool) -> anyhow::Result<()> {
    let mut client = Client::connect(addr, account.clone())?;
    for kind in WorkloadKind::value_variants() {
        create_table(&mut client, kind.table())?;
    }
    if rows {
        for first in (0..entity::PREPARED_ROWS).step_by(BATCH_ROWS as usize) {
            let rows: Vec<u64> = (first..first + BATCH_ROWS).collect();
            insert_batch(&mut client, account, WorkloadKind::PointGet.table(), &rows)?;
        }
    }
    Ok(())
}

/// Splits the tables of a server with an admin port into [`RANGES`] ranges, each table evenly, and waits until the
/// ranges have rewritten the files they share: a measurement must not include that work.
///
/// # Errors
/// When the server refuses, or the ranges still share files after two minutes.
pub(crate) fn split(admin: SocketAddr, account: &Account) -> anyhow::Result<()> {
    let read = (
        WorkloadKind::PointGet,
        entity::PREPARED_ROWS / entity::PARTITION_ROWS,
    );
    let written =
        [WorkloadKind::InsertMany, WorkloadKind::Batch].map(|kind| (kind, WRITE_PARTITIONS));
    for (kind, partitions) in [read].into_iter().chain(written) {
        for cut in 1..=CUTS_EACH {
            let body = serde_json::json!({
                "account": account.name(),
                "table": kind.table(),
                "partition_key": entity::key('p', cut * partitions / (CUTS_EACH + 1)),
            });
            cut_at(admin, &body)?;
        }
    }
    let ranges = admin::ranges(admin)?.ranges.len();
    ensure!(ranges == RANGES, "there are {ranges} ranges, not {RANGES}");
    admin::await_rewriting(admin)
}

/// Splits the range that contains a key. Tries all ranges, as the others refuse the split.
///
/// # Errors
/// When no range is split.
pub(crate) fn cut_at(admin: SocketAddr, body: &serde_json::Value) -> anyhow::Result<()> {
    let mut refused = serde_json::Value::Null;
    for range in admin::ranges(admin)?.ranges {
        let (status, answer) = admin::act(admin, range.id, "split", &body.to_string())?;
        if status == 200 {
            return Ok(());
        }
        refused = answer;
    }
    bail!("no range was split at {body}: {refused}")
}

/// Creates a table unless it exists.
///
/// # Errors
/// When the server refuses for another reason.
pub fn create_table(client: &mut Client, table: &str) -> anyhow::Result<()> {
    let answer = client.post("/Tables", &format!(r#"{{"TableName":"{table}"}}"#))?;
    let status = answer.status;
    ensure!(
        matches!(status, 201 | 204 | 409),
        "creating table {table}: {status} {}",
        answer.text()
    );
    Ok(())
}

/// Inserts rows of one partition, by their numbers.
///
/// # Errors
/// When the server refuses.
pub(crate) fn insert_batch(
    client: &mut Client,
    account: &Account,
    table: &str,
    rows: &[u64],
) -> anyhow::Result<()> {
    let entity = |row: &u64| {
        let (partition_key, row_key) = entity::prepared_keys(*row);
        entity::body(&partition_key, &row_key, *row)
    };
    let entities: Vec<String> = rows.iter().map(entity).collect();
    let inserted = insert_entities(client, account, table, &entities);
    inserted.with_context(|| format!("inserting rows from {:?}", rows.first()))
}

/// Inserts entities of one partition in one batch.
///
/// # Errors
/// When the server refuses.
pub(crate) fn insert_entities(
    client: &mut Client,
    account: &Account,
    table: &str,
    entities: &[String],
) -> anyhow::Result<()> {
    let mut batch = Batch::new(account, client.addr());
    for entity in entities {
        batch.push_insert(table, entity);
    }
    let answer = client.send(&Request {
        content_type: batch::CONTENT_TYPE,
        body: batch.finish().as_bytes(),
        ..Request::new("POST", "/$batch")
    })?;
    let parts = batch::parts(&answer)?;
    let done = parts.iter().filter(|part| part.status == 204).count();
    ensure!(
        done == entities.len(),
        "{}",
        parts.first().map_or("no parts", |part| &part.text)
    );
    Ok(())
}

/// Calls `fill` with each number below `count`, on several connections at the same time.
///
/// # Errors
/// The first error of `fill`.
pub(crate) fn on_connections(
    addr: SocketAddr,
    account: &Account,
    count: u64,
    fill: impl Fn(&mut Client, u64) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let next = AtomicU64::new(0);
    let connection = || -> anyhow::Result<()> {
        let mut client = Client::connect(addr, account.clone())?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            fill(&mut client, number)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..FILLING_CONNECTIONS)
            .map(|_| scope.spawn(connection))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let ended = thread.join();
            ended.map_err(|_| anyhow::anyhow!("a filling thread panicked"))?
        })
    })
}
