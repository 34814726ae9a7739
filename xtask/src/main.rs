//! Tasks of the project: `cargo xtask NAME`.
//!
//! stdout is a task's result, stderr its progress. A task that finds something wrong ends with status 1.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program: stdout is its result"
)]
#![allow(
    clippy::print_stderr,
    reason = "a command-line program: stderr is its progress"
)]

mod bench;
mod bugs;
mod cargo;
mod checkers;
mod crash;
mod diskfull;
mod fairness;
mod footprint;
mod fuzz;
mod pauses;
mod pressure;
mod rows;
mod sim;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    about = "Tasks of the project",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Compare this server with a bare hyper server and Azurite under the same load
    Bench(bench::Arguments),
    /// Wake the bugs planted on purpose, one after the other, and see each caught
    Bugs(bugs::Arguments),
    /// Kill the server at random moments and compare what it kept with what it promised
    Crash(crash::Arguments),
    /// Show what the server does when its disk is full, on a small file system in memory
    Diskfull(diskfull::Arguments),
    /// Measure what one abusive tenant costs ten modest ones
    Fairness(fairness::Arguments),
    /// Measure the server's memory and its time to ready
    Footprint(footprint::Arguments),
    /// Build the fuzz targets and run each for a while
    Fuzz(fuzz::Arguments),
    /// Measure what clients notice of splits and merges under full load
    Pauses(pauses::Arguments),
    /// Split, merge, freeze, compact and kill under checked traffic
    Pressure(pressure::Arguments),
    /// Simulate a server and its clients, decided by a seed, and check every answer
    Sim(sim::Arguments),
    /// Check the house rules that no compiler lint checks
    Tidy,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Bugs(arguments) => bugs::run(&arguments),
        Task::Crash(arguments) => crash::run(&arguments),
        Task::Diskfull(arguments) => diskfull::run(&arguments),
        Task::Fairness(arguments) => fairness::run(&arguments),
        Task::Footprint(arguments) => footprint::run(&arguments),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::Pauses(arguments) => pauses::run(&arguments),
        Task::Pressure(arguments) => pressure::run(&arguments),
        Task::Sim(arguments) => sim::run(&arguments),
        Task::Tidy => tidy::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
