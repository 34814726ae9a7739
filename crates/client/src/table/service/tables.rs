//! Create, Delete and Query Tables.

use super::super::page::{Continuation, QueryOptions};
use super::TableServiceClient;
use crate::request::Request;
use crate::table::encoded;
use crate::{Error, Filter, Outcome, Result, TableClient};
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use partita_model::ValueRef;
use partita_wire::{ErrorCode, Failure, Method, Operation, PageReader, write_table_name};

/// The names of tables, over all of their pages.
pub type TableStream = BoxStream<'static, Result<String>>;

impl TableServiceClient {
    /// Makes a table.
    ///
    /// # Errors
    /// 409 TableAlreadyExists or TableBeingDeleted; 400 for a name that is none. A 409 after an attempt that may have made it has
    /// [`Outcome::MayHaveHappened`].
    pub async fn create_table(&self, name: &str) -> Result<TableClient> {
        let mut request = Request::new(Operation::CreateTable, Method::Post, "/Tables".to_owned());
        request.quiet = true;
        let mut body = Vec::new();
        write_table_name(name, &mut body);
        self.pipeline.send(&request.with_body(body)).await?;
        Ok(self.table_client(name))
    }

    /// Makes a table unless there is one of that name.
    ///
    /// # Errors
    /// As [`Self::create_table`], but for 409 TableAlreadyExists.
    pub async fn create_table_if_not_exists(&self, name: &str) -> Result<TableClient> {
        match self.create_table(name).await {
            Err(error) if error.code() == Some(ErrorCode::TableAlreadyExists) => {
                Ok(self.table_client(name))
            }
            made => made,
        }
    }

    /// Drops a table and all that is in it.
    ///
    /// # Errors
    /// 404 ResourceNotFound, with [`Outcome::MayHaveHappened`] where an attempt before may have dropped it.
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        let path = format!("/Tables('{}')", encoded(name));
        let request = Request::new(Operation::DeleteTable, Method::Delete, path);
        self.pipeline.send(&request).await?;
        Ok(())
    }

    /// The names of all tables, in the case in which they were made.
    pub fn list_tables(&self) -> TableStream {
        self.tables(QueryOptions::new())
    }

    /// The names of the tables that pass a filter on `TableName`.
    pub fn query_tables(&self, filter: Filter) -> TableStream {
        self.tables(QueryOptions::new().filter(filter))
    }

    fn tables(&self, options: QueryOptions) -> TableStream {
        let begin = Some((self.clone(), options, None));
        let pages = stream::try_unfold(begin, |place| async move {
            let Some((client, options, from)) = place else {
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
