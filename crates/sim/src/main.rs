//! The simulation of Partita: a server and its clients in one thread, with virtual time, decided by a seed.
//!
//! `partita-sim --seed S` runs the world of one seed and checks every answer. The same seed gives the same trace, byte for byte. A
//! process runs one world. `cargo xtask sim` builds this program and runs many seeds; `docs/design/0003-simulation.md` says how it works.
//!
//! ```text
//!  scenario ──▶ world: turmoil, virtual clock, object store in memory
//!                 ├─ host "server": the real server, and an operator who splits and merges
//!                 └─ host "clients": sessions, each with a model of its rows
//!  everything that happens ──▶ trace
//! ```

#![allow(
    clippy::print_stdout,
    reason = "a command-line program: stdout is its result"
)]
#![allow(
    clippy::print_stderr,
    reason = "a command-line program: stderr is its progress"
)]

mod client;
mod model;
mod operator;
mod scenario;
mod seed;
mod trace;
mod watchers;
mod workload;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use crate::scenario::Scenario;
use crate::seed::Seed;
use crate::trace::Trace;
use crate::workload::Plant;

const USAGE: &str = "partita-sim --seed S [--operations N] [--trace FILE] [--plant lost-write]";

/// What is simulated when nothing is said.
const OPERATIONS: u64 = 10_000;

struct Arguments {
    seed: Seed,
    operations: u64,
    trace: Option<PathBuf>,
    plant: Option<Plant>,
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut seed = None;
    let (mut operations, mut trace, mut plant) = (OPERATIONS, None, None);
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words
            .next()
            .with_context(|| format!("{name} needs a value; usage: {USAGE}"))?;
        match name.as_str() {
            "--seed" => seed = Some(Seed(value.parse().context("--seed takes a number")?)),
            "--operations" => operations = value.parse().context("--operations takes a number")?,
            "--trace" => trace = Some(PathBuf::from(value)),
            "--plant" if value == "lost-write" => plant = Some(Plant::LostWrite),
            _ => bail!("unknown argument {name} {value}; usage: {USAGE}"),
        }
    }
    Ok(Arguments {
        seed: seed.with_context(|| format!("no seed; usage: {USAGE}"))?,
        operations,
        trace,
        plant,
    })
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("partita-sim: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let Arguments {
        seed,
        operations,
        trace: file,
        plant,
    } = arguments()?;
    let trace = Trace::new(file.as_deref()).context("cannot write the trace")?;
    let scenario = Scenario::of(seed, operations);
    let outcome = world::run(&scenario, &trace, plant);
    let summary = trace.finish().context("cannot write the trace")?;
    let outcome = outcome.with_context(|| format!("seed {} failed", seed.0))?;
    println!(
        "seed {}: {} operations, {} requests ({} busy), {} refused, {} rows read, {} left; {} splits, {} merges, {} other \
         actions, {} refused; {:.1} s of virtual time; trace {} of {} lines",
        seed.0,
        outcome.work.operations,
        outcome.work.requests,
        outcome.work.busy,
        outcome.work.refused,
        outcome.work.rows,
        outcome.work.rows_left,
        outcome.changes.splits,
        outcome.changes.merges,
        outcome.changes.others,
        outcome.changes.refused,
        outcome.elapsed.as_secs_f64(),
        &summary.digest[..16],
        summary.lines,
    );
    Ok(())
}
