//! The deterministic simulation of Partita: a server and its clients in one thread, with virtual time. A seed
//! determines all random choices.
//!
//! `partita-sim --seed S` runs the simulation of one seed and checks every answer. The same seed gives the same trace,
//! byte for byte. A process can run one simulation only. `cargo xtask sim` builds this program and runs many seeds;
//! `docs/design/0003-simulation.md` explains the design.
//!
//! ```text
//!  scenario ──▶ world: turmoil, virtual clock, object store in memory
//!                 ├─ host "server": the real server, and an operator that splits and merges
//!                 └─ host "clients": sessions, each with a model of its rows, and queues with models
//!  every event ──▶ trace
//! ```

#![allow(
    clippy::print_stdout,
    reason = "a command-line program: stdout is its result"
)]

mod client;
mod model;
mod operator;
mod queue_model;
mod scenario;
mod seed;
mod trace;
mod watchers;
mod workload;
mod world;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser as _;

use crate::scenario::Scenario;
use crate::seed::Seed;
use crate::trace::Trace;
use crate::workload::Plant;

/// Simulate a server and its clients deterministically from a seed, and check every answer
#[derive(Debug, clap::Parser)]
#[command(name = "partita-sim")]
struct Arguments {
    /// Number that determines all random choices
    #[arg(long)]
    seed: u64,
    /// Number of operations of all clients together
    #[arg(long, default_value_t = 10_000)]
    operations: u64,
    /// Write the trace to this file
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Cause this fault, to test that the simulation finds it
    #[arg(long)]
    plant: Option<Plant>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let seed = arguments.seed;
    let trace = Trace::new(arguments.trace.as_deref()).context("cannot write the trace")?;
    let scenario = Scenario::of(Seed(seed), arguments.operations);
    let outcome = world::run(&scenario, &trace, arguments.plant);
    let summary = trace.finish().context("cannot write the trace")?;
    let outcome = outcome.with_context(|| format!("seed {seed} failed"))?;
    println!(
        "seed {seed}: {}; {}; {:.1} s of virtual time; trace {:016x} of {} lines",
        outcome.work,
        outcome.changes,
        outcome.elapsed.as_secs_f64(),
        summary.digest,
        summary.lines,
    );
    Ok(())
}
