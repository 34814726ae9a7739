//! Queries, page by page.

use anyhow::{Context as _, ensure};

use super::connection::Connection;
use super::protocol::{TableRequest, escaped, page};
use crate::model::{Key, Row};

/// Largest page of a query without `$top`.
const PAGE_ROWS_MAX: usize = 1_000;

/// A query over a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    pub(super) table: String,
    /// The first partition.
    pub(super) from: Option<String>,
    /// The end of the partitions, exclusive.
    pub(super) to: Option<String>,
    /// The smallest `Number`.
    pub(super) number_min: Option<i64>,
    /// `$top`: the maximum number of rows on a page.
    pub(super) top: Option<usize>,
}

impl Query {
    /// All rows of a table.
    pub(super) fn all(table: String) -> Self {
        Self {
            table,
            ..Self::default()
        }
    }

    /// Whether the query selects a row.
    pub(super) fn fits(&self, key: &Key, row: &Row) -> bool {
        key.table == self.table
            && self.from.as_ref().is_none_or(|from| key.partition >= *from)
            && self.to.as_ref().is_none_or(|to| key.partition < *to)
            && self
                .number_min
                .is_none_or(|min| row.values.number.is_some_and(|number| number >= min))
    }

    /// Reads all pages. Checks that the query selects each row, and that the rows are in order without duplicates.
    pub(super) async fn run(&self, connection: &mut Connection) -> anyhow::Result<Vec<(Key, Row)>> {
        let mut rows: Vec<(Key, Row)> = Vec::new();
        let mut next = Some(String::new());
        while let Some(token) = next {
            let request = TableRequest {
                query: format!("{}{token}", self.text()),
                ..TableRequest::new("GET", format!("/{}()", self.table))
            };
            let answer = connection.send(&request).await?;
            answer.expect(200).with_context(|| format!("{self:?}"))?;
            let page = page(&self.table, &answer)?;
            ensure!(
                page.rows.len() <= self.top.unwrap_or(PAGE_ROWS_MAX),
                "{self:?}: a page is too long"
            );
            rows.extend(page.rows);
            next = page.next;
        }
        let is_ordered = rows.is_sorted_by(|(key, _), (next, _)| key < next);
        ensure!(is_ordered, "{self:?}: rows are repeated or not in order");
        let surplus = rows.iter().find(|(key, row)| !self.fits(key, row));
        ensure!(surplus.is_none(), "{self:?}: {surplus:?} is not selected");
        connection.work.rows += rows.len() as u64;
        Ok(rows)
    }

    /// The query options.
    fn text(&self) -> String {
        let from = self.from.iter();
        let from = from.map(|from| format!("PartitionKey ge '{from}'"));
        let to = self.to.iter().map(|to| format!("PartitionKey lt '{to}'"));
        let number = self.number_min.iter().map(|min| format!("Number ge {min}"));
        let terms: Vec<String> = from.chain(to).chain(number).collect();
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
