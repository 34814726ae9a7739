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

use crate::pressure::{TRANSIT_MAX_MS, TRANSIT_P99_MS};
use crate::{cargo, rows};

const START_DEADLINE: Duration = Duration::from_secs(30);

/// Load before measuring starts.
const WARM_UP: Duration = Duration::from_secs(2);

/// How long changes may be refused one after the other, because ranges still rewrite what they share, before no more are tried.
const REFUSED_MAX: Duration = Duration::from_secs(120);

/// Measure what clients notice of splits and merges under full load
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Splits and merges
    #[arg(long, default_value_t = 200)]
    changes: usize,
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
    rows::fill(addr, &account, arguments.mib, &mut next_run)?;
    let mut changes = Changes::new(admin, arguments.seed, usize::from(arguments.ranges));
    while admin::ranges(admin)?.ranges.len() < changes.ranges_max {
        changes.split_largest()?;
        ensure!(
            !changes.are_stuck(),
            "ranges cannot be split: {}",
            changes.last_refusal
        );
    }
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
    changes.forget();
    let (changed, took) = load.run_while(&mut next_run, || {
        let started = Instant::now();
        while changes.done() < arguments.changes && !changes.are_stuck() {
            let before = changes.done();
            changes.one()?;
            if changes.done() > before && changes.done().is_multiple_of(20) {
                let seconds = started.elapsed().as_secs();
                eprintln!("pauses: {} changes after {seconds} s", changes.done());
            }
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
        let load = |workload| Load {
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

/// Splits and merges, one after the other.
struct Changes {
    admin: SocketAddr,
    rng: Rng,
    /// As many ranges at most; at least half of that.
    ranges_max: usize,
    splits_ms: Vec<f64>,
    merges_ms: Vec<f64>,
    refused: u64,
    undone: u64,
    refused_since: Option<Instant>,
    last_refusal: String,
}

impl Changes {
    fn new(admin: SocketAddr, seed: u64, ranges_max: usize) -> Self {
        Self {
            admin,
            rng: Rng::new(seed),
            ranges_max,
            splits_ms: Vec::new(),
            merges_ms: Vec::new(),
            refused: 0,
            undone: 0,
            refused_since: None,
            last_refusal: String::new(),
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

    /// Whether none has been made for long.
    fn are_stuck(&self) -> bool {
        self.refused_since
            .is_some_and(|since| since.elapsed() > REFUSED_MAX)
    }

    /// Tries a split that leaves the ranges more alike.
    fn split_largest(&mut self) -> anyhow::Result<()> {
        let ranges = admin::ranges(self.admin)?.ranges;
        let largest = ranges.iter().max_by_key(|range| range.bytes);
        self.change(largest.context("there are no ranges")?.id, true)
    }

    /// Tries a change of some range.
    fn one(&mut self) -> anyhow::Result<()> {
        let ranges = admin::ranges(self.admin)?.ranges;
        let index = self.rng.below(ranges.len() as u64) as usize;
        let range = ranges.get(index).context("there are no ranges")?;
        let split = match ranges.len() {
            count if count <= self.ranges_max / 2 => true,
            count if count >= self.ranges_max => false,
            _ => self.rng.below(2) == 0,
        };
        self.change(range.id, split)
    }

    fn change(&mut self, range: u64, split: bool) -> anyhow::Result<()> {
        let action = if split { "split" } else { "merge" };
        let (status, answer) = admin::act(self.admin, range, action, "")?;
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
                self.last_refusal = answer.to_string();
                self.refused_since.get_or_insert_with(Instant::now);
                park_for(Duration::from_millis(50));
            }
            503 => {
                eprintln!("pauses: {action} of range {range}: {answer}");
                self.undone += 1;
            }
            _ => bail!("{action} of range {range}: {status} {answer}"),
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
        for (kind, result) in seen.results() {
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
    for (_, result) in seen.results() {
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
