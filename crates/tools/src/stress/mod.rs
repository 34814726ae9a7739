//! Stress tests of table designs. They show whether a service would throttle a table, and which change of its keys
//! would help.
//!
//! ```text
//! Pattern ─▶ Keys ─▶ fill ─▶ table                       keys of a row are computed from its number
//!              │
//! Mix ────▶ Requests ─▶ run (Schedule) ─▶ Target         workers take the next operation, and send it when it is due
//!                         │     │ attempts, reported by the client
//!                         ▼     ▼
//!                        Recorder ─▶ Live                figures during the run
//!                           └──────▶ Report ─▶ Verdict   after the run: JSON, page, comparison
//! ```
//!
//! - Stress tests use only the public protocol, so they work on Partita, Azurite and Azure.
//! - The same seed gives the same keys and the same operations.
//! - Latency counts from the time an operation was due ([`Schedule`]), so the figures include every operation that a
//!   stalled server delays.
//! - Memory is bounded, independent of the duration of a run: histograms, at most 600 points in time, and at most
//!   40,000 partitions.

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
