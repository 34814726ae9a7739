//! Queries: options, pages, continuations and streams.

mod continuation;
mod query;
mod stream;

pub use continuation::{Continuation, InvalidContinuation};
pub use query::QueryOptions;
pub(crate) use query::with_keys;
pub use stream::{EntityStream, PageStream};

use super::entity;
use crate::pipeline::Reply;
use crate::{Entity, Result};
use bytes::Bytes;
use partita_wire::table::PageReader;
use serde::de::DeserializeOwned;

/// One page of a query. A page with a continuation may be empty: the server bounds its work per page.
#[derive(Debug)]
pub struct Page {
    reply: Reply,
    continuation: Option<Continuation>,
}

impl Page {
    pub(crate) fn new(reply: Reply) -> Self {
        let continuation = Continuation::of_entities(&reply);
        Self {
            reply,
            continuation,
        }
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

    /// The body of the answer: OData JSON with minimal metadata, in UTF-8.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.reply.body()
    }

    /// The rows as slices of the body, without copies, for tools that need only parts of them.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`] if the body is not a page of entities.
    pub fn rows(&self) -> Result<PageReader<'_>> {
        PageReader::new(self.bytes()).map_err(|failure| self.reply.unreadable(failure))
    }

    /// Decodes the entities.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`] if the body is not a page of entities.
    pub fn entities(&self) -> Result<Vec<Entity>> {
        entity::entities(self.bytes()).map_err(|failure| self.reply.unreadable(failure))
    }

    /// Decodes the entities as structs, see [`Entity::into_typed`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`] if the body is not a page of entities, or an entity does not match the struct.
    pub fn entities_as<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let entities = self.entities()?.into_iter().map(Entity::into_typed);
        entities
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| self.reply.unreadable(error))
    }
}
