//! `cargo xtask pauses`: what clients notice of splits, merges and snapshots while the server is fully loaded.
//!
//! The store is filled, and cut into ranges of about equal size. Then half of the connections insert and half read, each always
//! with a request under way, while ranges are split and merged as fast as the server does it. What is reported is the clients' side:
//! how long requests took, and how many were refused and why; beside it how long writes waited for each change by the
//! server's own account, and the same load without changes. Then the same with snapshots.
//!
//! Nothing is compared with what was written: `cargo xtask pressure` does that.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::{
    Account, LoadResult, LoadRun, LoadShape, ServerProcess, Workload, WorkloadKind, admin,
    park_for, partita_command, prepare,
};

use changes::{Changes, REFUSED_MAX};
use snapshots::Snapshots;

use crate::pressure::{TRANSIT_MAX_MS, TRANSIT_P99_MS};
use crate::rows;
use crate::setup::{ServerProgram, scratch};

mod changes;
mod snapshots;

const START_DEADLINE: Duration = Duration::from_secs(30);

/// Load before measuring starts.
const WARM_UP: Duration = Duration::from_secs(2);

/// Measure what clients notice of splits, merges and snapshots under full load
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Splits and merges
    #[arg(long, default_value_t = 200)]
    changes: u64,
    /// Snapshots, after the changes
    #[arg(long, default_value_t = 10)]
    snapshots: usize,
    /// Rows to fill the store with, MiB
    #[arg(long, default_value_t = 1_024)]
    mib: u64,
    /// Ranges at most, and half as many at least; few make each change one of many bytes
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
    /// Fail when requests waited longer than they may: on a quiet machine
    #[arg(long)]
    check_times: bool,
    #[command(flatten)]
    server: ServerProgram,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let directory = scratch("pauses")?;
    let admin = admin::free_port()?;
    let mut command = partita_command(&program, directory.path());
    command.args(["--admin-port", &admin.port().to_string()]);
    // Changes come from here alone.
    command.args(["--balance", "off"]);
    let server = ServerProcess::start(command, START_DEADLINE)?;
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
    let changes = Changes::new(admin, arguments.seed, usize::from(arguments.ranges));
    let changes = cut(changes, admin)?;
    eprintln!(
        "pauses: the store is filled and has {} ranges",
        arguments.ranges
    );
    let load = Both {
        arguments,
        addr,
        account: &account,
    };
    let (quiet, ()) = load.run_while(&mut next_run, || {
        park_for(Duration::from_secs(10));
        Ok(())
    })?;
    let (changed, changes) = load.run_while(&mut next_run, || make(changes, arguments.changes))?;
    admin::await_rewriting(admin)?;
    let mut snapshots = Snapshots::default();
    let (pinned, ()) =
        load.run_while(&mut next_run, || snapshots.take(admin, arguments.snapshots))?;
    println!(
        "{} connections, {} MiB",
        arguments.connections, arguments.mib
    );
    changes.print();
    snapshots.print();
    print(&[
        ("", &quiet),
        (" with changes", &changed),
        (" with snapshots", &pinned),
    ]);
    check(arguments, &changes, &[changed, pinned])
}

/// Cuts the store into as many ranges as there may be, and waits until they have rewritten what they share.
fn cut(mut changes: Changes, admin: SocketAddr) -> anyhow::Result<Changes> {
    while admin::ranges(admin)?.ranges.len() < changes.ranges_max {
        changes.split_largest()?;
        ensure!(
            !changes.are_stuck(),
            "ranges cannot be split: {}",
            changes.last_refusal
        );
    }
    admin::await_rewriting(admin)?;
    changes.forget();
    Ok(changes)
}

/// Makes so many changes, or as many as can be made.
fn make(mut changes: Changes, count: u64) -> anyhow::Result<Changes> {
    let started = Instant::now();
    while changes.done() < count && !changes.are_stuck() {
        let before = changes.done();
        changes.one()?;
        if changes.done() > before && changes.done().is_multiple_of(20) {
            let seconds = started.elapsed().as_secs();
            eprintln!("pauses: {} changes after {seconds} s", changes.done());
        }
    }
    changes.took = started.elapsed();
    Ok(changes)
}

/// Inserts and point reads at the same time.
struct Both<'a> {
    arguments: &'a Arguments,
    addr: SocketAddr,
    account: &'a Account,
}

/// What each half of the connections saw.
struct Seen {
    inserts: LoadResult,
    gets: Option<LoadResult>,
}

impl Seen {
    fn results(&self) -> impl Iterator<Item = (&'static str, &LoadResult)> {
        let gets = self.gets.iter().map(|gets| ("gets", gets));
        std::iter::once(("inserts", &self.inserts)).chain(gets)
    }
}

impl Both<'_> {
    /// Lets both work for as long as `work` takes.
    fn run_while<T>(
        &self,
        next_run: &mut impl FnMut() -> u64,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<(Seen, T)> {
        let mut workload =
            |kind: WorkloadKind| Workload::new(kind, self.account, self.addr, next_run());
        let (inserts, gets) = (
            workload(WorkloadKind::InsertMany),
            workload(WorkloadKind::PointGet),
        );
        let parts = if self.arguments.inserts_only { 1 } else { 2 };
        let load = |workload| LoadRun {
            addr: self.addr,
            workload,
            shape: LoadShape {
                connections: (self.arguments.connections / parts).max(1),
                threads: 1,
                warm_up: WARM_UP,
                measured: Duration::ZERO,
            },
        };
        let (inserting, getting) = (load(&inserts), load(&gets));
        if self.arguments.inserts_only {
            let (inserts, worked) = inserting.run_while(work)?;
            let gets = None;
            return Ok((Seen { inserts, gets }, worked));
        }
        let (inserts, (gets, worked)) = inserting.run_while(|| getting.run_while(work))?;
        let gets = Some(gets);
        Ok((Seen { inserts, gets }, worked))
    }
}

fn print(rows: &[(&str, &Seen)]) {
    println!("| load | requests/s | p50 ms | p99 ms | p99.9 ms | most ms | refused |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
    for (title, seen) in rows {
        for (kind, result) in seen.results() {
            let ms = |quantile| result.latency.quantile_ms(quantile);
            let refused: Vec<String> = result
                .refused
                .iter()
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            println!(
                "| {kind}{title} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
                result.requests_per_s(),
                ms(0.5),
                ms(0.99),
                ms(0.999),
                ms(1.0),
                if refused.is_empty() {
                    "0".to_owned()
                } else {
                    refused.join(", ")
                }
            );
        }
    }
}

fn check(arguments: &Arguments, changes: &Changes, seen: &[Seen]) -> anyhow::Result<()> {
    for (_, result) in seen.iter().flat_map(Seen::results) {
        ensure!(
            result.errors == 0,
            "{} wrong answers, the first: {:?}",
            result.errors,
            result.first_error
        );
    }
    ensure!(
        changes.done() >= arguments.changes,
        "no change was possible for {REFUSED_MAX:?}: {}",
        changes.last_refusal
    );
    let slow = changes.wait_ms(0.99) > TRANSIT_P99_MS || changes.wait_ms(1.0) > TRANSIT_MAX_MS;
    ensure!(
        !(arguments.check_times && slow),
        "writes waited for changes longer than {TRANSIT_P99_MS} ms (p99) or {TRANSIT_MAX_MS} ms"
    );
    Ok(())
}
