//! What a query asks for.

use super::super::table_request::table_request;
use super::Continuation;
use crate::Filter;
use crate::request::Request;
use partita_wire::table::Operation;

/// What a query asks for: everything, unless said otherwise.
#[derive(Debug, Clone, Default)]
pub struct QueryOptions {
    filter: Option<Filter>,
    select: Vec<String>,
    top: Option<u32>,
    from: Option<Continuation>,
    reads_ahead: bool,
}

impl QueryOptions {
    /// Everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only what passes the filter.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Only these properties. PartitionKey and RowKey come with them, and so does the ETag.
    #[must_use]
    pub fn select<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.select = names
            .into_iter()
            .map(|name| name.as_ref().to_owned())
            .collect();
        self
    }

    /// At most so many on a page, 1 to 1,000 (the default). It does not bound the whole.
    #[must_use]
    pub fn top(mut self, page_entities_max: u32) -> Self {
        self.top = Some(page_entities_max);
        self
    }

    /// Begins where another query stopped. That one must have had the same filter.
    #[must_use]
    pub fn from(mut self, continuation: Continuation) -> Self {
        self.from = Some(continuation);
        self
    }

    /// Asks for the next page while one is used: for whoever will read to the end. It runs as a task of its own, which ends with
    /// the stream, and costs a request more where reading stops early.
    #[must_use]
    pub fn read_ahead(mut self) -> Self {
        self.reads_ahead = true;
        self
    }

    pub(crate) const fn reads_ahead(&self) -> bool {
        self.reads_ahead
    }

    pub(crate) fn take_from(&mut self) -> Option<Continuation> {
        self.from.take()
    }

    /// The request for the page at that place.
    pub(crate) fn request(
        &self,
        operation: Operation,
        path: String,
        from: Option<&Continuation>,
    ) -> Request {
        let mut request = table_request(operation, partita_wire::Method::Get, path);
        if let Some(filter) = &self.filter {
            request = request.with_parameter("$filter", &filter.to_string());
        }
        if !self.select.is_empty() {
            request = request.with_parameter("$select", &with_keys(&self.select));
        }
        if let Some(top) = self.top {
            request = request.with_parameter("$top", &top.to_string());
        }
        for (name, token) in from.into_iter().flat_map(Continuation::parameters) {
            request = request.with_parameter(name, token);
        }
        request
    }
}

/// A `$select` of these properties and the keys, without which an entity is none.
pub(crate) fn with_keys<S: AsRef<str>>(names: &[S]) -> String {
    let keys = ["PartitionKey", "RowKey"].into_iter();
    let missing = keys.filter(|key| names.iter().all(|name| name.as_ref() != *key));
    let all: Vec<&str> = missing.chain(names.iter().map(AsRef::as_ref)).collect();
    all.join(",")
}
