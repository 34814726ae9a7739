//! Inserts and counts gigabytes of rows, and runs loads that end with a kill.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use partita_bench::client::{Client, NO_METADATA};
use partita_bench::{Account, LoadResult, LoadRun, ServerProcess, Workload, WorkloadKind};

/// Bytes of a row of the workloads: 1 KiB entities.
const ROW_BYTES: u64 = 1_024;

/// Inserts transactions until `mib` MiB of rows are stored; returns their number. `next_run` gives a number that no other load on
/// this server uses.
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
        let result = LoadRun::new(&workload, 16, Duration::from_secs(1)).run(|| Ok(()))?;
        ensure!(result.errors == 0, "filling: {:?}", result.first_error);
        rows += result.requests * WorkloadKind::Batch.entities();
    }
    Ok(rows)
}

/// Runs a load and kills the server at its end, with a request under way on every connection.
pub(crate) fn load_and_kill(
    load: &LoadRun<'_>,
    server: &mut ServerProcess,
) -> anyhow::Result<LoadResult> {
    // The load calls this at the start and at the end of measuring. The server is killed at the end.
    let mut edges = 0;
    load.run(|| {
        edges += 1;
        if edges == 2 { server.kill() } else { Ok(()) }
    })
}

/// Counts the rows of a table, page by page.
pub(crate) fn count(client: &mut Client, table: &str) -> anyhow::Result<u64> {
    let mut rows = 0;
    let query = format!("{NO_METADATA}&$select=RowKey");
    client.pages(&format!("/{table}()"), &query, |page| {
        rows += page.text().matches(r#""RowKey":"#).count() as u64;
        Ok(())
    })?;
    Ok(rows)
}
