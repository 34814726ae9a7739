//! Rows by the gigabyte: putting them into a server, and counting what is there.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use partita_bench::client::{Client, Request};
use partita_bench::{Account, LoadRun, LoadShape, Workload, WorkloadKind};

use crate::checkers::stored::escape;

/// Bytes of a row of the workloads: 1 KiB entities.
const ROW_BYTES: u64 = 1_024;

/// Inserts transactions until there are as many MiB of rows as asked for; returns the rows. Each call of `next_run` gives a number
/// that no other load on this server has had.
pub(crate) fn fill(
    addr: SocketAddr,
    account: &Account,
    mib: u64,
    mut next_run: impl FnMut() -> u64,
) -> anyhow::Result<u64> {
    let wanted = (mib << 20) / ROW_BYTES;
    let mut rows = 0;
    while rows < wanted {
        let workload = Workload::new(WorkloadKind::Batch, account, addr, next_run());
        let shape = LoadShape {
            connections: 16,
            threads: 1,
            warm_up: Duration::ZERO,
            measured: Duration::from_secs(1),
        };
        let load = LoadRun {
            addr,
            workload: &workload,
            shape,
        };
        let result = load.run(|| Ok(()))?;
        ensure!(result.errors == 0, "filling: {:?}", result.first_error);
        rows += result.requests * WorkloadKind::Batch.entities();
    }
    Ok(rows)
}

/// Counts the rows of a table, page by page.
pub(crate) fn count(client: &mut Client, table: &str) -> anyhow::Result<u64> {
    let path = format!("/{table}()");
    let mut query = "$select=RowKey".to_owned();
    let mut rows = 0;
    loop {
        let answer = client.send(&Request {
            query: &query,
            headers: &[("Accept", "application/json;odata=nometadata")],
            ..Request::new("GET", &path)
        })?;
        ensure!(
            answer.status == 200,
            "counting: {} {}",
            answer.status,
            answer.text()
        );
        rows += answer.text().matches(r#""RowKey":"#).count() as u64;
        let Some(partition) = answer.header("x-ms-continuation-NextPartitionKey") else {
            return Ok(rows);
        };
        let row = answer
            .header("x-ms-continuation-NextRowKey")
            .context("a token without RowKey")?;
        query = format!(
            "$select=RowKey&NextPartitionKey={}&NextRowKey={}",
            escape(partition),
            escape(row)
        );
    }
}
