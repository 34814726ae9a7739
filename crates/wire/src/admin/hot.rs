//! `/admin/v1/hot`: the hottest partitions of all ranges, and advice on splits.

use super::{GrowthPattern, Missing, NamedKey, WindowLatency};
use serde::{Deserialize, Serialize};

/// The answer of `/admin/v1/hot`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hot {
    /// The partitions, hottest first.
    pub partitions: Vec<HotPartition>,
    /// One entry for each range.
    pub splits: Vec<SplitAdvice>,
    /// Growth of tables with inserts, one entry for each such table and range.
    pub growth: Vec<GrowthAdvice>,
    /// Whether the server splits and merges ranges automatically.
    pub balances: bool,
    /// Number of automatic splits and merges.
    pub balanced: u64,
    /// How often a hot or large range could not be split because it had no split key.
    pub no_split_key: u64,
    /// What is missing.
    #[serde(flatten)]
    pub missing: Missing,
}

/// A hot partition. Rates and latencies are those of the last window of ten seconds, `None` until there is one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HotPartition {
    /// The partition.
    pub partition: Option<NamedKey>,
    /// Its range.
    pub range: u64,
    /// Its share of that range's load, 0 to 1.
    pub share: f64,
    /// Upper bound of its load, in units: 16 for a request, 1 for a row, halved every ten seconds.
    pub load: u64,
    /// The largest possible error of `load`.
    pub load_error: u64,
    /// Requests, rows and bytes per second.
    #[serde(flatten)]
    pub rates: PartitionRates,
    /// Latencies, accurate to 25 %; `None` without requests.
    #[serde(flatten)]
    pub latency: WindowLatency<Option<u64>>,
    /// Whether a split of the range would distribute its load.
    pub split_helps: bool,
    /// The reason for the value of `split_helps`.
    pub why: String,
}

/// Advice on splitting a range, from its load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitAdvice {
    /// The range.
    pub range: u64,
    /// The kind of advice.
    pub advice: AdviceKind,
    /// Where to split; or the partition or table that prevents a split.
    pub at: Option<NamedKey>,
    /// The share of the load left of `at`; or the share of the partition or table.
    pub share: Option<f64>,
}

/// Kinds of advice on a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdviceKind {
    /// A split at `at` distributes the load.
    Cut,
    /// One partition has most of the load, and a partition is never split.
    OneHotPartition,
    /// Most of the load is at the end at which a table grows, and moves with that end.
    GrowsAtOneEnd,
    /// Too little load for advice.
    NotEnoughLoad,
    /// A value that a later version uses.
    #[serde(untagged)]
    Other(String),
}

/// How a table grows in a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrowthAdvice {
    /// The range.
    pub range: u64,
    /// The account; `None` if the table is unknown.
    pub account: Option<String>,
    /// The table; `None` after it was dropped.
    pub table: Option<String>,
    /// The end at which the table grows.
    pub pattern: GrowthPattern,
    /// The share of the table's inserts at the end with more inserts, 0 to 1.
    pub end_share: f64,
    /// The recommended action; `None` if the table grows everywhere.
    pub advice: Option<String>,
}

/// The rates of a partition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionRates {
    /// Requests that read.
    pub reads_per_second: Option<f64>,
    /// Requests that write.
    pub writes_per_second: Option<f64>,
    /// Rows read or written.
    pub rows_per_second: Option<f64>,
    /// Bytes of rows written.
    pub bytes_in_per_second: Option<f64>,
    /// Bytes of rows read.
    pub bytes_out_per_second: Option<f64>,
    /// Requests refused because a target was exceeded.
    pub throttled_per_second: Option<f64>,
}
