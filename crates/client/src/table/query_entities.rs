//! Query Entities.

use super::TableClient;
use super::page::{Continuation, EntityStream, Page, PageStream, QueryOptions};
use crate::{Error, Result};
use futures::{Stream, StreamExt as _};
use partita_wire::table::Operation;
use serde::de::DeserializeOwned;

impl TableClient {
    /// The entities that the options ask for, in the order of their keys, page by page as they are taken.
    /// [`EntityStream::by_page`] gives the pages themselves.
    pub fn query_entities(&self, options: QueryOptions) -> EntityStream {
        EntityStream::new(PageStream::new(self.clone(), options))
    }

    /// The same as structures, see [`crate::Entity::into_typed`].
    pub fn query_entities_as<T: DeserializeOwned>(
        &self,
        options: QueryOptions,
    ) -> impl Stream<Item = Result<T>> + Send + Unpin + use<T> {
        self.query_entities(options)
            .map(|entity| entity?.into_typed().map_err(Error::unreadable))
    }

    /// One page of what the options ask for, from a place on; from the beginning without. The place in the options does not
    /// count. What [`Self::query_entities`] is made of, for tools that keep places themselves.
    ///
    /// # Errors
    /// 404 TableNotFound; 400 for a filter that is none.
    pub async fn query_page(
        &self,
        options: &QueryOptions,
        from: Option<&Continuation>,
    ) -> Result<Page> {
        let request = options.request(Operation::QueryEntities, self.path() + "()", from);
        Ok(Page::new(self.pipeline().send(&request).await?))
    }
}
