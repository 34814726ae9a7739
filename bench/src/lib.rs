//! The measuring side of the project: a cheap load driver, the servers it is pointed at, the fixed workloads and the
//! table of results; and the small signed client that the crash and disk-full tests share with it.
//!
//! Promises:
//! - The driver shares two cores with the server it measures, so it does as little per request as `wrk`: one write, one
//!   read, no parsing beyond the head. What it costs is measured and printed.
//! - All targets of one run get the same requests, interleaved, so that a noisy machine disturbs them alike.
//! - An answer that is not the expected one (status, size) is counted as an error, never as throughput.
//!
//! It knows the protocol from outside only: nothing here is shared with the server's own crates, so a fault in their
//! parsing or signing cannot hide itself.

mod account;
pub mod admin;
pub mod batch;
pub mod canned;
pub mod client;
mod clock;
pub mod compare;
pub mod entity;
mod http;
mod load;
mod prepare;
mod process;
pub mod project;
pub mod report;
mod target;
mod workload;

pub use account::Account;
pub use clock::{park_for, rfc1123_now};
pub use load::{LoadResult, LoadRun, LoadShape};
pub use prepare::{create_table, prepare};
pub use process::{Cpu, ServerProcess};
pub use target::{Programs, Target, TargetKind, azurite_available, partita_command};
pub use workload::{Workload, WorkloadKind};
