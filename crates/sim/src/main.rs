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
mod cluster;
mod model;
mod operator;
mod queue_model;
mod scenario;
mod seed;
mod settings;
mod trace;
mod watchers;
mod workload;
mod world;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser as _;

use crate::cluster::Plan;
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
    /// Simulate a cluster of this many servers, from 2 to 5
    #[arg(long, conflicts_with = "plant")]
    servers: Option<usize>,
    /// Nothing fails in the cluster
    #[arg(long, requires = "servers")]
    calm: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let seed = arguments.seed;
    let trace = Trace::new(arguments.trace.as_deref()).context("cannot write the trace")?;
    let outcome = match arguments.servers {
        None => {
            let scenario = Scenario::of(Seed(seed), arguments.operations);
            let outcome = world::run(&scenario, &trace, arguments.plant);
            outcome.map(|outcome| outcome.to_string())
        }
        Some(servers) => {
            let plan = Plan {
                seed,
                servers,
                operations: arguments.operations,
                has_faults: !arguments.calm,
            };
            let outcome = cluster::run(&plan, &trace);
            outcome.map(|outcome| outcome.to_string())
        }
    };
    let summary = trace.finish().context("cannot write the trace")?;
    let outcome = outcome.with_context(|| format!("seed {seed} failed"))?;
    println!(
        "seed {seed}: {outcome}; trace {:016x} of {} lines",
        summary.digest, summary.lines,
    );
    Ok(())
}
