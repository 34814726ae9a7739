//! Runs a comparison: starts the servers, loads each with every workload, and collects the figures.
//!
//! All servers except Azurite take turns, run by run. Every second turn reverses their order, because the first run of
//! a turn differs from the later ones by some percent, even between two copies of one program. A run begins when all
//! servers are idle, because Partita may still be compacting after its last run. Azurite runs alone afterwards, because
//! it rewrites its whole state every five seconds.

use std::time::{Duration, Instant};

use anyhow::Context;

use crate::measure::measure;
use crate::options::{Options, TargetKind};
use crate::report::{Measurement, Report};
use crate::target::{Target, azurite_command};
use crate::{Account, LoadRun, Workload, WorkloadKind, data_set, prepare, project};

/// Duration of the reads before the first measured point get. They fill the entity cache with the 100,000 rows.
const WARM_READS: Duration = Duration::from_secs(6);

/// Shortest measurement of Azurite. Azurite stops every five seconds to save its state, and each measurement must
/// include two saves.
const AZURITE_MEASURED_MIN: Duration = Duration::from_secs(10);

/// Longest wait until all servers are idle before a run.
const IDLE_DEADLINE: Duration = Duration::from_secs(20);

/// Share of one core below which a server counts as idle.
const IDLE_SHARE: f64 = 0.04;

/// Runs the comparison. `say` receives a progress line for each step.
///
/// # Errors
/// When a server cannot be started, prepared or driven.
pub fn run(options: &Options, mut say: impl FnMut(&str)) -> anyhow::Result<Report> {
    let account = Account::well_known();
    if let Some(rows) = options.data_set {
        return data_set::run(options, rows, &mut say);
    }
    let (alone, together): (Vec<_>, Vec<_>) = options
        .targets()
        .into_iter()
        .partition(|kind| *kind == TargetKind::Azurite);
    let mut measurements = run_together(options, &account, &together, &mut say)?;
    for kind in alone {
        match azurite_command(&project::root()) {
            Ok(_) => measurements.extend(run_together(options, &account, &[kind], &mut say)?),
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
        let target = Target::start(kind, options)?;
        let ready_ms = target.process.ready_after().as_millis();
        let started = Instant::now();
        if kind.stores() {
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
    // Reads first, because Azurite stops for seconds to save a state that writes have enlarged.
    let mut workloads = options.workloads.clone();
    workloads.sort_by_key(|workload| workload.writes());
    for workload in workloads {
        for &connections in options.connections() {
            let mut runs: Vec<Vec<Measurement>> = targets.iter().map(|_| Vec::new()).collect();
            for turn in 0..repeats(options, kinds) {
                for index in order(turn, targets.len()) {
                    let Some(target) = targets.get(index) else {
                        continue;
                    };
                    if !target.kind.is_measured(workload) {
                        continue;
                    }
                    run += 1;
                    await_idle(&targets)?;
                    let source = Workload::new(workload, account, target.process.addr(), run);
                    let load = LoadRun {
                        threads: options.threads.min(connections),
                        warm_up: options.warm_up(),
                        ..LoadRun::new(&source, connections, length(options, target.kind))
                    };
                    let one = measure(target, &load)?;
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

/// The order of the servers in a turn.
fn order(turn: usize, servers: usize) -> impl Iterator<Item = usize> {
    (0..servers).map(move |place| match turn.is_multiple_of(2) {
        true => place,
        false => servers - 1 - place,
    })
}

/// The length of one measurement.
fn length(options: &Options, kind: TargetKind) -> Duration {
    match kind {
        TargetKind::Azurite => options.measured().max(AZURITE_MEASURED_MIN),
        _ => options.measured(),
    }
}

/// How often each measurement is made: once if Azurite is among the servers, because its measurements are long.
fn repeats(options: &Options, kinds: &[TargetKind]) -> usize {
    if kinds.contains(&TargetKind::Azurite) {
        1
    } else {
        options.repeats()
    }
}

/// Reads prepared rows for a while.
fn warm(account: &Account, target: &Target) -> anyhow::Result<()> {
    let workload = Workload::new(WorkloadKind::PointGet, account, target.process.addr(), 0);
    LoadRun::new(&workload, 64, WARM_READS).run(|| Ok(()))?;
    Ok(())
}

/// Waits until all servers are idle, or the deadline.
fn await_idle(targets: &[Target]) -> anyhow::Result<()> {
    let window = Duration::from_millis(100);
    let deadline = Instant::now() + IDLE_DEADLINE;
    let total = || -> anyhow::Result<f64> {
        let times = targets.iter().map(|target| target.process.cpu_s());
        times.sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_turn_reverses_the_order() {
        let orders: Vec<Vec<usize>> = (0..3).map(|turn| order(turn, 3).collect()).collect();
        assert_eq!(orders, [[0, 1, 2], [2, 1, 0], [0, 1, 2]]);
    }
}
