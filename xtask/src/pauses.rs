//! `cargo xtask pauses`: what clients notice of splits and merges while the server is fully loaded.
//!
//! The store is filled, and cut into ranges of about equal size. Then half of the connections insert and half read, each always
//! with a request under way, while ranges are split and merged as fast as the server does it. What is reported is the clients' side:
//! how long requests took, and how many were refused and why; beside it how long writes waited for each change by the
//! server's own account, and the same load without changes.
//!
//! Nothing is compared with what was written: `cargo xtask pressure` does that.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use partita_bench::rng::Rng;
use partita_bench::{
    Account, Load, LoadResult, LoadShape, ServerProcess, Workload, WorkloadKind, admin, park_for,
    partita_command, prepare,
};

use crate::cargo;

const START_DEADLINE: Duration = Duration::from_secs(30);

/// Load before measuring starts.
const WARM_UP: Duration = Duration::from_secs(2);

/// Ranges are kept between these numbers, so that each change is of some tens of megabytes.
const RANGES: std::ops::RangeInclusive<usize> = 8..=16;

/// How long one of the changes may be refused, because ranges still rewrite what they share, before the run is given up.
const REFUSED_MAX: Duration = Duration::from_secs(120);

/// Bytes of a row of the load: 1 KiB entities.
const ROW_BYTES: u64 = 1_024;

/// How long requests may wait for a change (issue: "unavailable p99 ≤ 300 ms, maximum ≤ 1 s").
const P99_MAX_MS: f64 = 300.0;
const MAX_MS: f64 = 1_000.0;

/// Measure what clients notice of splits and merges under full load
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Splits and merges
    #[arg(long, default_value_t = 200)]
    changes: usize,
    /// Rows to fill the store with, MiB
    #[arg(long, default_value_t = 1_024)]
    mib: u64,
    /// Connections: half insert, half read
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Seed of the choice of ranges
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail when requests waited longer than they may: on a quiet machine
    #[arg(long)]
    check_times: bool,
    #[command(flatten)]
    server: cargo::Server,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.program()?;
    let directory = cargo::scratch("pauses")?;
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
    fill(arguments, addr, &account, &mut next_run)?;
    let mut changes = Changes::new(admin, arguments.seed);
    while admin::ranges(admin)?.ranges.len() < *RANGES.end() {
        changes.one()?;
    }
    eprintln!(
        "pauses: the store is filled and has {} ranges",
        RANGES.end()
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
    changes.forget();
    let (changed, took) = load.run_while(&mut next_run, || {
        let started = Instant::now();
        while changes.done() < arguments.changes {
            changes.one()?;
        }
        Ok(started.elapsed())
    })?;
    println!(
        "{} connections, {} MiB, {} splits and {} merges in {:.0} s ({} were refused, {} undone)",
        arguments.connections,
        arguments.mib,
        changes.splits_ms.len(),
        changes.merges_ms.len(),
        took.as_secs_f64(),
        changes.refused,
        changes.undone,
    );
    println!(
        "writes waited for a change, by the server's account: p50 {:.0}, p99 {:.0}, at most {:.0} ms\n",
        changes.wait_ms(0.5),
        changes.wait_ms(0.99),
        changes.wait_ms(1.0),
    );
    print(&[("without changes", &quiet), ("with changes", &changed)]);
    check(arguments, &changes, &changed)
}

/// Inserts transactions until there are as many bytes of rows as asked for.
fn fill(
    arguments: &Arguments,
    addr: SocketAddr,
    account: &Account,
    next_run: &mut impl FnMut() -> u64,
) -> anyhow::Result<()> {
    let wanted = (arguments.mib << 20) / ROW_BYTES;
    let mut rows = 0;
    while rows < wanted {
        let workload = Workload::new(WorkloadKind::Batch, account, addr, next_run());
        let shape = LoadShape {
            connections: 16,
            threads: 1,
            warm_up: Duration::ZERO,
            measured: Duration::from_secs(1),
        };
        let load = Load {
            addr,
            workload: &workload,
            shape,
        };
        let result = load.run(|| Ok(()))?;
        ensure!(result.errors == 0, "filling: {:?}", result.first_error);
        rows += result.requests * WorkloadKind::Batch.entities();
    }
    Ok(())
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
    gets: LoadResult,
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
        let load = |workload| Load {
            addr: self.addr,
            workload,
            shape: LoadShape {
                connections: (self.arguments.connections / 2).max(1),
                threads: 1,
                warm_up: WARM_UP,
                measured: Duration::ZERO,
            },
        };
        let (inserting, getting) = (load(&inserts), load(&gets));
        let (inserts, (gets, worked)) = inserting.run_while(|| getting.run_while(work))?;
        Ok((Seen { inserts, gets }, worked))
    }
}

/// Splits and merges, one after the other.
struct Changes {
    admin: SocketAddr,
    rng: Rng,
    splits_ms: Vec<f64>,
    merges_ms: Vec<f64>,
    refused: u64,
    undone: u64,
    refused_since: Option<Instant>,
}

impl Changes {
    fn new(admin: SocketAddr, seed: u64) -> Self {
        Self {
            admin,
            rng: Rng::new(seed),
            splits_ms: Vec::new(),
            merges_ms: Vec::new(),
            refused: 0,
            undone: 0,
            refused_since: None,
        }
    }

    /// What was done until now does not count.
    fn forget(&mut self) {
        (self.splits_ms, self.merges_ms) = Default::default();
        (self.refused, self.undone) = (0, 0);
    }

    fn done(&self) -> usize {
        self.splits_ms.len() + self.merges_ms.len()
    }

    /// Tries a change of some range.
    fn one(&mut self) -> anyhow::Result<()> {
        let ranges = admin::ranges(self.admin)?.ranges;
        let index = self.rng.below(ranges.len() as u64) as usize;
        let range = ranges.get(index).context("there are no ranges")?;
        let split = match ranges.len() {
            count if count <= *RANGES.start() => true,
            count if count >= *RANGES.end() => false,
            _ => self.rng.below(2) == 0,
        };
        let action = if split { "split" } else { "merge" };
        let (status, answer) = admin::act(self.admin, range.id, action, "")?;
        match status {
            200 => {
                let waits = match split {
                    true => &mut self.splits_ms,
                    false => &mut self.merges_ms,
                };
                waits.push(answer["transit_ms"].as_f64().context("no transit_ms")?);
                self.refused_since = None;
            }
            // Nothing to cut, no neighbour, or too many files shared just now.
            404 | 409 => {
                self.refused += 1;
                let since = *self.refused_since.get_or_insert_with(Instant::now);
                ensure!(
                    since.elapsed() < REFUSED_MAX,
                    "every change was refused for {REFUSED_MAX:?}, the last: {answer}"
                );
                park_for(Duration::from_millis(50));
            }
            503 => {
                eprintln!("pauses: {action} of range {}: {answer}", range.id);
                self.undone += 1;
            }
            _ => bail!("{action} of range {}: {status} {answer}", range.id),
        }
        Ok(())
    }

    /// How long writes waited for a change, at a quantile.
    fn wait_ms(&self, quantile: f64) -> f64 {
        let mut waits = [self.splits_ms.as_slice(), &self.merges_ms].concat();
        waits.sort_by(f64::total_cmp);
        let last = waits.len().saturating_sub(1);
        let index = (quantile * last as f64).ceil() as usize;
        waits.get(index).copied().unwrap_or_default()
    }
}

fn print(rows: &[(&str, &Seen)]) {
    println!("| load | requests/s | p50 ms | p99 ms | p99.9 ms | most ms | refused |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
    for (title, seen) in rows {
        for (kind, result) in [("inserts", &seen.inserts), ("gets", &seen.gets)] {
            let ms = |quantile| result.latency_us.value_at_quantile(quantile) as f64 / 1_000.0;
            let refused: Vec<String> = result
                .refused
                .iter()
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            println!(
                "| {kind} {title} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
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

fn check(arguments: &Arguments, changes: &Changes, seen: &Seen) -> anyhow::Result<()> {
    for result in [&seen.inserts, &seen.gets] {
        ensure!(
            result.errors == 0,
            "{} wrong answers, the first: {:?}",
            result.errors,
            result.first_error
        );
    }
    let slow = changes.wait_ms(0.99) > P99_MAX_MS || changes.wait_ms(1.0) > MAX_MS;
    ensure!(
        !(arguments.check_times && slow),
        "writes waited for changes longer than {P99_MAX_MS} ms (p99) or {MAX_MS} ms"
    );
    Ok(())
}
