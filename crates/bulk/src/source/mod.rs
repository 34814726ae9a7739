//! Reads pages of a table over HTTP, for scans: [`TableSource`] and [`EntitySource`] implement
//! [`crate::scan::PageSource`] with the client.
//!
//! - The client retries requests by its retry policy. A scan gets a failure only after the last retry.
//! - Reading a page of a [`TableSource`] decodes only the keys. Callers decode the rest of a row when they need it. Rows
//!   are slices of the answer, so their content is not copied. An [`EntitySource`] decodes whole rows.
//! - [`Traffic`] counts requests and bytes.

mod entities;
mod row;
#[cfg(test)]
mod tests;
mod traffic;

pub use entities::EntitySource;
pub use row::TableRow;
pub use traffic::{Traffic, TrafficCounts};

use crate::scan::{NoTable, Page, PageRequest, PageSource, SourceError};
use partita_client::{
    Continuation, ContinuationToken, ErrorCode, Filter, QueryOptions, TableClient,
};

/// A table as a source of pages.
#[derive(Debug, Clone)]
pub struct TableSource(pub TableClient);

impl PageSource for TableSource {
    type Row = TableRow;

    async fn page(&self, request: PageRequest) -> Result<Page<TableRow>, SourceError> {
        let (page, continuation) = page(&self.0, request).await?;
        let rows = row::read(&page)?;
        Ok(Page { rows, continuation })
    }
}

/// Requests a page. Returns the page, and the continuation token of the next one.
async fn page(
    table: &TableClient,
    request: PageRequest,
) -> Result<(partita_client::Page, Option<ContinuationToken>), SourceError> {
    let top = u32::try_from(request.top)?;
    let mut options = QueryOptions::new().select(request.select).page_size(top);
    if let Some(filter) = request.filter {
        options = options.filter(Filter::raw(filter));
    }
    let from = request.continuation.map(Continuation::from);
    let page = table.query_page(&options, from.as_ref()).await;
    let page = page.map_err(|error| named(error, table))?;
    let next = page.continuation().and_then(Continuation::token).cloned();
    Ok((page, next))
}

/// Adds the name of the table to the error of a missing table, because a command may read two.
fn named(error: partita_client::Error, table: &TableClient) -> SourceError {
    if error.code() != Some(ErrorCode::TableNotFound) {
        return error.into();
    }
    Box::new(NoTable {
        table: table.name().to_owned(),
        endpoint: table.endpoint().to_string(),
        source: error.into(),
    })
}
