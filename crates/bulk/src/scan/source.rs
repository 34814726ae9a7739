//! [`PageSource`]: reads the pages of a table. A scan reaches its table only through this trait.

use partita_model::{ContinuationToken, compare_utf16};
use std::cmp::Ordering;
use std::error::Error;
use std::future::Future;
use thiserror::Error;

/// A row with keys. A scan needs no other properties.
pub trait Keyed {
    /// Its PartitionKey.
    fn partition_key(&self) -> &str;
    /// Its RowKey.
    fn row_key(&self) -> &str;
}

/// The order of two rows in a table, by PartitionKey and RowKey.
pub fn compare_keys(a: (&str, &str), b: (&str, &str)) -> Ordering {
    compare_utf16(a.0, b.0).then_with(|| compare_utf16(a.1, b.1))
}

/// A request for one page of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// `$filter`, not percent-encoded; `None` reads every row.
    pub filter: Option<String>,
    /// `$select`: the names of the properties to return, including the keys; empty for all.
    pub select: Vec<String>,
    /// `$top`, from 1 to [`partita_model::limits::PAGE_ENTITIES_MAX`].
    pub top: usize,
    /// The token of the previous page, which must have had the same filter; `None` for the first page.
    pub continuation: Option<ContinuationToken>,
}

/// One page. It may be shorter than requested, or even empty, although more pages follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<R> {
    /// The rows, in the table's order.
    pub rows: Vec<R>,
    /// Where the next page begins; `None` on the last page.
    pub continuation: Option<ContinuationToken>,
}

/// Why a source could not read a page, after the source's own retries.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// The table of a source does not exist. A source returns it as [`SourceError`].
#[derive(Debug, Error)]
#[error("table {table} does not exist at {endpoint}")]
pub struct NoTable {
    /// The name of the table.
    pub table: String,
    /// The endpoint of its account.
    pub endpoint: String,
    /// The answer of the service.
    pub source: SourceError,
}

/// A table that can be read page by page.
pub trait PageSource: Send + Sync + 'static {
    /// The type of the rows.
    type Row: Keyed + Send + 'static;

    /// Reads one page. The future may be dropped at any time; only the request is lost.
    ///
    /// # Errors
    /// The page cannot be read. The request may be repeated.
    fn page(
        &self,
        request: PageRequest,
    ) -> impl Future<Output = Result<Page<Self::Row>, SourceError>> + Send;
}
