//! The query of a scan, shared by all its steps.

use partita_model::limits::PAGE_ENTITIES_MAX;
use partita_wire::table::{InvalidFilter, check_filter};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Selects the rows that a scan returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emit {
    /// Every row.
    #[default]
    EveryRow,
    /// The first row of each partition. After each page, the rest of its last partition is skipped without reading it.
    FirstOfPartition,
}

/// How a scan interprets continuation tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tokens {
    /// A token means only that there may be more rows, which is all that the protocol guarantees.
    #[default]
    Opaque,
    /// A token of the form `1!<length>!<base64>`, as the service and Partita send it, contains the keys of the next
    /// row. Saves requests for keys between the last row and the next one. Tokens of other forms are opaque.
    NextRow,
}

/// The settings of a [`Query`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryOptions {
    /// Condition on the rows, in OData text.
    pub filter: Option<String>,
    /// Properties to return; empty for all. The keys are always included.
    pub select: Vec<String>,
    /// Rows per page, 1 to 1,000.
    pub page_rows: usize,
    /// Selects the rows to return.
    pub emit: Emit,
    /// How to interpret continuation tokens.
    pub tokens: Tokens,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            filter: None,
            select: Vec::new(),
            page_rows: PAGE_ENTITIES_MAX,
            emit: Emit::default(),
            tokens: Tokens::default(),
        }
    }
}

/// Why a query is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidQuery {
    /// The filter cannot be parsed.
    #[error(transparent)]
    Filter(#[from] InvalidFilter),
    /// The page size is not 1 to 1,000.
    #[error("invalid page size: must be 1 to {PAGE_ENTITIES_MAX} rows")]
    PageRows,
}

/// The checked query of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(QueryOptions);

impl Query {
    /// Checks the settings. Each step appends the filter to its bounds as text, so the filter is parsed here: an
    /// unmatched parenthesis would let rows outside the bounds pass.
    ///
    /// # Errors
    /// [`InvalidQuery`].
    pub fn new(mut options: QueryOptions) -> Result<Self, InvalidQuery> {
        if let Some(text) = &options.filter {
            check_filter(text)?;
            if text.trim_ascii().is_empty() {
                options.filter = None;
            }
        }
        if !(1..=PAGE_ENTITIES_MAX).contains(&options.page_rows) {
            return Err(InvalidQuery::PageRows);
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

    /// The checked settings.
    pub fn options(&self) -> &QueryOptions {
        &self.0
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
    fn page_sizes_outside_1_to_1000_are_invalid() {
        assert_eq!(
            of(|options| options.page_rows = 0),
            Err(InvalidQuery::PageRows)
        );
        assert_eq!(
            of(|options| options.page_rows = 1001),
            Err(InvalidQuery::PageRows)
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
