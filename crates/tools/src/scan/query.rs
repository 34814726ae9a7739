//! What every step of a scan asks for.

use partita_model::limits::PAGE_ENTITIES_MAX;
use partita_wire::table::parse_filter;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Which rows a scan returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emit {
    /// Every row.
    #[default]
    EveryRow,
    /// The first row of each partition. The rest of a partition is passed over, not read.
    FirstOfPartition,
}

/// How the rest of a long partition is read, where a scan goes by prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LongPartitions {
    /// Page after page.
    #[default]
    Serial,
    /// By the prefixes of its RowKeys, at the same time. More requests, which all go to the one server that has the partition.
    ByRowKey,
}

/// What a continuation token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tokens {
    /// Only that there may be more: all that the protocol promises.
    #[default]
    Opaque,
    /// Which row comes next, in the form `1!<length>!<base64>` that the service and Partita use. Saves the requests that would
    /// ask for what the token shows not to exist. A token of another form says nothing.
    NextRow,
}

/// The settings of a [`Query`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryOptions {
    /// Condition on the rows, in OData text.
    pub filter: Option<String>,
    /// Names of the properties wanted; empty for all. The keys come in any case.
    pub select: Vec<String>,
    /// Rows to ask for with a page, 1 to 1,000.
    pub page_rows: usize,
    /// Pages that a step reads one after the other before it is cut, at least 1. More of them mean fewer requests, and later
    /// parallelism.
    pub pages_per_step: usize,
    /// Which rows are returned.
    pub emit: Emit,
    /// How a partition is read that has more than a page beyond the one on which it was met.
    pub long_partitions: LongPartitions,
    /// How far continuation tokens are understood.
    pub tokens: Tokens,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            filter: None,
            select: Vec::new(),
            page_rows: PAGE_ENTITIES_MAX,
            pages_per_step: 1,
            emit: Emit::default(),
            long_partitions: LongPartitions::default(),
            tokens: Tokens::default(),
        }
    }
}

/// Why there is no such query.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidQuery {
    /// The filter is no filter of the service; what is wrong.
    #[error("invalid filter: {0}")]
    Filter(String),
    /// A page size that the service refuses.
    #[error("a page has 1 to {PAGE_ENTITIES_MAX} rows")]
    PageRows,
    /// No page in a step.
    #[error("a step reads at least one page")]
    PagesPerStep,
}

/// What every step of a scan asks for: checked settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(QueryOptions);

impl Query {
    /// Checks settings. The filter is parsed, because it is joined to the bounds of each step as text: a parenthesis too many
    /// would let rows outside of them pass.
    ///
    /// # Errors
    /// [`InvalidQuery`].
    pub fn new(mut options: QueryOptions) -> Result<Self, InvalidQuery> {
        if let Some(text) = &options.filter {
            if let Err(failure) = parse_filter(text) {
                return Err(InvalidQuery::Filter(failure.text().to_owned()));
            }
            if text.trim_ascii().is_empty() {
                options.filter = None;
            }
        }
        if !(1..=PAGE_ENTITIES_MAX).contains(&options.page_rows) {
            return Err(InvalidQuery::PageRows);
        }
        if options.pages_per_step == 0 {
            return Err(InvalidQuery::PagesPerStep);
        }
        if !options.select.is_empty() {
            for key in ["PartitionKey", "RowKey"] {
                if !options.select.iter().any(|name| name == key) {
                    options.select.push(key.to_owned());
                }
            }
        }
        Ok(Self(options))
    }

    /// The settings, as they are used.
    #[must_use]
    pub fn options(&self) -> &QueryOptions {
        &self.0
    }

    /// The most rows that one step returns.
    #[must_use]
    pub fn step_rows_max(&self) -> usize {
        self.0.page_rows.saturating_mul(self.0.pages_per_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(change: impl Fn(&mut QueryOptions)) -> Result<QueryOptions, InvalidQuery> {
        let mut options = QueryOptions::default();
        change(&mut options);
        Query::new(options).map(|query| query.options().clone())
    }

    #[test]
    fn a_filter_cannot_leave_its_parentheses() {
        for text in ["n eq 1) or (n eq 2", "n eq", "'", "n eq 1 --"] {
            let refused = of(|options| options.filter = Some(text.to_owned()));
            assert!(matches!(refused, Err(InvalidQuery::Filter(_))), "{text}");
        }
        let good = of(|options| options.filter = Some("n eq 1 or n eq 2".to_owned())).unwrap();
        assert_eq!(good.filter.as_deref(), Some("n eq 1 or n eq 2"));
        assert_eq!(
            of(|options| options.filter = Some(" ".to_owned()))
                .unwrap()
                .filter,
            None
        );
    }

    #[test]
    fn sizes() {
        assert_eq!(
            of(|options| options.page_rows = 0),
            Err(InvalidQuery::PageRows)
        );
        assert_eq!(
            of(|options| options.page_rows = 1001),
            Err(InvalidQuery::PageRows)
        );
        assert_eq!(
            of(|options| options.pages_per_step = 0),
            Err(InvalidQuery::PagesPerStep)
        );
    }

    #[test]
    fn the_keys_are_always_selected() {
        let select = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            of(|options| options.select.clone_from(&names))
                .unwrap()
                .select
        };
        assert_eq!(select(&[]), [""; 0]);
        assert_eq!(select(&["RowKey", "n"]), ["RowKey", "n", "PartitionKey"]);
    }
}
