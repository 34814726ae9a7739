//! Makes the tables of the workloads and fills the one that is read.

use std::net::SocketAddr;

use anyhow::ensure;

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
    let mut body =
        "--batch_p\r\nContent-Type: multipart/mixed; boundary=changeset_p\r\n\r\n".to_owned();
    for row in first..first + BATCH_ROWS {
        let (partition_key, row_key) = entity::prepared_keys(row);
        let json = entity::body(&partition_key, &row_key, row);
        body += &format!(
            "--changeset_p\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             POST http://{addr}/{}/{table} HTTP/1.1\r\nContent-Type: application/json\r\n\
             Accept: application/json;odata=minimalmetadata\r\nPrefer: return-no-content\r\n\
             DataServiceVersion: 3.0\r\n\r\n{json}\r\n",
            account.name(),
        );
    }
    body += "--changeset_p--\r\n--batch_p--\r\n";
    let answer = client.send(&Request {
        content_type: "multipart/mixed; boundary=batch_p",
        body: body.as_bytes(),
        ..Request::new("POST", "/$batch")
    })?;
    let done = answer.text().matches("HTTP/1.1 204").count() as u64;
    ensure!(
        answer.status == 202 && done == BATCH_ROWS,
        "preparing rows from {first}: {} {}",
        answer.status,
        answer.text().chars().take(600).collect::<String>()
    );
    Ok(())
}
