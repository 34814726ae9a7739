//! Tests of the whole server as a process: `cargo harness NAME`.
//!
//! Each test starts the release build of `partita` on a new folder, sends it requests over HTTP, kills or limits it,
//! and compares the stored rows with the acknowledged ones. The crates themselves test everything that needs no process
//! boundary.
//!
//! stdout is a test's result, stderr its progress. A test that finds a fault ends with status 1.
//!
//! | command | effect |
//! | --- | --- |
//! | `crash` | kills the server at random moments; [`checkers`] compare the rows |
//! | `pressure` | splits, merges, freezes, compacts and kills under the same checkers |
//! | `bugs` | runs `pressure` against each planted bug |
//! | `damage` | damages files of a store; checks that no read is silently wrong |
//! | `deletes` | deletes, overwrites and drops rows, and measures scans and space after it |
//! | `diskfull` | fills a small file system |
//! | `latency-under-change` | measures client latency during splits, merges and snapshots |
//! | `fairness` | measures the latency of modest tenants while another tenant is abusive |
//! | `footprint` | measures memory and time to ready |
//! | `idle` | measures the memory of idle connections |
//! | `stall` | measures an ordinary client beside clients that stop sending or receiving |

#![allow(clippy::print_stdout, reason = "prints results")]
#![allow(clippy::print_stderr, reason = "prints progress")]

mod bugs;
mod checkers;
mod crash;
mod damage;
mod deletes;
mod diskfull;
mod fairness;
mod footprint;
mod idle;
mod kill_test;
mod latency_under_change;
mod pressure;
mod range_changes;
mod rows;
mod setup;
mod stall;

use std::process::ExitCode;

use clap::Parser;
use partita_bench::project;

#[derive(Debug, Parser)]
#[command(
    name = "cargo harness",
    about = "Tests of the whole server",
    disable_help_subcommand = true
)]
enum Test {
    /// Activate each planted bug in turn and check that the pressure test catches it
    Bugs(bugs::Arguments),
    /// Kill the server at random moments and compare the stored rows with the acknowledged ones
    Crash(crash::Arguments),
    /// Damage files of a store, and check that each is refused, reported, repaired or harmless
    Damage(damage::Arguments),
    /// Delete, overwrite and drop rows, and measure scans and space until both are as before
    Deletes(deletes::Arguments),
    /// Fill the server's disk, on a small file system in memory
    Diskfull(diskfull::Arguments),
    /// Measure the latency of ten modest tenants while another tenant is abusive
    Fairness(fairness::Arguments),
    /// Measure the server's memory and its time to ready
    Footprint(footprint::Arguments),
    /// Measure the memory of idle connections
    Idle(idle::Arguments),
    /// Measure client latency during splits, merges and snapshots under full load
    #[command(alias = "pauses")]
    LatencyUnderChange(latency_under_change::Arguments),
    /// Split, merge, freeze, compact and kill while clients check every answer
    Pressure(pressure::Arguments),
    /// Measure an ordinary client's gets and the server's memory beside clients that stop sending or receiving
    Stall(stall::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Test::parse() {
        Test::Bugs(arguments) => bugs::run(&arguments),
        Test::Crash(arguments) => crash::run(&arguments),
        Test::Damage(arguments) => damage::run(&arguments),
        Test::Deletes(arguments) => deletes::run(&arguments),
        Test::Diskfull(arguments) => diskfull::run(&arguments),
        Test::Fairness(arguments) => fairness::run(&arguments),
        Test::Footprint(arguments) => footprint::run(&arguments),
        Test::Idle(arguments) => idle::run(&arguments),
        Test::LatencyUnderChange(arguments) => latency_under_change::run(&arguments),
        Test::Pressure(arguments) => pressure::run(&arguments),
        Test::Stall(arguments) => stall::run(&arguments),
    };
    project::exit_code("harness", outcome)
}
