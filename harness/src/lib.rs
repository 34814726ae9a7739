//! Tests of the whole server as a process: `cargo harness NAME`.
//!
//! Each test starts the release build of `partita` on a folder of its own, drives it over HTTP, kills or limits it, and compares
//! what it kept with what it acknowledged. What no process boundary needs is tested in the crates themselves.
//!
//! stdout is a test's result, stderr its progress. A test that finds a fault ends with status 1.
//!
//! | command | what it does |
//! | --- | --- |
//! | `crash` | kills the server at random moments; [`checkers`] compare |
//! | `pressure` | splits, merges, freezes, compacts and kills under the same checkers |
//! | `bugs` | runs `pressure` against each planted bug |
//! | `diskfull` | fills a small file system |
//! | `latency-under-change` | client latency during splits, merges and snapshots |
//! | `fairness` | what one abusive tenant costs others |
//! | `footprint` | memory and time to ready |

#![allow(
    clippy::print_stdout,
    reason = "a command-line program: stdout is its result"
)]
#![allow(
    clippy::print_stderr,
    reason = "a command-line program: stderr is its progress"
)]

mod bugs;
mod checkers;
mod crash;
mod diskfull;
mod fairness;
mod footprint;
mod latency_under_change;
mod pressure;
mod rows;
mod setup;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "cargo harness",
    about = "Tests of the whole server",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    test: Test,
}

#[derive(Debug, Subcommand)]
enum Test {
    /// Activate each planted bug in turn and check that the pressure test catches it
    Bugs(bugs::Arguments),
    /// Kill the server at random moments and compare what it kept with what it acknowledged
    Crash(crash::Arguments),
    /// Fill the server's disk, on a small file system in memory
    Diskfull(diskfull::Arguments),
    /// Measure what one abusive tenant costs ten modest ones
    Fairness(fairness::Arguments),
    /// Measure the server's memory and its time to ready
    Footprint(footprint::Arguments),
    /// Measure client latency during splits, merges and snapshots under full load
    #[command(alias = "pauses")]
    LatencyUnderChange(latency_under_change::Arguments),
    /// Split, merge, freeze, compact and kill under checked traffic
    Pressure(pressure::Arguments),
}

/// Runs the test that the command line names.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = match Arguments::parse().test {
        Test::Bugs(arguments) => bugs::run(&arguments),
        Test::Crash(arguments) => crash::run(&arguments),
        Test::Diskfull(arguments) => diskfull::run(&arguments),
        Test::Fairness(arguments) => fairness::run(&arguments),
        Test::Footprint(arguments) => footprint::run(&arguments),
        Test::LatencyUnderChange(arguments) => latency_under_change::run(&arguments),
        Test::Pressure(arguments) => pressure::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("harness: {error:#}");
            ExitCode::FAILURE
        }
    }
}
