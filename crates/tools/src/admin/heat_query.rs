//! The query parameters of `/admin/v1/heat`, the heat map.

use partita_wire::admin::HeatMetric;
use partita_wire::push_query_parameter;

/// What each row of a heat map shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeatRows {
    /// A piece of the key space between bounds of ranges; neighbouring pieces with little load may be joined.
    Ranges,
    /// One of the hottest partitions.
    Partitions,
}

/// A heat map: its time span, its resolution, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatQuery {
    /// The end of the time span, in the server's time format; `None` for now.
    pub to: Option<String>,
    /// Length of the time span, in seconds.
    pub last_seconds: u64,
    /// Length of a column in seconds, a multiple of 10.
    pub step_seconds: u64,
    /// The metric to show.
    pub metric: HeatMetric,
    /// What each row shows.
    pub by: HeatRows,
    /// Shows only this table, `NAME` or `ACCOUNT/NAME`: its partitions, or the ranges with its keys. `None` for all
    /// tables.
    pub table: Option<String>,
    /// Maximum number of rows, 1 to 512.
    pub rows: usize,
}

impl HeatQuery {
    pub(super) fn query_string(&self) -> String {
        let mut query = String::new();
        let mut push = |name: &str, value: &str| push_query_parameter(name, value, &mut query);
        push("last", &self.last_seconds.to_string());
        push("step", &self.step_seconds.to_string());
        push("rows", &self.rows.to_string());
        push("metric", self.metric.name());
        if self.by == HeatRows::Partitions {
            push("by", "partition");
        }
        if let Some(to) = &self.to {
            push("to", to);
        }
        if let Some(table) = &self.table {
            push("table", table);
        }
        query
    }
}
