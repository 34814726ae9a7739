//! Where pages come from: the one thing a scan asks of a table.

use partita_model::ContinuationToken;
use std::error::Error;
use std::future::Future;

/// A row as a scan sees it: its place in the table. What else it holds is the caller's.
pub trait Keyed {
    /// Its PartitionKey.
    fn partition_key(&self) -> &str;
    /// Its RowKey.
    fn row_key(&self) -> &str;
}

/// A request for one page of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// `$filter`, not percent-encoded; none reads every row.
    pub filter: Option<String>,
    /// `$select`: the names of the properties wanted, the keys among them; empty for all.
    pub select: Vec<String>,
    /// `$top`, from 1 to [`partita_model::limits::PAGE_ENTITIES_MAX`].
    pub top: usize,
    /// Where the page before, of a request with the same filter, ended.
    pub continuation: Option<ContinuationToken>,
}

/// One page. It may be shorter than asked for, even empty, and still be followed by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<R> {
    /// The rows, in the table's order.
    pub rows: Vec<R>,
    /// Where the next page begins; none behind the last.
    pub continuation: Option<ContinuationToken>,
}

/// A failure of a source; its own retries lie behind it.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// A table that can be read page by page.
pub trait PageSource: Send + Sync + 'static {
    /// What it returns.
    type Row: Keyed + Send + 'static;

    /// Reads one page. The future may be dropped at any time; nothing but the request is lost.
    ///
    /// # Errors
    /// Whatever keeps the page from being read. The request may be made again.
    fn page(
        &self,
        request: PageRequest,
    ) -> impl Future<Output = Result<Page<Self::Row>, SourceError>> + Send;
}
