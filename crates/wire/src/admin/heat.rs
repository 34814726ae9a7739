//! `/admin/v1/heat`: the heat map, ranges or partitions over time.

use super::{Missing, NamedKey, present};
use serde::{Deserialize, Serialize};

/// The answer: one value for each row and column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// The metric of the values: a name of [`HeatMetric`].
    pub metric: String,
    /// Start of the first column, RFC 3339; `None` for a time that RFC 3339 cannot represent.
    pub from: Option<String>,
    /// End of the last column, in the same form.
    pub to: Option<String>,
    /// Length of a column, in seconds.
    pub step_seconds: u64,
    /// The number of columns.
    pub columns: usize,
    /// The rows: ranges in key order, or partitions with the hottest first.
    pub rows: Vec<HeatRow>,
    /// What is missing.
    #[serde(flatten)]
    pub missing: Missing,
}

/// A row of the map. A value is `None` if there is no data for its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeatRow {
    /// A partition.
    Partition {
        /// The partition.
        #[serde(deserialize_with = "present")]
        partition: Option<NamedKey>,
        /// One value for each column.
        values: Vec<Option<f64>>,
    },
    /// A part of the key space.
    Range {
        /// The first key of the part; `None` at the start of the key space.
        start: Option<NamedKey>,
        /// The first key after the part; `None` at the end of the key space.
        end: Option<NamedKey>,
        /// One value for each column.
        values: Vec<Option<f64>>,
    },
}

impl HeatRow {
    /// One value for each column.
    pub fn values(&self) -> &[Option<f64>] {
        let (Self::Partition { values, .. } | Self::Range { values, .. }) = self;
        values
    }

    /// The values, mutable.
    pub fn values_mut(&mut self) -> &mut Vec<Option<f64>> {
        let (Self::Partition { values, .. } | Self::Range { values, .. }) = self;
        values
    }
}

/// The metrics that a heat map can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeatMetric {
    /// Requests served.
    Requests,
    /// Requests that read.
    Reads,
    /// Requests that write.
    Writes,
    /// Rows read.
    RowsScanned,
    /// Bytes of rows read and written.
    Bytes,
    /// Requests refused because a target was exceeded.
    Throttled,
    /// Median latency.
    P50Us,
    /// The latency that 99 of 100 requests did not exceed.
    P99Us,
}

impl HeatMetric {
    /// All metrics, the default first.
    pub const ALL: [Self; 8] = [
        Self::Requests,
        Self::Reads,
        Self::Writes,
        Self::RowsScanned,
        Self::Bytes,
        Self::Throttled,
        Self::P50Us,
        Self::P99Us,
    ];

    /// The name in the parameter `metric` and in the document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::RowsScanned => "rows_scanned",
            Self::Bytes => "bytes",
            Self::Throttled => "throttled",
            Self::P50Us => "p50_us",
            Self::P99Us => "p99_us",
        }
    }

    /// The metric with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }
}
