//! Queries: options, pages, continuations and streams.

mod continuation;
mod first_partition;
mod query;
mod stream;

pub use continuation::{Continuation, InvalidContinuation};
pub use query::QueryOptions;
pub(crate) use query::with_keys;
pub use stream::{EntityStream, PageStream};

use super::entity;
use crate::pipeline::Reply;
use crate::{ConvertError, Entity, Result};
use bytes::Bytes;
use partita_wire::Failure;
use partita_wire::table::PageReader;
use serde::de::DeserializeOwned;

/// One page of a query. A page with a continuation may be empty: the server bounds its work per page.
#[derive(Debug)]
pub struct Page {
    reply: Reply,
    continuation: Option<Continuation>,
    /// The number of rows at the beginning that an [`EntityStream`] has returned.
    taken: usize,
}

impl Page {
    pub(crate) fn new(reply: Reply) -> Self {
        let continuation = Continuation::of_entities(&reply);
        Self {
            reply,
            continuation,
            taken: 0,
        }
    }

    /// The page without the first `taken` rows.
    pub(super) fn without(self, taken: usize) -> Self {
        Self { taken, ..self }
    }

    /// The start of the next page; `None` on the last page.
    #[must_use]
    pub fn continuation(&self) -> Option<&Continuation> {
        self.continuation.as_ref()
    }

    /// The server's id of the request, `x-ms-request-id`.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.reply.header("x-ms-request-id")
    }

    /// The body of the answer: OData JSON with minimal metadata, in UTF-8. It is complete, even if an [`EntityStream`]
    /// returned some entities of the page before [`EntityStream::by_page`].
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        self.reply.body()
    }

    /// The rows as slices of the body, without copies, for tools that need only parts of them.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`] if the body is not a page of entities.
    pub fn rows(&self) -> Result<PageReader<'_>> {
        let rows = || {
            let mut rows = PageReader::new(self.bytes())?;
            for _ in 0..self.taken {
                rows.next_row()?;
            }
            Ok(rows)
        };
        rows().map_err(|failure: Failure| self.reply.unreadable(failure))
    }

    /// The number of rows.
    fn count(&self) -> Result<usize> {
        let (mut rows, mut count) = (self.rows()?, 0);
        let unreadable = |failure| self.reply.unreadable(failure);
        while rows.next_row().map_err(unreadable)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Decodes the entities.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`] if the body is not a page of entities.
    pub fn entities(&self) -> Result<Vec<Entity>> {
        let entities = self.rows().map(entity::entities)?;
        entities.map_err(|failure| self.reply.unreadable(failure))
    }

    /// Decodes the entities as structs, see [`Entity::into_typed`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`] if the body is not a page of entities, or an entity does not match the struct.
    pub fn entities_as<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let typed = |entity: Entity| {
            let (partition_key, row_key) = (entity.partition_key.clone(), entity.row_key.clone());
            let convert = |ConvertError(text)| {
                let keys = format!("PartitionKey={partition_key:?}, RowKey={row_key:?}");
                self.reply
                    .unreadable(ConvertError(format!("{keys}: {text}")))
            };
            entity.into_typed().map_err(convert)
        };
        self.entities()?.into_iter().map(typed).collect()
    }
}
