//! The measuring side of the project: a cheap load driver, the servers it drives, the fixed workloads and the table of
//! results; and the small signed client that `harness` uses too.
//!
//! Promises:
//! - The driver shares two cores with the server it measures, so it does as little per request as `wrk`: one write, one
//!   read, no parsing beyond the head. Its own cost is measured and printed.
//! - All targets get the same requests. Except for Azurite, they take turns, so that a noisy machine disturbs them
//!   alike.
//! - An answer with another status or size than the expected one counts as an error, never as throughput.
//!
//! It shares no code with the server's crates, so it finds faults in their parsing and signing.

mod account;
pub mod admin;
pub mod batch;
pub mod canned;
pub mod ceiling;
pub mod client;
mod clock;
pub mod cluster;
pub mod compare;
mod data_set;
pub mod entity;
pub mod fleet;
mod http;
mod load;
mod measure;
mod options;
pub mod packages;
mod prepare;
mod process;
pub mod project;
pub mod queues;
pub mod report;
mod target;
mod workload;

pub use account::{Account, WELL_KNOWN_KEY};
pub(crate) use clock::rfc1123_now;
pub use clock::{park_for, shift_dates};
pub use load::{LoadResult, LoadRun};
pub use options::Options;
pub use prepare::{create_table, prepare};
pub use process::ServerProcess;
pub use target::{open_admin_port, partita_command};
pub use workload::{Workload, WorkloadKind};

/// Figures as JSON.
///
/// # Errors
/// When a figure is not a number.
pub fn json<T: serde::Serialize>(figures: &[T]) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(figures)?)
}

/// The name of a value on the command line.
fn value_name(value: impl clap::ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map_or_else(String::new, |name| name.get_name().to_owned())
}
