//! Full write load for a while, then a kill: ready within a second, and not one acknowledged row missing.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use partita_bench::client::Client;
use partita_bench::{Account, LoadRun, LoadShape, Workload, WorkloadKind, create_table};

use crate::rows;

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
    let result = LoadRun {
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
    let mut client = Client::connect(server.addr(), account)?;
    let rows = rows::count(&mut client, WorkloadKind::InsertMany.table())?;
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
