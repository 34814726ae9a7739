//! `cargo xtask sim`: runs the simulation of many seeds, or one seed twice to compare the traces.
//!
//! Each world has a process of its own (`partita-sim`), so nothing of one seed reaches the next, and as many run at a time as the
//! machine has cores. The first seed of a series runs twice, and its traces must be the same.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Instant;

use anyhow::{Context, bail, ensure};

use partita_bench::project;

/// Simulate a server and its clients, decided by a seed, and check every answer
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run this seed twice and compare the traces byte for byte
    #[arg(long, value_name = "S", conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// How many seeds to run
    #[arg(long, value_name = "N", default_value_t = 50)]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "S", default_value_t = 1)]
    from: u64,
    /// Operations of a seed
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    operations: u64,
    /// Build with all optimisations, which pays off from some hundred seeds on
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = build(arguments.release)?;
    let simulation = Simulation {
        program: &program,
        operations: arguments.operations,
    };
    if let Some(seed) = arguments.seed {
        return simulation.twice(seed);
    }
    ensure!(arguments.seeds > 0, "no seeds to run");
    simulation.many(arguments.from, arguments.seeds)
}

/// Builds the program. Without all optimisations it takes the dependencies that tests have built, and only our own crates are built
/// again, a little optimised.
fn build(release: bool) -> anyhow::Result<PathBuf> {
    let mut command = project::cargo();
    command.args(["build", "--quiet", "--package", "partita-sim"]);
    let folder = if release {
        command.arg("--release");
        "release"
    } else {
        command.args(["--config", "profile.dev.opt-level=1"]);
        "debug"
    };
    let status = command.status().context("starting cargo")?;
    ensure!(status.success(), "building partita-sim failed");
    Ok(project::root()
        .join("target")
        .join(folder)
        .join("partita-sim"))
}

#[derive(Clone, Copy)]
struct Simulation<'a> {
    program: &'a Path,
    operations: u64,
}

impl Simulation<'_> {
    /// Runs a seed twice and compares the traces, which stay in `target/sim`.
    fn twice(self, seed: u64) -> anyhow::Result<()> {
        let folder = project::root().join("target/sim");
        std::fs::create_dir_all(&folder)?;
        let mut traces = Vec::new();
        for run in 1..=2 {
            let path = folder.join(format!("seed-{seed}-{run}.trace"));
            println!("{}", self.one(seed, Some(&path))?);
            traces.push(std::fs::read(&path)?);
        }
        let (first, second) = (&traces[0], &traces[1]);
        ensure!(!first.is_empty(), "sim: the trace of seed {seed} is empty");
        if let Some(line) = first_difference(first, second) {
            bail!(
                "sim: the traces of seed {seed} differ from line {line} on; they are in {}",
                folder.display()
            );
        }
        println!(
            "sim: both traces of seed {seed} have the same {} bytes",
            first.len()
        );
        Ok(())
    }

    /// Runs seeds side by side.
    fn many(self, from: u64, count: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        // The first one twice: once more at the end of the queue.
        let queue: VecDeque<u64> = (from..from + count).chain([from]).collect();
        let (queue, answers) = (Mutex::new(queue), Mutex::new(Vec::new()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    while let Some(seed) = locked(&queue).pop_front() {
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
        for (seed, answer) in answers.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let line = answer?;
            println!("{line}");
            if seed == from {
                lines_of_first.push(line);
            }
        }
        ensure!(
            matches!(&lines_of_first[..], [first, second] if first == second),
            "sim: seed {from} does not repeat; look with cargo xtask sim --seed {from}"
        );
        println!(
            "sim: {count} seeds of {} operations in {} s, nothing found; seed {from} repeats",
            self.operations,
            began.elapsed().as_secs()
        );
        Ok(())
    }

    /// Runs a seed; returns its line.
    fn one(self, seed: u64, trace: Option<&Path>) -> anyhow::Result<String> {
        let mut command = Command::new(self.program);
        command.args(["--seed", &seed.to_string()]);
        command.args(["--operations", &self.operations.to_string()]);
        if let Some(trace) = trace {
            command.arg("--trace").arg(trace);
        }
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().context("starting partita-sim")?;
        ensure!(
            status.success(),
            "sim: {}\nagain: cargo xtask sim --seed {seed} --operations {}",
            String::from_utf8_lossy(&stderr).trim(),
            self.operations
        );
        Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first line, counted from 1, in which two texts differ.
fn first_difference(first: &[u8], second: &[u8]) -> Option<usize> {
    if first == second {
        return None;
    }
    let lines = |text: &[u8]| {
        text.split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    let (first, second) = (lines(first), lines(second));
    let same = first
        .iter()
        .zip(&second)
        .take_while(|(a, b)| a == b)
        .count();
    Some(same + 1)
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
