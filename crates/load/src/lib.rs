//! The load driver of the benchmark and of the stress test: keys, schedule, workers and latencies.
//!
//! ```text
//! Pattern ─▶ Keys            computes the keys of a row from its number and the seed
//! Schedule ─▶ Run ─▶ Sender  each worker takes the next operation, sends it when it is due, and records its times
//!              │       └───▶ LatencyHistogram, one per worker, merged at the end
//!              └── Clock     tokio's for the stress test; threads with epoll for the benchmark
//! ```
//!
//! Promises:
//! - The same seed gives the same keys and the same random numbers, in every version.
//! - Latency counts from the time an operation was due, so the figures include every operation that a stalled server
//!   delays.
//! - [`Run::work`] and [`LatencyHistogram::record`] neither allocate nor lock, so that the benchmark's client uses
//!   little CPU.
//!
//! [`history`] checks that the answers of a test's clients are those of one correct store.
//!
//! Callers implement [`Sender`] and [`Clock`], start the threads or tasks, and write the reports.

mod counts;
pub mod history;
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
