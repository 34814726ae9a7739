//! `/admin/v1/ranges`: the partition map with the load of each range, and the actions on a range.

use super::{Missing, NamedKey};
use serde::{Deserialize, Serialize};
use std::fmt;

/// All ranges in key order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranges {
    /// The version of the partition map, which each change increments.
    pub map_version: u64,
    /// The ranges.
    pub ranges: Vec<Range>,
    /// The running change.
    pub change: Option<RangeChange>,
    /// Ids of databases of replaced ranges, which are deleted once no reader needs their files.
    pub orphans: Vec<u64>,
    /// Number of automatic splits and merges.
    pub balanced: u64,
    /// How often a hot or large range could not be split because it had no split key.
    pub no_split_key: u64,
    /// What is missing.
    #[serde(flatten)]
    pub missing: Missing,
}

/// A range: one contiguous part of the key space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Its id.
    pub id: u64,
    /// The server of the cluster that serves it. Absent in a server that is alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The epoch under which it is served.
    pub epoch: u64,
    /// The first key; `None` at the start of the key space.
    pub start: Option<NamedKey>,
    /// The first key after the range; `None` at the end of the key space.
    pub end: Option<NamedKey>,
    /// Its files.
    #[serde(flatten)]
    pub layout: RangeFiles,
    /// Whether the range is frozen, so that writes wait.
    pub frozen: bool,
    /// Requests per second in the last window; `None` before the first window has ended.
    pub requests_per_second: Option<f64>,
    /// An estimate of the processor cores that its requests used.
    pub cores: Option<f64>,
    /// The last ten seconds; `None` until the range is ten seconds old.
    pub last_window: Option<RangeWindow>,
    /// The hottest partitions.
    pub hot_partitions: Vec<RangeHotPartition>,
    /// The growth of tables with inserts in this range.
    pub growth: Vec<TableGrowth>,
}

/// The files of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeFiles {
    /// Bytes in files, an estimate.
    pub bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Number of older databases whose files the range still reads.
    pub sources: u64,
    /// Number of older databases that cannot be deleted yet because of this range: its sources, and for a while the
    /// databases whose files it has rewritten.
    pub lineage: u64,
}

/// The load of a range in a window of about ten seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeWindow {
    /// The length of the window.
    pub elapsed_ms: u64,
    /// Requests, rows and bytes.
    pub counts: WindowCounts,
    /// Latencies of the requests served; 0 without requests.
    #[serde(flatten)]
    pub latency: WindowLatency<u64>,
}

/// Latencies of a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowLatency<T> {
    /// The median.
    pub p50_us: T,
    /// The latency that 99 of 100 requests did not exceed.
    pub p99_us: T,
}

/// Requests, rows and bytes of a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as docs/admin-api.md describes them")]
pub struct Counts<T> {
    pub reads: T,
    pub writes: T,
    pub rows_scanned: T,
    pub rows_written: T,
    pub bytes_in: T,
    pub bytes_out: T,
    pub throttled: T,
}

/// The counts of a range.
pub type WindowCounts = Counts<u64>;

/// The counts of one partition, estimated from a sample when its range is busy.
pub type Activity = Counts<f64>;

/// One of the hottest partitions of a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeHotPartition {
    /// The partition.
    pub partition: Option<NamedKey>,
    /// Its share of the range's load, 0 to 1.
    pub share: f64,
    /// Its load in the last window.
    pub window: Activity,
    /// Latencies, accurate to 25 %; `None` without requests.
    #[serde(flatten)]
    pub latency: WindowLatency<Option<u64>>,
}

/// The growth of a table with inserts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableGrowth {
    /// The table; `None` after it was dropped.
    pub table: Option<String>,
    /// The end at which the table grows.
    pub pattern: GrowthPattern,
}

/// The end at which a table grows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrowthPattern {
    /// At its last partition.
    AppendOnly,
    /// At its first partition.
    PrependOnly,
    /// Everywhere.
    Spread,
    /// A value that a later version uses.
    #[serde(untagged)]
    Other(String),
}

/// A running change of the partition map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum RangeChange {
    /// A range is split into two.
    Split {
        /// The range.
        range: u64,
        /// The first key of the right range, in the text form of `docs/format/map.md`.
        at: String,
        /// The new left range.
        left: u64,
        /// The new right range.
        right: u64,
    },
    /// Two neighbours are merged into one range.
    Merge {
        /// The left neighbour.
        left: u64,
        /// The right neighbour.
        right: u64,
        /// The new range.
        into: u64,
    },
    /// A change of a later version.
    #[serde(other)]
    Other,
}

impl fmt::Display for RangeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Split {
                range, left, right, ..
            } => write!(f, "range {range} is being split into {left} and {right}"),
            Self::Merge { left, right, into } => {
                write!(f, "ranges {left} and {right} are being merged into {into}")
            }
            Self::Other => f.write_str("ranges are being changed"),
        }
    }
}

/// The body of an action on a range; each action uses its own fields. An empty body is the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RangeActionParams {
    /// `split`: the first key of the right range, Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `split`: the account of `table`; see `partition_key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// `split`: the table of `partition_key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// `split`: the first partition of the right range; a table and a partition can be given instead of `key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<String>,
    /// `merge`: the neighbour; if absent, the next range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<u64>,
    /// `freeze`: how long writes wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// `checkpoint`: how long the checkpoint protects its files from deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// `move`: the server that is to serve the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The answer to `split`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitResult {
    /// The new left range.
    pub left: u64,
    /// The new right range.
    pub right: u64,
    /// The first key of the right range.
    pub at: Option<NamedKey>,
    /// How long writes waited.
    pub transit_ms: f64,
}

/// The answer to `merge`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergeResult {
    /// The new range.
    pub into: u64,
    /// How long writes waited.
    pub transit_ms: f64,
}

/// The answer to `checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointResult {
    /// The id of the checkpoint in the range's database.
    pub checkpoint: String,
    /// How long the checkpoint protects its files from deletion.
    pub seconds: u64,
}

/// The answer to an action without a result: `flush`, `compact`, `collect`, `freeze`, `delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionDone {
    /// `true`.
    pub done: bool,
}

/// The answer to `finalize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finalized {
    /// The cluster version in which the servers write from now on.
    pub active_version: u32,
}
