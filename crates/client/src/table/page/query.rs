//! Options of queries.

use super::super::table_request::table_request;
use super::Continuation;
use crate::request::Request;
use crate::{Error, Filter, Result};
use partita_model::limits::PAGE_ENTITIES_MAX;
use partita_wire::table::Operation;

/// Options of a query. The default is all entities with all properties.
#[derive(Debug, Clone, Default)]
pub struct QueryOptions {
    pub(super) filter: Option<Filter>,
    select: Vec<String>,
    page_size: Option<u32>,
    pub(super) limit: Option<usize>,
    pub(super) from: Option<Continuation>,
    pub(super) reads_ahead: bool,
}

impl QueryOptions {
    /// All entities with all properties.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns only entities that match the filter.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Returns only these properties. PartitionKey, RowKey and ETag are always included; Timestamp is not.
    #[must_use]
    pub fn select<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.select = names
            .into_iter()
            .map(|name| name.as_ref().to_owned())
            .collect();
        self
    }

    /// The maximum number of entities on a page, 1 to 1,000; the default is 1,000. It does not bound the number of
    /// pages: [`Self::limit`] bounds the result. A query with another page size fails with [`crate::ErrorKind::Input`].
    #[must_use]
    pub fn page_size(mut self, entities_max: u32) -> Self {
        self.page_size = Some(entities_max);
        self
    }

    /// The maximum number of entities in the result. The client does not request more of the last page than it needs.
    #[must_use]
    pub fn limit(mut self, entities_max: usize) -> Self {
        self.limit = Some(entities_max);
        self
    }

    /// Resumes at the continuation of another query with the same filter.
    #[must_use]
    pub fn from(mut self, continuation: Continuation) -> Self {
        self.from = Some(continuation);
        self
    }

    /// Requests the next page while the program uses the current one, in a task that ends with the stream. This is
    /// faster if the query is read to the end; otherwise it costs one useless request.
    #[must_use]
    pub fn read_ahead(mut self) -> Self {
        self.reads_ahead = true;
        self
    }

    /// The request for the page at `from`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a page size that is not 1 to 1,000.
    pub(crate) fn request(
        &self,
        operation: Operation,
        path: String,
        from: Option<&Continuation>,
    ) -> Result<Request> {
        if let Some(size) = self.page_size
            && !(1..=PAGE_ENTITIES_MAX).contains(&(size as usize))
        {
            let message = format!("a page size of {size}; it must be 1 to {PAGE_ENTITIES_MAX}");
            return Err(Error::input(message));
        }
        let limit = self.limit.filter(|limit| *limit < PAGE_ENTITIES_MAX);
        let limit = limit.and_then(|limit| u32::try_from(limit).ok());
        let size = self.page_size.into_iter().chain(limit).min();
        let mut request = table_request(operation, partita_wire::Method::Get, path);
        if let Some(filter) = &self.filter {
            request = request.with_parameter("$filter", &filter.to_string());
        }
        if !self.select.is_empty() {
            request = request.with_parameter("$select", &with_keys(&self.select));
        }
        if let Some(size) = size {
            request = request.with_parameter("$top", &size.to_string());
        }
        for (name, token) in from.into_iter().flat_map(Continuation::parameters) {
            request = request.with_parameter(name, token);
        }
        Ok(request)
    }
}

/// A `$select` of these properties and the keys, which every [`crate::Entity`] has.
pub(crate) fn with_keys<S: AsRef<str>>(names: &[S]) -> String {
    let keys = ["PartitionKey", "RowKey"].into_iter();
    let missing = keys.filter(|key| names.iter().all(|name| name.as_ref() != *key));
    let all: Vec<&str> = missing.chain(names.iter().map(AsRef::as_ref)).collect();
    all.join(",")
}
