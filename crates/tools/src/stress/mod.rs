//! Stress tests of table designs: they show whether a service would throttle a table, and which change of its keys
//! would help.
//!
//! ```text
//! Pattern ─▶ Keys ─▶ fill ─▶ table                       rows whose keys follow from their numbers
//!              │
//! Mix ────▶ Requests ─▶ run (Schedule) ─▶ Target         workers take operations by number, each when it is due
//!                         │     │ attempts, by the client's observer
//!                         ▼     ▼
//!                        Recorder ─▶ Live                while it runs
//!                           └──────▶ Report ─▶ Verdict   JSON, page, comparison
//! ```
//!
//! - Everything goes through the public protocol, so it works on Partita, Azurite and Azure.
//! - The same seed gives the same keys and the same operations.
//! - Latency counts from the time an operation was due ([`Schedule`]), so the figures include every operation that a
//!   stalled server delays.
//! - Memory is bounded for runs of any duration: histograms, 600 points in time, a bounded number of partitions.

mod compare;
pub mod display;
#[cfg(test)]
mod example;
mod fill;
mod metrics;
mod mix;
mod page;
mod recorder;
mod report;
mod requests;
mod run;
mod sample;
mod target;
mod test;
mod verdict;

pub use partita_load::{
    Counts, Keys, LatencySummary, PARTITIONS_MAX, Pattern, RunOptions, Schedule,
};

pub use compare::{Judgement, MetricChange, compare, differences};
pub use fill::fill;
pub use metrics::{
    Growth, Live, OperationMetrics, Outcome, PartitionMetrics, Performed, Point, Tries,
};
pub use mix::{InvalidMix, Kind, Mix};
pub use page::html;
pub use recorder::Recorder;
pub use report::{FillMetrics, InvalidReport, REPORT_BYTES_MAX, REPORT_VERSION, Report, Settings};
pub use requests::{Request, Requests};
pub use run::{GRACE, RunEnd, run};
pub use sample::{SAMPLE_KEYS_MAX, SAMPLE_ROWS_MAX, Sample, SampleError};
pub use target::{RUN_PROPERTY, TableTarget, Target};
pub use test::{Test, run_test};
pub use verdict::{Judged, Scope, State, Targets, Verdict};
