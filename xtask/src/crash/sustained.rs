//! Full write load for a while, then a kill: ready within a second, and not one acknowledged row missing.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::{Client, Request};
use partita_bench::{Account, Load, LoadShape, Workload, WorkloadKind, create_table};

/// Connections of the load.
const CONNECTIONS: usize = 64;

pub(crate) fn run(program: &Path, directory: &Path, load: Duration) -> anyhow::Result<()> {
    let account = Account::well_known();
    let mut server = super::start(program, directory)?;
    let addr = server.addr();
    let mut client = Client::connect(addr, account.clone())?;
    create_table(&mut client, WorkloadKind::InsertMany.table())?;
    let workload = Workload::new(WorkloadKind::InsertMany, &account, addr, 1);
    let shape = LoadShape {
        connections: CONNECTIONS,
        threads: 1,
        warm_up: Duration::ZERO,
        measured: load,
    };
    let mut edges = 0;
    let result = Load {
        addr,
        workload: &workload,
        shape,
    }
    .run(|| {
        edges += 1;
        // The second edge is the end of the load, with a request under way on every connection.
        if edges == 2 { server.kill() } else { Ok(()) }
    })?;
    ensure!(
        result.errors + result.refusals() == 0,
        "the load had errors: {:?}, {:?}",
        result.first_error,
        result.refused
    );
    let server = super::start(program, directory)?;
    let ready_ms = server.ready_after().as_millis();
    let started = Instant::now();
    let rows = count_rows(&mut Client::connect(server.addr(), account)?)?;
    let scan_s = started.elapsed().as_secs_f64();
    let acknowledged = result.requests;
    ensure!(
        rows >= acknowledged,
        "{acknowledged} rows were acknowledged, {rows} are there"
    );
    // Answers not yet read by the driver, and requests not yet answered: two for each connection at most.
    let unknown_max = 2 * CONNECTIONS as u64;
    ensure!(
        rows <= acknowledged + unknown_max,
        "{rows} rows are there, only {acknowledged} were acknowledged"
    );
    println!(
        "crash: killed after {} s and {acknowledged} acknowledged inserts; ready after {ready_ms} ms, \
         {rows} rows counted in {scan_s:.1} s",
        load.as_secs()
    );
    Ok(())
}

fn count_rows(client: &mut Client) -> anyhow::Result<u64> {
    let path = format!("/{}()", WorkloadKind::InsertMany.table());
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
            crate::checkers::stored::escape(partition),
            crate::checkers::stored::escape(row)
        );
    }
}
