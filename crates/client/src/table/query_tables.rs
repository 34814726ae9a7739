//! Query Tables.

use super::page::{Continuation, QueryOptions};
use super::{Filter, TableServiceClient};
use crate::{Error, Outcome, Result};
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use partita_model::ValueRef;
use partita_wire::Failure;
use partita_wire::table::{Operation, PageReader};

/// The names of tables, over all pages.
pub type TableStream = BoxStream<'static, Result<String>>;

impl TableServiceClient {
    /// The names of all tables, in the case in which they were created.
    pub fn list_tables(&self) -> TableStream {
        self.tables(QueryOptions::new())
    }

    /// The names of the tables that pass a filter on `TableName`.
    pub fn query_tables(&self, filter: Filter) -> TableStream {
        self.tables(QueryOptions::new().filter(filter))
    }

    fn tables(&self, options: QueryOptions) -> TableStream {
        let start = Some((self.clone(), options, None));
        let pages = stream::try_unfold(start, |state| async move {
            let Some((client, options, from)) = state else {
                return Ok::<_, Error>(None);
            };
            let (names, next) = client.tables_page(&options, from.as_ref()).await?;
            let names = stream::iter(names.into_iter().map(Ok));
            Ok(Some((
                names,
                next.map(|next| (client, options, Some(next))),
            )))
        });
        pages.try_flatten().boxed()
    }

    async fn tables_page(
        &self,
        options: &QueryOptions,
        from: Option<&Continuation>,
    ) -> Result<(Vec<String>, Option<Continuation>)> {
        let request = options.request(Operation::QueryTables, "/Tables".to_owned(), from);
        let reply = self.pipeline.send(&request).await?;
        let names = names(&reply.answer.body).map_err(|failure| {
            reply
                .failed(Error::unreadable(failure), Outcome::DidNotHappen)
                .error
        })?;
        Ok((names, Continuation::of_tables(&reply)))
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
