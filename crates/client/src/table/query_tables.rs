//! Query Tables.

use super::page::{Continuation, QueryOptions};
use super::{Filter, TableServiceClient};
use crate::{Error, Result};
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use partita_model::ValueRef;
use partita_wire::Failure;
use partita_wire::table::{Operation, PageReader};
use std::sync::Arc;

/// The names of tables, from all pages of a query.
pub type TableStream = BoxStream<'static, Result<String>>;

impl TableServiceClient {
    /// Lists the names of all tables, in their original letter case. The stream ends after an error.
    pub fn list_tables(&self) -> TableStream {
        self.tables(QueryOptions::new())
    }

    /// Lists the names of the tables that match a filter on `TableName`.
    pub fn query_tables(&self, filter: Filter) -> TableStream {
        self.tables(QueryOptions::new().filter(filter))
    }

    fn tables(&self, options: QueryOptions) -> TableStream {
        let pipeline = Arc::clone(&self.pipeline);
        let pages = stream::try_unfold(Some(None), move |next: Option<Option<Continuation>>| {
            let (pipeline, options) = (Arc::clone(&pipeline), options.clone());
            async move {
                let Some(from) = next else {
                    return Ok::<_, Error>(None);
                };
                let (operation, path) = (Operation::QueryTables, "/Tables".to_owned());
                let request = options.request(operation, path, from.as_ref())?;
                let reply = pipeline.send(&request).await?;
                let names = names(reply.body()).map_err(|failure| reply.unreadable(failure))?;
                let names = stream::iter(names.into_iter().map(Ok));
                Ok(Some((names, Continuation::of_tables(&reply).map(Some))))
            }
        });
        pages.try_flatten().boxed()
    }
}

/// The names on a page of tables.
fn names(body: &[u8]) -> std::result::Result<Vec<String>, Failure> {
    let mut page = PageReader::new(body)?;
    let mut names = Vec::new();
    while let Some(row) = page.next_row()? {
        row.properties(|_, name, value| {
            if let ("TableName", ValueRef::String(table)) = (name, value) {
                names.push(table.to_owned());
            }
        })?;
    }
    Ok(names)
}
