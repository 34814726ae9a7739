//! Full write load for a while, then a kill: ready within a second, and not one acknowledged row missing.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use partita_bench::client::Client;
use partita_bench::{Account, LoadRun, Workload, WorkloadKind, create_table};

use super::READY_MAX;
use crate::rows;
use crate::setup;

/// Connections of the load.
const CONNECTIONS: usize = 64;

pub(super) fn run(program: &Path, directory: &Path, load: Duration) -> anyhow::Result<()> {
    let account = Account::well_known();
    let table = WorkloadKind::InsertMany.table();
    let mut server = setup::start(program, directory)?;
    create_table(&mut Client::connect(server.addr(), account.clone())?, table)?;
    let workload = Workload::new(WorkloadKind::InsertMany, &account, server.addr(), 1);
    let result = rows::load_and_kill(&LoadRun::new(&workload, CONNECTIONS, load), &mut server)?;
    ensure!(
        result.errors + result.refusals() == 0,
        "the load had errors: {:?}, {:?}",
        result.first_error,
        result.refused
    );
    let server = setup::start(program, directory)?;
    let ready_ms = server.ready_after().as_millis();
    ensure!(
        server.ready_after() <= READY_MAX,
        "ready after {ready_ms} ms"
    );
    let began = Instant::now();
    let rows = rows::count(&mut Client::connect(server.addr(), account)?, table)?;
    let scan_s = began.elapsed().as_secs_f64();
    let acknowledged = result.requests;
    // Rows whose answers the driver had not read, and rows of requests without an answer: at most two per connection.
    let unknown_max = 2 * CONNECTIONS as u64;
    ensure!(
        (acknowledged..=acknowledged + unknown_max).contains(&rows),
        "{acknowledged} rows were acknowledged, {rows} are stored"
    );
    println!(
        "crash: killed after {} s and {acknowledged} acknowledged inserts; ready after {ready_ms} ms, \
         {rows} rows counted in {scan_s:.1} s",
        load.as_secs()
    );
    Ok(())
}
