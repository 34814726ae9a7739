//! A table of a server as a source of pages.

use crate::scan::{Continuation, Page, PageRequest, PageSource, SourceError};
use partita_client::{Entity, Filter, QueryOptions, TableClient};
use partita_wire::{Query, push_query_parameter};

const PARTITION_KEY: &str = "NextPartitionKey";
const ROW_KEY: &str = "NextRowKey";

/// A table that a client reads, its rows as entities. Retries are the client's.
#[derive(Debug, Clone)]
pub struct TableSource(pub TableClient);

impl PageSource for TableSource {
    type Row = Entity;

    async fn page(&self, request: PageRequest) -> Result<Page<Entity>, SourceError> {
        let mut options = QueryOptions::new().select(request.select);
        if let Some(filter) = request.filter {
            options = options.filter(Filter::raw(filter));
        }
        let options = options.top(u32::try_from(request.top)?);
        let from = request.continuation.as_ref().map(to_client).transpose()?;
        let page = self.0.query_page(&options, from.as_ref()).await?;
        let continuation = page.continuation().map(from_client).transpose()?;
        let rows = page.entities()?;
        Ok(Page { rows, continuation })
    }
}

/// The client keeps places as the query parameters that they are.
fn to_client(continuation: &Continuation) -> Result<partita_client::Continuation, SourceError> {
    let mut text = String::new();
    push_query_parameter(PARTITION_KEY, &continuation.next_partition_key, &mut text);
    if let Some(row_key) = &continuation.next_row_key {
        push_query_parameter(ROW_KEY, row_key, &mut text);
    }
    Ok(text.parse()?)
}

fn from_client(continuation: &partita_client::Continuation) -> Result<Continuation, SourceError> {
    let text = continuation.to_string();
    let query = Query::new(&text);
    let token = |name: &'static str| -> Result<Option<String>, SourceError> {
        Ok(query.get(name)?.map(|token| token.into_owned()))
    };
    Ok(Continuation {
        next_partition_key: token(PARTITION_KEY)?.unwrap_or_default(),
        next_row_key: token(ROW_KEY)?,
    })
}
