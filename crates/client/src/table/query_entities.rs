//! Query Entities.

use super::TableClient;
use super::page::{Continuation, EntityStream, Page, PageStream, QueryOptions};
use crate::{Error, Result};
use futures::{Stream, StreamExt as _};
use partita_wire::table::Operation;
use serde::de::DeserializeOwned;

impl TableClient {
    /// Queries entities, in the order of their keys. The client requests each page when the stream needs it;
    /// [`EntityStream::by_page`] returns the pages themselves.
    ///
    /// The stream's items fail as [`Self::query_page`]; the stream ends after an error.
    pub fn query_entities(&self, options: QueryOptions) -> EntityStream {
        EntityStream::new(PageStream::new(self.clone(), options))
    }

    /// Queries entities as structs, see [`crate::Entity::into_typed`]. An entity that does not match the struct fails
    /// with [`crate::ErrorKind::Unreadable`], and the stream continues.
    pub fn query_entities_as<T: DeserializeOwned>(
        &self,
        options: QueryOptions,
    ) -> impl Stream<Item = Result<T>> + Send + Unpin + use<T> {
        let table = self.clone();
        self.query_entities(options).map(move |entity| {
            let entity = entity?;
            let (partition_key, row_key) = (entity.partition_key.clone(), entity.row_key.clone());
            entity.into_typed().map_err(|error| {
                let subject = table.subject(&partition_key, &row_key);
                Error::mismatch(Operation::QueryEntities.name(), subject, error)
            })
        })
    }

    /// Queries one page, from a continuation on, or from the beginning. Ignores [`QueryOptions::from`] and
    /// [`QueryOptions::read_ahead`]; [`QueryOptions::limit`] bounds the page.
    ///
    /// # Errors
    /// 404 TableNotFound; 400 InvalidInput for an invalid filter; [`crate::ErrorKind::Input`] for an invalid
    /// [`QueryOptions::page_size`].
    pub async fn query_page(
        &self,
        options: &QueryOptions,
        from: Option<&Continuation>,
    ) -> Result<Page> {
        let path = self.path() + "()";
        let mut request = options.request(Operation::QueryEntities, path, from)?;
        request.secondary = self.reads_secondary;
        if self.pipeline.options.owner_hints {
            request = request.with_place(self.name(), &options.first_partition(from));
        }
        Ok(Page::new(self.pipeline.send(&request).await?))
    }
}
