//! Queries, page by page.

use anyhow::ensure;

use super::protocol::{Ask, escaped, page};
use super::session::Connection;
use crate::model::{Key, Row};

/// Rows of a page when a query does not say how many.
const PAGE_ROWS_MAX: usize = 1_000;

/// A query over a table: the rows that fit all that is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) table: String,
    /// In the partitions from here on.
    pub(super) from: Option<String>,
    /// In the partitions before here.
    pub(super) to: Option<String>,
    /// With a number of at least this.
    pub(super) number_min: Option<i64>,
    /// Rows of a page.
    pub(super) top: Option<usize>,
}

impl Query {
    /// All rows of a table.
    pub(super) fn all(table: String) -> Self {
        Self {
            table,
            from: None,
            to: None,
            number_min: None,
            top: None,
        }
    }

    /// Whether a row is asked for.
    pub(super) fn fits(&self, key: &Key, row: &Row) -> bool {
        key.table == self.table
            && self.from.as_ref().is_none_or(|from| key.partition >= *from)
            && self.to.as_ref().is_none_or(|to| key.partition < *to)
            && self
                .number_min
                .is_none_or(|min| row.values.number.is_some_and(|number| number >= min))
    }

    /// Asks for all pages. The rows come in order, each once, and none that does not fit.
    pub(super) async fn run(&self, connection: &mut Connection) -> anyhow::Result<Vec<(Key, Row)>> {
        let mut rows: Vec<(Key, Row)> = Vec::new();
        let mut next = Some(String::new());
        while let Some(token) = next {
            let mut ask = Ask::new("GET", format!("/{}()", self.table));
            ask.query = format!("{}{token}", self.text());
            let answer = connection.send(&ask).await?;
            ensure!(answer.status == 200, "{self:?}: {}", answer.text());
            let page = page(&self.table, &answer)?;
            ensure!(
                page.rows.len() <= self.top.unwrap_or(PAGE_ROWS_MAX),
                "{self:?}: a page is too long"
            );
            rows.extend(page.rows);
            next = page.next;
        }
        let ordered = rows
            .iter()
            .zip(rows.iter().skip(1))
            .all(|(row, next)| row.0 < next.0);
        ensure!(ordered, "{self:?}: rows are doubled or not in order");
        let surplus = rows.iter().find(|(key, row)| !self.fits(key, row));
        ensure!(surplus.is_none(), "{self:?}: {surplus:?} does not fit");
        connection.read_rows(rows.len());
        Ok(rows)
    }

    /// As part of a URL.
    fn text(&self) -> String {
        let mut terms = Vec::new();
        terms.extend(
            self.from
                .iter()
                .map(|from| format!("PartitionKey ge '{from}'")),
        );
        terms.extend(self.to.iter().map(|to| format!("PartitionKey lt '{to}'")));
        terms.extend(self.number_min.iter().map(|min| format!("Number ge {min}")));
        let mut text = String::new();
        if !terms.is_empty() {
            text += &format!("$filter={}&", escaped(&terms.join(" and ")));
        }
        if let Some(top) = self.top {
            text += &format!("$top={top}&");
        }
        text
    }
}
