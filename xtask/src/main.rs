//! Tasks of the project: `cargo xtask NAME`.
//!
//! stdout is a task's result, stderr its progress. A task that finds a fault ends with status 1. Tests of the whole
//! server are `cargo harness NAME`; `cargo xtask NAME` runs some of them too (see `handover.rs`).

#![allow(clippy::print_stdout, reason = "prints results")]
#![allow(clippy::print_stderr, reason = "prints progress")]

mod bench;
mod dist;
mod fuzz;
mod handover;
mod sim;
mod tidy;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use partita_bench::project;

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    about = "Tasks of the project",
    after_help = "Tests of the whole server: cargo harness --help",
    disable_help_subcommand = true
)]
enum Task {
    /// Compare this server with a bare hyper server and Azurite under the same load
    Bench(Box<bench::Arguments>),
    /// Make every package of the program
    Dist(dist::Arguments),
    /// Build the fuzz targets and run each for a while
    Fuzz(fuzz::Arguments),
    /// Simulate a server and its clients deterministically from a seed, and check every answer
    Sim(sim::Arguments),
    /// Check the house rules that no compiler lint checks
    Tidy(tidy::Arguments),
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Dist(arguments) => dist::run(&arguments),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::Sim(arguments) => sim::run(&arguments),
        Task::Tidy(arguments) => tidy::run(&arguments),
        Task::Other(words) => handover::run(&words),
    };
    project::exit_code("xtask", outcome)
}
