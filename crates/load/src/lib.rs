//! The load driver, shared by the benchmark and the stress test.
//!
//! ```text
//! Pattern ─▶ Keys            PartitionKeys of rows, by number and seed
//! Schedule ─▶ Run ─▶ Sender  each worker takes operations by number, sends them when they are due, records their times
//!              │       └───▶ LatencyHistogram, merged across workers
//!              └── Clock     of the runtime: tokio for the stress test, threads with epoll for the benchmark
//! ```
//!
//! Promises:
//! - The same seed gives the same keys and the same random numbers, in every version.
//! - Latency counts from the time an operation was due, so the figures include every operation that a stalled server
//!   delays.
//! - The code for one operation does not allocate or lock, so that the benchmark's client stays cheap.
//!
//! Callers provide the sending of requests ([`Sender`]), the time ([`Clock`]), threads and tasks, and reports.

mod counts;
mod latency;
mod number;
mod pattern;
mod random;
mod run;
mod schedule;
mod stage;

pub use counts::{Counts, count};
pub use latency::{LatencyHistogram, LatencySummary, WindowHistogram};
pub use number::thousands;
pub use pattern::{Keys, PARTITIONS_MAX, Pattern};
pub use random::{Random, mix};
pub use run::{Clock, Run, RunOptions, Sender, Times};
pub use schedule::Schedule;
pub use stage::{Stage, StageCell};
