//! Makes the tables of the workloads and fills the one that is read.

use std::net::SocketAddr;

use anyhow::ensure;

use crate::batch::{self, Batch};
use crate::client::{Client, Request};
use crate::{Account, WorkloadKind, entity};

/// Inserts of one batch: the most the protocol allows.
const BATCH_ROWS: u64 = 100;

/// Makes every workload's table on the server and, when `rows` says so, the 100,000 rows to be read.
///
/// # Errors
/// When the server refuses.
pub fn prepare(addr: SocketAddr, account: &Account, rows: bool) -> anyhow::Result<()> {
    let mut client = Client::connect(addr, account.clone())?;
    for kind in WorkloadKind::ALL {
        create_table(&mut client, kind.table())?;
    }
    if rows {
        for first in (0..entity::PREPARED_ROWS).step_by(BATCH_ROWS as usize) {
            insert_batch(&mut client, addr, account, first)?;
        }
    }
    Ok(())
}

/// Creates a table; one that is there already is fine.
///
/// # Errors
/// When the server refuses for another reason.
pub fn create_table(client: &mut Client, table: &str) -> anyhow::Result<()> {
    let body = format!(r#"{{"TableName":"{table}"}}"#);
    let answer = client.send(&Request {
        content_type: "application/json",
        headers: &[("Prefer", "return-no-content")],
        body: body.as_bytes(),
        ..Request::new("POST", "/Tables")
    })?;
    ensure!(
        matches!(answer.status, 201 | 204 | 409),
        "creating table {table}: {} {}",
        answer.status,
        answer.text()
    );
    Ok(())
}

fn insert_batch(
    client: &mut Client,
    addr: SocketAddr,
    account: &Account,
    first: u64,
) -> anyhow::Result<()> {
    let table = WorkloadKind::PointGet.table();
    let mut batch = Batch::new(account, addr);
    for row in first..first + BATCH_ROWS {
        let (partition_key, row_key) = entity::prepared_keys(row);
        let json = entity::body(&partition_key, &row_key, row);
        batch.push(
            "POST",
            &format!("/{table}"),
            &[("Prefer", "return-no-content")],
            &json,
        );
    }
    let answer = client.send(&Request {
        content_type: batch::CONTENT_TYPE,
        body: &batch.finish(),
        ..Request::new("POST", "/$batch")
    })?;
    let parts = batch::parts(&answer)?;
    let done = parts.iter().filter(|part| part.status == 204).count() as u64;
    ensure!(
        done == BATCH_ROWS,
        "preparing rows from {first}: {}",
        parts.first().map_or("no parts", |part| &part.text)
    );
    Ok(())
}
