//! What is read of the admin port's pages.

use serde::Deserialize;
use std::fmt;

/// How the server stands: `/admin/v1/status`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Status {
    pub version: String,
    pub state: String,
    pub reasons: Vec<String>,
    pub uptime_seconds: f64,
    pub listening: Listening,
    pub store: Store,
    pub load: Option<Load>,
    pub ranges: Option<RangeCounts>,
    pub requests: Requests,
    pub limited: Vec<Limited>,
    pub process: Option<Process>,
}

/// Where it listens.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Listening {
    pub table: String,
}

/// Where the data is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Store {
    pub kind: String,
    pub path: Option<String>,
}

/// What all ranges did in the last ten seconds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Load {
    pub requests_per_second: f64,
    pub reads_per_second: f64,
    pub writes_per_second: f64,
    pub throttled_per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

/// How many ranges there are, and what is moving.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct RangeCounts {
    pub count: u64,
    pub frozen: u64,
    pub rewriting: u64,
    pub change: Option<Change>,
    pub orphans: u64,
    pub balances: bool,
    pub balanced: u64,
    pub no_split_key: u64,
}

/// A change of ranges that is under way.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/format/map.md describes"
)]
pub enum Change {
    Split {
        range: u64,
        left: u64,
        right: u64,
    },
    Merge {
        left: u64,
        right: u64,
        into: u64,
    },
    /// One of a later version.
    #[serde(other)]
    Other,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Split { range, left, right } => {
                write!(f, "range {range} is being split into {left} and {right}")
            }
            Self::Merge { left, right, into } => {
                write!(f, "ranges {left} and {right} are being merged into {into}")
            }
            Self::Other => f.write_str("ranges are being changed"),
        }
    }
}

/// Requests since the start.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Requests {
    pub total: u64,
    pub in_flight: u64,
}

/// Who was over a target of late.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Limited {
    pub target: String,
    pub account: Option<String>,
    pub table: Option<String>,
    pub partition_key: Option<String>,
    pub throttled: u64,
}

/// The process.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Process {
    pub resident_bytes: Option<u64>,
    pub cpu_seconds: Option<f64>,
}

/// The ranges: `/admin/v1/ranges`.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Ranges {
    #[serde(default)]
    pub map_version: u64,
    pub ranges: Vec<Range>,
    #[serde(default)]
    pub change: Option<Change>,
    #[serde(default)]
    pub orphans: Vec<u64>,
}

/// A range.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Range {
    pub id: u64,
    pub epoch: u64,
    pub start: Option<Place>,
    pub end: Option<Place>,
    pub bytes: u64,
    pub files: u64,
    pub sources: u64,
    pub lineage: u64,
    pub frozen: bool,
    pub requests_per_second: Option<f64>,
    pub cores: Option<f64>,
    pub last_window: Option<Window>,
}

/// Ten seconds of a range.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Window {
    pub p50_us: u64,
    pub p99_us: u64,
}

/// A key in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Place {
    pub account: Option<String>,
    pub table: Option<String>,
    pub table_id: Option<String>,
    pub partition_key: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.table {
            Some(table) => write!(f, "{table}")?,
            None => f.write_str("(dropped table)")?,
        }
        match self.partition_key.as_deref() {
            Some(key) => write!(f, " '{}'", key.replace('\'', "''")),
            None => Ok(()),
        }
    }
}

/// The hottest partitions: `/admin/v1/hot`.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Hot {
    pub partitions: Vec<HotPartition>,
    #[serde(default)]
    pub splits: Vec<SplitAdvice>,
    #[serde(default)]
    pub growth: Vec<Growth>,
    #[serde(default)]
    pub balances: bool,
    #[serde(default)]
    pub balanced: u64,
    #[serde(default)]
    pub no_split_key: u64,
}

/// A hot partition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct HotPartition {
    pub partition: Option<Place>,
    pub range: u64,
    pub share: f64,
    pub reads_per_second: Option<f64>,
    pub writes_per_second: Option<f64>,
    pub rows_per_second: Option<f64>,
    pub bytes_in_per_second: Option<f64>,
    pub bytes_out_per_second: Option<f64>,
    pub throttled_per_second: Option<f64>,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub split_helps: bool,
    pub why: String,
}

/// What the load of a range says about splitting it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct SplitAdvice {
    pub range: u64,
    pub advice: String,
    pub at: Option<Place>,
    pub share: Option<f64>,
}

/// How a table grows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Growth {
    pub range: u64,
    pub account: Option<String>,
    pub table: Option<String>,
    pub pattern: String,
    pub advice: Option<String>,
}

/// The heat map: `/admin/v1/heat`.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct Heat {
    pub metric: String,
    pub from: String,
    pub to: String,
    pub step_seconds: u64,
    pub columns: usize,
    pub rows: Vec<HeatRow>,
}

/// A piece of the key space, or a partition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "named as the fields that docs/admin-api.md describes"
)]
pub struct HeatRow {
    pub start: Option<Place>,
    pub end: Option<Place>,
    pub partition: Option<Place>,
    pub values: Vec<Option<f64>>,
}
