//! One whole comparison: starts the servers, drives each with every workload, collects the figures.
//!
//! Ours and the bare server take turns, run by run, and the one measured has the machine to itself: the other is first
//! waited for until it is idle (ours may still be compacting). Azurite comes afterwards alone, because it rewrites its
//! whole state every five seconds, idle or not.

use std::time::{Duration, Instant};

use anyhow::Context;

use crate::report::{Measurement, Report};
use crate::{
    Account, Cpu, LoadRun, LoadShape, Programs, Target, TargetKind, Workload, WorkloadKind, prepare,
};

/// Reads before the first measured point get, so that what is measured is a server that has been running: an entity
/// cache that reads fill needs each of the 100,000 rows read once.
const WARM_READS: Duration = Duration::from_secs(6);

/// Least length of a measurement of Azurite: it stops for its saves every five seconds, and must show two of them.
const AZURITE_MEASURED_MIN: Duration = Duration::from_secs(10);

/// Time other servers are given to become idle before a run.
const SETTLE_DEADLINE: Duration = Duration::from_secs(20);

/// Share of one core below which a server counts as idle.
const IDLE_SHARE: f64 = 0.04;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// The programs of the servers.
    pub programs: Programs,
    /// Workloads in order.
    pub workloads: Vec<WorkloadKind>,
    /// Targets; Azurite is left out with a notice where it is not installed.
    pub targets: Vec<TargetKind>,
    /// Connections of each run.
    pub connections: Vec<usize>,
    /// Threads of the driver.
    pub threads: usize,
    /// Load before each measurement.
    pub warm_up: Duration,
    /// Length of each measurement.
    pub measured: Duration,
    /// Measurements of each kind, of which the median is reported.
    pub repeats: usize,
}

/// Runs the comparison. `say` gets a line for each step.
///
/// # Errors
/// When a server cannot be started, prepared or driven.
pub fn run(options: &Options, mut say: impl FnMut(&str)) -> anyhow::Result<Report> {
    let account = Account::well_known();
    let mut measurements = Vec::new();
    let (alone, together): (Vec<_>, Vec<_>) = options
        .targets
        .iter()
        .copied()
        .partition(|kind| *kind == TargetKind::Azurite);
    measurements.extend(run_together(options, &account, &together, &mut say)?);
    for kind in alone {
        match crate::azurite_available(&options.programs.root) {
            Ok(()) => measurements.extend(run_together(options, &account, &[kind], &mut say)?),
            Err(reason) => say(&format!("azurite is left out: {reason}")),
        }
    }
    Ok(Report::new(measurements))
}

fn run_together(
    options: &Options,
    account: &Account,
    kinds: &[TargetKind],
    say: &mut impl FnMut(&str),
) -> anyhow::Result<Vec<Measurement>> {
    let mut targets = Vec::new();
    for &kind in kinds {
        let target = Target::start(kind, &options.programs)?;
        let ready_ms = target.process.ready_after().as_millis();
        let started = Instant::now();
        if kind != TargetKind::Bare {
            let rows = options.workloads.iter().any(|workload| !workload.writes());
            prepare::prepare(target.process.addr(), account, rows)
                .with_context(|| format!("preparing {}:\n{}", kind.name(), target.process.log()))?;
            if let Some(admin) = target.admin {
                prepare::split(admin, account).context("splitting")?;
            }
            if options.workloads.contains(&WorkloadKind::PointGet) {
                warm(account, &target)?;
            }
        }
        say(&format!(
            "{} is ready after {ready_ms} ms, prepared in {:.1} s",
            kind.name(),
            started.elapsed().as_secs_f64()
        ));
        targets.push(target);
    }
    let mut measurements = Vec::new();
    let mut run = 0;
    // Reads first: Azurite stops for seconds to save its state once the writes have made it large.
    let mut workloads = options.workloads.clone();
    workloads.sort_by_key(|workload| workload.writes());
    for workload in workloads {
        for &connections in &options.connections {
            let mut runs: Vec<Vec<Measurement>> = targets.iter().map(|_| Vec::new()).collect();
            for _ in 0..repeats(options, kinds) {
                for (index, target) in targets.iter().enumerate() {
                    run += 1;
                    settle(&targets)?;
                    let one = measure(options, account, target, workload, connections, run)
                        .with_context(|| {
                            format!("{} on {}", workload.name(), target.kind.name())
                        })?;
                    say(&one.line());
                    if let Some(place) = runs.get_mut(index) {
                        place.push(one);
                    }
                }
            }
            measurements.extend(runs.into_iter().filter_map(Measurement::median));
        }
    }
    Ok(measurements)
}

/// The length of one measurement.
fn length(options: &Options, kind: TargetKind) -> Duration {
    match kind {
        TargetKind::Azurite => options.measured.max(AZURITE_MEASURED_MIN),
        TargetKind::Partita | TargetKind::Split | TargetKind::Before | TargetKind::Bare => {
            options.measured
        }
    }
}

/// How often each measurement is made; the long ones of Azurite once.
fn repeats(options: &Options, kinds: &[TargetKind]) -> usize {
    if kinds.contains(&TargetKind::Azurite) {
        1
    } else {
        options.repeats.max(1)
    }
}

/// Reads prepared rows for a while.
fn warm(account: &Account, target: &Target) -> anyhow::Result<()> {
    let addr = target.process.addr();
    let workload = Workload::new(WorkloadKind::PointGet, account, addr, 0);
    let shape = LoadShape {
        connections: 64,
        threads: 1,
        warm_up: Duration::ZERO,
        measured: WARM_READS,
    };
    let load = LoadRun {
        addr,
        workload: &workload,
        shape,
    };
    load.run(|| Ok(()))?;
    Ok(())
}

/// Waits until all servers are idle, or the deadline.
fn settle(targets: &[Target]) -> anyhow::Result<()> {
    let window = Duration::from_millis(100);
    let deadline = Instant::now() + SETTLE_DEADLINE;
    let total = || -> anyhow::Result<f64> {
        targets
            .iter()
            .map(|target| Ok(target.process.cpu()?.total_s()))
            .sum()
    };
    let mut before = total()?;
    while Instant::now() < deadline {
        std::thread::park_timeout(window);
        let now = total()?;
        if (now - before) / window.as_secs_f64() <= IDLE_SHARE {
            break;
        }
        before = now;
    }
    Ok(())
}

fn measure(
    options: &Options,
    account: &Account,
    target: &Target,
    kind: WorkloadKind,
    connections: usize,
    run: u64,
) -> anyhow::Result<Measurement> {
    let addr = target.process.addr();
    let workload = Workload::new(kind, account, addr, run);
    let load = LoadRun {
        addr,
        workload: &workload,
        shape: LoadShape {
            connections,
            threads: options.threads.min(connections),
            warm_up: options.warm_up,
            measured: length(options, target.kind),
        },
    };
    let mut samples: Vec<Cpu> = Vec::with_capacity(2);
    let result = load.run(|| {
        samples.push(target.process.cpu()?);
        Ok(())
    })?;
    let cpu_s = match samples.as_slice() {
        [start, end] => end.total_s() - start.total_s(),
        _ => 0.0,
    };
    Ok(Measurement::new(
        target.kind,
        kind,
        connections,
        &result,
        cpu_s,
        target.process.rss_mib()?,
    ))
}
