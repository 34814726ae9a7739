//! Pages of a query, and the rows in them.

mod continuation;
mod query;
mod stream;

pub use continuation::{Continuation, InvalidContinuation};
pub use query::QueryOptions;
pub(crate) use query::with_keys;
pub use stream::{EntityStream, PageStream};

use super::entity;
use crate::pipeline::Reply;
use crate::{ConvertError, Entity, Error, Outcome, Result};
use bytes::Bytes;
use partita_wire::table::PageReader;
use serde::de::DeserializeOwned;

/// One page of a query's answer. It may be empty and yet have a continuation.
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

    /// Where the next page begins; `None` after the last one.
    #[must_use]
    pub fn continuation(&self) -> Option<&Continuation> {
        self.continuation.as_ref()
    }

    /// The server's id of the request.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.reply.header("x-ms-request-id")
    }

    /// The answer as it came: OData JSON with minimal metadata, in UTF-8.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.reply.answer.body
    }

    /// The rows as slices of the answer, for tools that need only parts of them: nothing is copied.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`].
    pub fn rows(&self) -> Result<PageReader<'_>> {
        PageReader::new(self.bytes()).map_err(|failure| self.unreadable(failure))
    }

    /// The entities.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`].
    pub fn entities(&self) -> Result<Vec<Entity>> {
        entity::entities(self.bytes()).map_err(|failure| self.unreadable(failure))
    }

    /// The entities as structures, see [`Entity::into_typed`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unreadable`], also where entity and structure do not go together.
    pub fn entities_as<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let entities = self.entities()?.into_iter();
        let typed: std::result::Result<Vec<T>, ConvertError> =
            entities.map(Entity::into_typed).collect();
        typed.map_err(|error| self.unreadable(error))
    }

    fn unreadable(&self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.reply
            .failed(Error::unreadable(source), Outcome::DidNotHappen)
            .error
    }
}
