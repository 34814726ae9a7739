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
//! | `bugs` | runs `pressure` or `fleet` against each planted bug |
//! | `ceph` | starts a Ceph and ends it: whether this machine can run it |
//! | `cluster` | kills, stops and cuts off servers of a cluster and etcd; checks every answer by histories |
//! | `damage` | damages files of a store; checks that no read is silently wrong |
//! | `deletes` | deletes, overwrites and drops rows, and measures scans and space afterwards |
//! | `clocks` | shifts the server's clock between starts and while it runs, under the same checkers |
//! | `powercut` | kills the server and drops what was not synced, under the same checkers |
//! | `diskfaults` | makes calls to the file system fail, under the same checkers |
//! | `diskfull` | fills a small file system |
//! | `latency-under-change` | measures client latency during splits, merges and snapshots |
//! | `fairness` | measures the latency of modest tenants while another tenant is abusive |
//! | `fleet` | kills the workers of fleets and their server; compares every result with the known rows |
//! | `footprint` | measures memory and time to ready |
//! | `hostile` | sends requests that break the rules, and checks that nothing changes |
//! | `idle` | measures the memory of idle connections |
//! | `stall` | measures an ordinary client beside clients that stop sending or receiving |

#![allow(clippy::print_stdout, reason = "prints results")]
#![allow(clippy::print_stderr, reason = "prints progress")]

mod bugs;
mod ceph;
mod checkers;
mod clocks;
mod cluster;
mod crash;
mod damage;
mod deletes;
mod diskfaults;
mod diskfull;
mod fairness;
mod fleet;
mod footprint;
mod hostile;
mod idle;
mod kill_test;
mod latency_under_change;
mod powercut;
mod preload;
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
    /// Activate each planted bug in turn and check that its test catches it
    Bugs(bugs::Arguments),
    /// Start a Ceph and end it, to learn whether this machine can run it
    Ceph,
    /// Shift the server's clock and compare the stored rows with the acknowledged ones
    Clocks(clocks::Arguments),
    /// Kill, stop and cut off the servers of a cluster and etcd, and check the histories of all clients
    Cluster(cluster::Arguments),
    /// Kill the server at random moments and compare the stored rows with the acknowledged ones
    Crash(crash::Arguments),
    /// Damage files of a store, and check that each is refused, reported, repaired or harmless
    Damage(damage::Arguments),
    /// Delete, overwrite and drop rows, and measure scans and space until both are as before
    Deletes(deletes::Arguments),
    /// Make the server's calls to the file system fail and compare the stored rows with the acknowledged ones
    Diskfaults(diskfaults::Arguments),
    /// Fill the server's disk, on a small file system in memory
    Diskfull(diskfull::Arguments),
    /// Measure the latency of ten modest tenants while another tenant is abusive
    Fairness(fairness::Arguments),
    /// Kill the workers of fleets and their server at random moments and compare every result with the known rows
    Fleet(fleet::Arguments),
    /// Measure the server's memory and its time to ready
    Footprint(footprint::Arguments),
    /// Send requests that break the rules and check the answers, the rows and the memory
    Hostile(hostile::Arguments),
    /// Measure the memory of idle connections
    Idle(idle::Arguments),
    /// Measure client latency during splits, merges and snapshots under full load
    #[command(alias = "pauses")]
    LatencyUnderChange(latency_under_change::Arguments),
    /// Cut the simulated power of the server's disk and compare the stored rows with the acknowledged ones
    Powercut(powercut::Arguments),
    /// Split, merge, freeze, compact and kill while clients check every answer
    Pressure(pressure::Arguments),
    /// Measure an ordinary client's gets and the server's memory beside clients that stop sending or receiving
    Stall(stall::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Test::parse() {
        Test::Bugs(arguments) => bugs::run(&arguments),
        Test::Ceph => ceph::run(),
        Test::Clocks(arguments) => clocks::run(&arguments),
        Test::Cluster(arguments) => cluster::run(&arguments),
        Test::Crash(arguments) => crash::run(&arguments),
        Test::Damage(arguments) => damage::run(&arguments),
        Test::Deletes(arguments) => deletes::run(&arguments),
        Test::Diskfaults(arguments) => diskfaults::run(&arguments),
        Test::Diskfull(arguments) => diskfull::run(&arguments),
        Test::Fairness(arguments) => fairness::run(&arguments),
        Test::Fleet(arguments) => fleet::run(&arguments),
        Test::Footprint(arguments) => footprint::run(&arguments),
        Test::Hostile(arguments) => hostile::run(&arguments),
        Test::Idle(arguments) => idle::run(&arguments),
        Test::LatencyUnderChange(arguments) => latency_under_change::run(&arguments),
        Test::Powercut(arguments) => powercut::run(&arguments),
        Test::Pressure(arguments) => pressure::run(&arguments),
        Test::Stall(arguments) => stall::run(&arguments),
    };
    project::exit_code("harness", outcome)
}
