//! `cargo harness latency-under-change`: client latency during splits, merges and snapshots of a fully loaded server.
//!
//! The test fills the store and splits it into ranges of about equal size. Then half of the connections insert and half
//! read, each always with a request under way: first without changes, then while ranges split and merge as fast as the
//! server allows, then during snapshots. The report has the latencies of the clients, the number of refused requests by
//! reason, and how long writes waited for each change and snapshot, as measured by the server.
//!
//! `cargo harness pressure` compares rows; this test does not.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use partita_bench::{
    Account, LoadResult, LoadRun, ServerProcess, Workload, WorkloadKind, admin, open_admin_port,
    park_for, partita_command, prepare,
};

use changes::{Changes, REFUSED_MAX};
use snapshots::Snapshots;

use crate::pressure::{TRANSIT_MAX_MS, TRANSIT_P99_MS};
use crate::rows;
use crate::setup::{self, ServerProgram, scratch};

mod changes;
mod snapshots;

/// Duration of the load before measuring starts.
const WARM_UP: Duration = Duration::from_secs(2);

/// Measure client latency during splits, merges and snapshots under full load
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of splits and merges
    #[arg(long, default_value_t = 200)]
    changes: u64,
    /// Number of snapshots, after the changes
    #[arg(long, default_value_t = 10)]
    snapshots: usize,
    /// Rows in the store, MiB
    #[arg(long, default_value_t = 1_024)]
    mib: u64,
    /// Maximum number of ranges; the minimum is half of it. With fewer ranges, each range is larger
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..))]
    ranges: u16,
    /// Connections: half insert, half read
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Let all connections insert and none read
    #[arg(long)]
    inserts_only: bool,
    /// Seed of the choice of ranges
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if writes wait for changes longer than 300 ms (p99) or 1 s (maximum); needs an idle machine
    #[arg(long)]
    check_times: bool,
    #[command(flatten)]
    server: ServerProgram,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let directory = scratch("latency")?;
    let mut command = partita_command(&arguments.server.path()?, directory.path());
    let admin = open_admin_port(&mut command)?;
    // Without automatic splits and merges: only this test changes ranges.
    command.args(["--balance", "off"]);
    let server = setup::start_command(command)?;
    let outcome = measure(arguments, &server, admin);
    outcome.with_context(|| format!("the server's log:\n{}", server.log()))
}

fn measure(arguments: &Arguments, server: &ServerProcess, admin: SocketAddr) -> anyhow::Result<()> {
    let account = Account::well_known();
    let addr = server.addr();
    prepare(addr, &account, true)?;
    let mut runs = 1..;
    let mut next_run = || runs.next().unwrap_or_default();
    rows::fill(addr, &account, arguments.mib, &mut next_run)?;
    let mut changes = Changes::new(admin, arguments.seed, usize::from(arguments.ranges));
    changes.split_store()?;
    eprintln!(
        "latency-under-change: the store is filled and has {} ranges",
        arguments.ranges
    );
    let load = ClientLoad {
        arguments,
        addr,
        account: &account,
    };
    let quiet = load.run_while(&mut next_run, || {
        park_for(Duration::from_secs(10));
        Ok(())
    })?;
    let changed = load.run_while(&mut next_run, || changes.make(arguments.changes))?;
    admin::await_rewriting(admin)?;
    let mut snapshots = Snapshots::default();
    let make_snapshots = || snapshots.make(admin, arguments.snapshots);
    let pinned = load.run_while(&mut next_run, make_snapshots)?;
    println!(
        "{} connections, {} MiB",
        arguments.connections, arguments.mib
    );
    changes.print();
    snapshots.print();
    println!("| load | requests/s | p50 ms | p99 ms | p99.9 ms | max ms | refused |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
    quiet.print("");
    changed.print(" with changes");
    pinned.print(" with snapshots");
    check(arguments, &changes, &[changed, pinned])
}

/// Inserts and point reads at the same time.
struct ClientLoad<'a> {
    arguments: &'a Arguments,
    addr: SocketAddr,
    account: &'a Account,
}

/// The results of inserts and of point reads, if any.
struct LoadResults {
    inserts: LoadResult,
    gets: Option<LoadResult>,
}

impl LoadResults {
    fn by_name(&self) -> impl Iterator<Item = (&'static str, &LoadResult)> {
        let gets = self.gets.iter().map(|gets| ("gets", gets));
        std::iter::once(("inserts", &self.inserts)).chain(gets)
    }

    fn print(&self, title: &str) {
        for (kind, result) in self.by_name() {
            let [p50, p99, p999, max] =
                [0.5, 0.99, 0.999, 1.0].map(|at| result.latency.quantile_ms(at));
            let refused = result.refused.iter();
            let mut refused: Vec<String> = refused
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            if refused.is_empty() {
                refused.push("0".to_owned());
            }
            println!(
                "| {kind}{title} | {:.0} | {p50:.1} | {p99:.1} | {p999:.1} | {max:.1} | {} |",
                result.requests_per_s(),
                refused.join(", ")
            );
        }
    }
}

impl ClientLoad<'_> {
    /// Loads the server while `work` runs.
    fn run_while(
        &self,
        next_run: &mut impl FnMut() -> u64,
        work: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<LoadResults> {
        let mut workload = |kind| Workload::new(kind, self.account, self.addr, next_run());
        let inserts = workload(WorkloadKind::InsertMany);
        let gets = workload(WorkloadKind::PointGet);
        let parts = if self.arguments.inserts_only { 1 } else { 2 };
        let connections = (self.arguments.connections / parts).max(1);
        let load = |workload| LoadRun {
            warm_up: WARM_UP,
            ..LoadRun::new(workload, connections, Duration::ZERO)
        };
        let (inserting, getting) = (load(&inserts), load(&gets));
        let (inserts, gets) = if self.arguments.inserts_only {
            let (inserts, ()) = inserting.run_while(work)?;
            (inserts, None)
        } else {
            let (inserts, (gets, ())) = inserting.run_while(|| getting.run_while(work))?;
            (inserts, Some(gets))
        };
        Ok(LoadResults { inserts, gets })
    }
}

fn check(arguments: &Arguments, changes: &Changes, results: &[LoadResults]) -> anyhow::Result<()> {
    for (_, result) in results.iter().flat_map(LoadResults::by_name) {
        ensure!(
            result.errors == 0,
            "{} wrong answers, the first: {:?}",
            result.errors,
            result.first_error
        );
    }
    ensure!(
        changes.counts.done() >= arguments.changes,
        "the server refused all changes for {REFUSED_MAX:?}: {}",
        changes.last_refusal
    );
    let [_, p99, max] = changes.counts.waits_ms();
    ensure!(
        !arguments.check_times || p99 <= TRANSIT_P99_MS && max <= TRANSIT_MAX_MS,
        "writes waited for changes longer than {TRANSIT_P99_MS} ms (p99) or {TRANSIT_MAX_MS} ms"
    );
    Ok(())
}
