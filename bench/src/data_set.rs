//! Compares servers with a data set that does not fit into their caches.
//!
//! One table is filled in key order, and another with the same keys in an order that scatters each partition over all
//! files. Then each server is restarted, so that its caches are empty, and measured once all of its background work is
//! done. Servers do not take turns here: filling one takes minutes, and two would share the memory of the page cache.
//! The ceilings ([`TargetKind::ceiling_of`]) are measured afterwards.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_load::thousands;

use crate::client::Client;
use crate::measure::measure;
use crate::options::{Options, TargetKind};
use crate::prepare::{self, BATCH_ROWS};
use crate::report::{Measurement, Report};
use crate::target::Target;
use crate::{Account, LoadResult, LoadRun, Workload, WorkloadKind, entity, park_for};

/// The table in key order has one row for so many rows of the scattered table.
const ORDERED_SHARE: u64 = 10;

/// Parallel requests of the whole scan.
const SCAN_JOBS: usize = 8;

/// How long a server is watched to find out whether it is idle. Compactions are looked for every second.
const IDLE_WINDOW: Duration = Duration::from_secs(3);

/// Share of one core below which a server counts as idle.
const IDLE_SHARE: f64 = 0.04;

/// Longest wait until a server is idle.
const IDLE_DEADLINE: Duration = Duration::from_secs(300);

/// The reads, in the order in which they are measured.
const READS: [WorkloadKind; 4] = [
    WorkloadKind::ColdGet,
    WorkloadKind::AbsentGet,
    WorkloadKind::ScatteredPage,
    WorkloadKind::OrderedPage,
];

/// Runs the comparison with a scattered table of `rows` rows. `say` receives a progress line for each step.
///
/// # Errors
/// When a server cannot be started, filled or driven.
pub(crate) fn run(
    options: &Options,
    rows: u64,
    say: &mut impl FnMut(&str),
) -> anyhow::Result<Report> {
    let comparison = Comparison {
        options,
        account: Account::well_known(),
        rows: rows - rows % entity::PARTITION_ROWS,
    };
    let mut measurements = Vec::new();
    let (servers, ceilings): (Vec<_>, Vec<_>) = options
        .targets()
        .into_iter()
        .filter(|kind| *kind != TargetKind::Azurite)
        .partition(|kind| kind.is_partita());
    let entity_bytes = usize::try_from(options.entity_bytes)?;
    ensure!(
        entity_bytes == entity::BODY_BYTES || ceilings.is_empty(),
        "the ceilings have entities of {} bytes; with --entity-bytes, measure --targets partita",
        entity::BODY_BYTES
    );
    entity::set_body_bytes(entity_bytes);
    for kind in servers {
        measurements.extend(comparison.server(kind, say)?);
    }
    for kind in ceilings {
        measurements.extend(comparison.ceiling(kind, say)?);
    }
    Ok(Report::new(measurements))
}

struct Comparison<'o> {
    options: &'o Options,
    account: Account,
    /// The rows of the scattered table, in whole partitions.
    rows: u64,
}

impl Comparison<'_> {
    /// Fills and measures a build of this project's server.
    fn server(
        &self,
        kind: TargetKind,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<Vec<Measurement>> {
        let mut target = Target::start(kind, self.options)?;
        self.fill(&target, say)?;
        let mut measurements = Vec::new();
        self.restart(&mut target, say)?;
        settle(&target, say)?;
        for kind in READS {
            for &connections in self.options.connections() {
                measurements.push(self.load(&target, kind, connections, say)?);
            }
        }
        measurements.push(self.scan(&target, say)?);
        self.restart(&mut target, say)?;
        measurements.push(self.batches(&target, WorkloadKind::RestartBatch, say)?);
        settle(&target, say)?;
        measurements.push(self.batches(&target, WorkloadKind::SustainedBatch, say)?);
        Ok(measurements)
    }

    /// Measures a server without a store with the workloads whose ceiling it is.
    fn ceiling(
        &self,
        kind: TargetKind,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<Vec<Measurement>> {
        let target = Target::start(kind, self.options)?;
        let mut measurements = Vec::new();
        for workload in READS {
            if TargetKind::ceiling_of(workload) == Some(kind) {
                for &connections in self.options.connections() {
                    measurements.push(self.load(&target, workload, connections, say)?);
                }
            }
        }
        for workload in [WorkloadKind::RestartBatch, WorkloadKind::SustainedBatch] {
            if TargetKind::ceiling_of(workload) == Some(kind) {
                let connections = self.connections_max();
                measurements.push(self.load(&target, workload, connections, say)?);
            }
        }
        Ok(measurements)
    }

    /// The rows of the table in key order, in whole partitions.
    fn ordered_rows(&self) -> u64 {
        let rows = (self.rows / ORDERED_SHARE).max(entity::PARTITION_ROWS);
        rows - rows % entity::PARTITION_ROWS
    }

    fn connections_max(&self) -> usize {
        let connections = self.options.connections().iter();
        connections.copied().max().unwrap_or(1)
    }

    fn fill(&self, target: &Target, say: &mut impl FnMut(&str)) -> anyhow::Result<()> {
        let (addr, account) = (target.process.addr(), &self.account);
        prepare::prepare(addr, account, false)?;
        let tables = [
            (WorkloadKind::OrderedPage, self.ordered_rows(), false),
            (WorkloadKind::ScatteredPage, self.rows, true),
        ];
        for (kind, rows, is_scattered) in tables {
            let begun = Instant::now();
            let mut client = Client::connect(addr, account.clone())?;
            prepare::create_table(&mut client, kind.table())?;
            let filled = fill(addr, account, kind.table(), rows, is_scattered);
            filled
                .with_context(|| format!("filling {}:\n{}", kind.table(), target.process.log()))?;
            let seconds = begun.elapsed().as_secs_f64();
            say(&format!(
                "{}: filled {} with {} rows in {seconds:.1} s, {} rows/s",
                target.kind.name(),
                kind.table(),
                thousands(rows as f64),
                thousands((rows as f64 / seconds).round()),
            ));
        }
        settle(target, say)
    }

    fn restart(&self, target: &mut Target, say: &mut impl FnMut(&str)) -> anyhow::Result<()> {
        target.restart(self.options)?;
        say(&format!(
            "{}: ready {} ms after a restart",
            target.kind.name(),
            target.process.ready_after().as_millis()
        ));
        Ok(())
    }

    /// A short measurement.
    fn load(
        &self,
        target: &Target,
        kind: WorkloadKind,
        connections: usize,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<Measurement> {
        let (warm_up, measured) = (self.options.warm_up(), self.options.measured());
        self.measure(target, kind, connections, warm_up, measured, say)
    }

    /// Batches, for a long time and from the first request on.
    fn batches(
        &self,
        target: &Target,
        kind: WorkloadKind,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<Measurement> {
        let measured = Duration::from_secs_f64(self.options.sustained_seconds);
        let connections = self.connections_max();
        self.measure(target, kind, connections, Duration::ZERO, measured, say)
    }

    fn measure(
        &self,
        target: &Target,
        kind: WorkloadKind,
        connections: usize,
        warm_up: Duration,
        measured: Duration,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<Measurement> {
        let rows = match kind {
            WorkloadKind::OrderedPage => self.ordered_rows(),
            _ => self.rows,
        };
        // Each run inserts other rows.
        let run = kind as u64 + 1;
        let workload = Workload::new(kind, &self.account, target.process.addr(), run).over(rows);
        let load = LoadRun {
            threads: self.options.threads.min(connections),
            warm_up,
            ..LoadRun::new(&workload, connections, measured)
        };
        let measurement = measure(target, &load)?;
        say(&measurement.line());
        Ok(measurement)
    }

    /// Reads the scattered table with `partita scan`, which the server's own program runs.
    fn scan(&self, target: &Target, say: &mut impl FnMut(&str)) -> anyhow::Result<Measurement> {
        let kind = WorkloadKind::WholeScan;
        let program = self.options.partita()?;
        let account = self.account.name();
        let endpoint = format!("http://{}/{account}", target.process.addr());
        let mut command = Command::new(program);
        command
            .args(["scan", kind.table(), "--unordered", "--strategy", "prefix"])
            .args(["--jobs", &SCAN_JOBS.to_string(), "--endpoint", &endpoint])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let (begun, cpu_before_s) = (Instant::now(), target.process.cpu_s()?);
        let scanned = command.output().context("starting `partita scan`")?;
        let (elapsed_s, cpu_s) = (
            begun.elapsed().as_secs_f64(),
            target.process.cpu_s()? - cpu_before_s,
        );
        let messages = String::from_utf8_lossy(&scanned.stderr);
        let rows = format!("{} rows", thousands(self.rows as f64));
        ensure!(
            scanned.status.success() && messages.contains(&rows),
            "`partita scan` did not find {rows}: {}\n{messages}",
            scanned.status
        );
        let result = LoadResult {
            requests: self.rows / kind.entities(),
            elapsed_s,
            ..LoadResult::default()
        };
        let memory = target.process.rss_mib()?;
        let measurement = Measurement::new(target.kind, kind, SCAN_JOBS, &result, cpu_s, memory);
        say(&measurement.line());
        Ok(measurement)
    }
}

/// Inserts rows in batches over several connections. Each batch is of one partition, as the protocol demands.
fn fill(
    addr: SocketAddr,
    account: &Account,
    table: &str,
    rows: u64,
    is_scattered: bool,
) -> anyhow::Result<()> {
    let batches = rows / BATCH_ROWS;
    prepare::on_connections(addr, account, batches, |client, batch| {
        let rows = match is_scattered {
            true => scattered(batch, batches),
            false => (batch * BATCH_ROWS..(batch + 1) * BATCH_ROWS).collect(),
        };
        prepare::insert_batch(client, account, table, &rows)
    })
}

/// The rows of a batch in scattered order: batches of neighbouring numbers are of distant partitions, and the rows of a
/// batch lie between those of the other batches of their partition. Every row is in one batch.
fn scattered(batch: u64, batches: u64) -> Vec<u64> {
    const BATCHES_OF_PARTITION: u64 = entity::PARTITION_ROWS / BATCH_ROWS;
    let place = batch * stride(batches) % batches.max(1);
    let (partition, offset) = (place / BATCHES_OF_PARTITION, place % BATCHES_OF_PARTITION);
    let first = partition * entity::PARTITION_ROWS + offset;
    let rows = 0..BATCH_ROWS;
    rows.map(|row| first + row * BATCHES_OF_PARTITION).collect()
}

/// A number without a common divisor with `batches`, so that its multiples reach every batch. Near the golden ratio,
/// neighbouring multiples lie far apart.
fn stride(batches: u64) -> u64 {
    let golden = batches * 618 / 1_000;
    let mut strides = golden.max(1)..batches.max(2);
    let found = strides.find(|stride| common_divisor(*stride, batches) == 1);
    found.unwrap_or(1)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => common_divisor(b, a % b),
    }
}

/// Waits until the server has no work left.
fn settle(target: &Target, say: &mut impl FnMut(&str)) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut before_s = target.process.cpu_s()?;
    loop {
        park_for(IDLE_WINDOW);
        let now_s = target.process.cpu_s()?;
        let is_idle = (now_s - before_s) / IDLE_WINDOW.as_secs_f64() <= IDLE_SHARE;
        before_s = now_s;
        if is_idle || begun.elapsed() > IDLE_DEADLINE {
            let (name, seconds) = (target.kind.name(), begun.elapsed().as_secs());
            let state = if is_idle { "idle" } else { "still busy" };
            say(&format!("{name}: {state} after {seconds} s"));
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn scattered_batches_have_every_row_once() {
        const BATCHES: u64 = 3_500;
        let batches: Vec<Vec<u64>> = (0..BATCHES)
            .map(|batch| scattered(batch, BATCHES))
            .collect();
        for rows in &batches {
            let partitions: BTreeSet<u64> = rows
                .iter()
                .map(|row| row / entity::PARTITION_ROWS)
                .collect();
            assert_eq!(partitions.len(), 1);
        }
        let all: BTreeSet<u64> = batches.iter().flatten().copied().collect();
        assert_eq!(all.len() as u64, BATCHES * BATCH_ROWS);
        assert_eq!(all.last(), Some(&(BATCHES * BATCH_ROWS - 1)));
        let neighbours = batches.iter().zip(batches.iter().skip(1));
        let near = neighbours.filter(|(a, b)| a[0].abs_diff(b[0]) < 10 * entity::PARTITION_ROWS);
        assert!(near.count() < 100);
    }
}
