//! Pages of a table behind HTTP, for scans: [`crate::scan::PageSource`] over the client.
//!
//! - Retries are the client's, by its policy; a scan sees a failure only when they have ended.
//! - A page is read once on its way in, for the keys; what else a row holds is decoded by whoever wants it. Rows lend from the
//!   answer's bytes: no row allocates.
//! - [`Traffic`] counts what goes over the wire.

mod row;
#[cfg(test)]
mod tests;
mod traffic;

pub use row::TableRow;
pub use traffic::{Traffic, TrafficCounts};

use crate::scan::{Page, PageRequest, PageSource, SourceError};
use partita_client::{ContinuationToken, Filter, QueryOptions, TableClient};

/// A table as a source of pages.
#[derive(Debug, Clone)]
pub struct TableSource {
    table: TableClient,
}

impl TableSource {
    /// The table of a client.
    #[must_use]
    pub fn new(table: TableClient) -> Self {
        Self { table }
    }

    /// Its client.
    #[must_use]
    pub fn table(&self) -> &TableClient {
        &self.table
    }
}

impl PageSource for TableSource {
    type Row = TableRow;

    async fn page(&self, request: PageRequest) -> Result<Page<TableRow>, SourceError> {
        let (page, continuation) = page(&self.table, request).await?;
        let rows = row::read(&page)?;
        Ok(Page { rows, continuation })
    }
}

/// Asks for a page: the answer, and where the next one begins.
pub(crate) async fn page(
    table: &TableClient,
    request: PageRequest,
) -> Result<(partita_client::Page, Option<ContinuationToken>), SourceError> {
    let PageRequest {
        filter,
        select,
        top,
        continuation,
    } = request;
    let mut options = QueryOptions::new().select(select).top(u32::try_from(top)?);
    if let Some(filter) = filter {
        options = options.filter(Filter::raw(filter));
    }
    let from = continuation.map(partita_client::Continuation::from);
    let page = table.query_page(&options, from.as_ref()).await?;
    let continuation = page
        .continuation()
        .and_then(partita_client::Continuation::token)
        .cloned();
    Ok((page, continuation))
}
