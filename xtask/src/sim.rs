//! `cargo xtask sim`: runs the simulation of many seeds, or one seed twice to compare the traces.
//!
//! Each seed runs in its own process (`partita-sim`), so that no state of one seed reaches the next. As many processes
//! run at a time as the machine has cores. The first seed of a series runs twice, and both runs must print the same
//! line.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use partita_bench::project;

/// Simulate a server and its clients deterministically from a seed, and check every answer
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run this seed twice and compare the traces byte for byte
    #[arg(long, value_name = "S", conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// First seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    from: u64,
    /// Operations of each seed
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    operations: u64,
    /// Simulate a cluster of this many servers, from 2 to 5, with faults
    #[arg(long, value_name = "N")]
    servers: Option<u64>,
    /// Build with all optimisations, which pays off from some hundred seeds on
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let simulation = Simulation {
        program: build(arguments.release)?,
        operations: arguments.operations,
        servers: arguments.servers,
    };
    match arguments.seed {
        Some(seed) => simulation.twice(seed),
        None => simulation.many(arguments.from, arguments.seeds),
    }
}

/// Builds the program. Without `--release` it is built with the profile and features of the workspace's tests, so
/// `cargo nextest run --workspace` has built it already.
fn build(release: bool) -> anyhow::Result<PathBuf> {
    if release {
        return project::build("partita-sim", "partita-sim");
    }
    let status = project::cargo()
        .args(["build", "--quiet", "--workspace", "--test", "simulation"])
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "building partita-sim failed");
    Ok(project::root().join("target/debug/partita-sim"))
}

struct Simulation {
    program: PathBuf,
    operations: u64,
    /// `None` for a server without a cluster.
    servers: Option<u64>,
}

impl Simulation {
    /// Runs a seed twice and compares the traces, which stay in `target/sim`.
    fn twice(&self, seed: u64) -> anyhow::Result<()> {
        let folder = project::root().join("target/sim");
        std::fs::create_dir_all(&folder)?;
        let trace = |run: u32| -> anyhow::Result<Vec<u8>> {
            let path = folder.join(format!("seed-{seed}-{run}.trace"));
            println!("{}", self.one(seed, Some(&path))?);
            Ok(std::fs::read(&path)?)
        };
        let (first, second) = (trace(1)?, trace(2)?);
        ensure!(!first.is_empty(), "sim: the trace of seed {seed} is empty");
        if let Some(line) = first_difference(&first, &second) {
            bail!(
                "sim: the traces of seed {seed} differ from line {line} on; they are in {}",
                folder.display()
            );
        }
        let bytes = first.len();
        println!("sim: both traces of seed {seed} have the same {bytes} bytes");
        Ok(())
    }

    /// Runs seeds in parallel.
    fn many(&self, from: u64, count: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        // The first seed runs once more at the end.
        let queue: VecDeque<u64> = (from..from + count).chain([from]).collect();
        let (queue, answers) = (Mutex::new(queue), Mutex::new(Vec::new()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    // A separate closure, so that the lock is released before the loop body runs.
                    let next = || locked(&queue).pop_front();
                    while let Some(seed) = next() {
                        let answer = self.one(seed, None);
                        if answer.is_err() {
                            locked(&queue).clear();
                        }
                        locked(&answers).push((seed, answer));
                    }
                });
            }
        });
        let mut lines_of_first = Vec::new();
        for (seed, answer) in locked(&answers).drain(..) {
            let line = answer?;
            println!("{line}");
            if seed == from {
                lines_of_first.push(line);
            }
        }
        ensure!(
            matches!(&lines_of_first[..], [first, second] if first == second),
            "sim: two runs of seed {from} differ; compare their traces: cargo xtask sim --seed {from}"
        );
        println!(
            "sim: {count} seeds of {} operations in {} s, nothing found; two runs of seed {from} were the same",
            self.operations,
            began.elapsed().as_secs()
        );
        Ok(())
    }

    /// Runs a seed; returns the line that it prints.
    fn one(&self, seed: u64, trace: Option<&Path>) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        command.args(["--seed", &seed.to_string()]);
        command.args(["--operations", &self.operations.to_string()]);
        let mut repeat = format!("--seed {seed} --operations {}", self.operations);
        if let Some(servers) = self.servers {
            command.args(["--servers", &servers.to_string()]);
            repeat += &format!(" --servers {servers}");
        }
        if let Some(trace) = trace {
            command.arg("--trace").arg(trace);
        }
        let output = command.output().context("starting partita-sim")?;
        ensure!(
            output.status.success(),
            "sim: {}\nto repeat: cargo xtask sim {repeat}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first line, counted from 1, in which two texts differ.
fn first_difference(first: &[u8], second: &[u8]) -> Option<usize> {
    let lines = |text| <[u8]>::split(text, |byte| *byte == b'\n');
    let same = lines(first)
        .zip(lines(second))
        .take_while(|(a, b)| a == b)
        .count();
    (first != second).then_some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_a_line() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
        assert_eq!(first_difference(b"a\nb\n", b"a\nc\n"), Some(2));
        assert_eq!(first_difference(b"a\n", b"a\nb\n"), Some(2));
        assert_eq!(first_difference(b"", b"b"), Some(1));
    }
}
