//! An unsigned request: the parts that all of its attempts share.

use crate::owners::Place;
use crate::transport::Answer;
use crate::{Endpoint, Error};
use bytes::Bytes;
use http::header::HeaderName;
use partita_wire::{Method, decode_path, push_query_parameter};
use std::borrow::Cow;

/// A header that only some operations or one protocol use.
pub(crate) type ExtraHeader = (HeaderName, Cow<'static, str>);

/// The media type of access policies, service properties and stats, and of all bodies of queues.
pub(crate) const XML: &str = "application/xml";

/// Looks for a failure inside an answer.
type Inspect = fn(&Answer) -> Result<(), Error>;

/// An unsigned request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The operation's name, as in the service's analytics logs.
    pub(crate) operation: &'static str,
    /// Whether the operation can change data.
    pub(crate) is_write: bool,
    pub(crate) method: Method,
    /// Percent-encoded, relative to the endpoint, with a leading `/`.
    pub(crate) path: String,
    /// What errors say that the request addresses; `None` if the path says it.
    pub(crate) subject: Option<String>,
    /// Percent-encoded, without `?` and signature.
    pub(crate) query: String,
    pub(crate) if_match: Option<String>,
    /// The requested media type of the answer.
    pub(crate) accept: &'static str,
    pub(crate) extra_headers: Vec<ExtraHeader>,
    /// The media type of the body; empty without a body.
    pub(crate) content_type: Cow<'static, str>,
    pub(crate) body: Bytes,
    /// Where its data is; `None` if it is in no table and no queue.
    pub(crate) place: Option<Place>,
    /// Whether the request is sent to the secondary endpoint.
    pub(crate) secondary: bool,
    /// Finds a failure in an answer whose status is below 300: batches report failures there.
    pub(crate) inspect: Option<Inspect>,
}

impl Request {
    /// A request without parameters, condition and body.
    pub(crate) const fn new(
        operation: &'static str,
        is_write: bool,
        method: Method,
        path: String,
        accept: &'static str,
    ) -> Self {
        Self {
            operation,
            is_write,
            method,
            path,
            subject: None,
            query: String::new(),
            if_match: None,
            accept,
            extra_headers: Vec::new(),
            content_type: Cow::Borrowed(""),
            body: Bytes::new(),
            place: None,
            secondary: false,
            inspect: None,
        }
    }

    pub(crate) fn with_parameter(mut self, name: &str, value: &str) -> Self {
        push_query_parameter(name, value, &mut self.query);
        self
    }

    pub(crate) fn with_place(mut self, container: &str, partition_key: &str) -> Self {
        self.place = Some(Place::new(container, partition_key));
        self
    }

    pub(crate) fn with_header(
        mut self,
        name: HeaderName,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.extra_headers.push((name, value.into()));
        self
    }

    pub(crate) fn with_body(mut self, media_type: &'static str, body: Vec<u8>) -> Self {
        self.content_type = media_type.into();
        self.body = body.into();
        self
    }

    /// What the request addresses, in words of the protocol: `people(PartitionKey='p',RowKey='r')`, `jobs/messages`.
    pub(crate) fn subject(&self) -> Cow<'_, str> {
        if let Some(subject) = &self.subject {
            return subject.into();
        }
        let path = self.path.trim_start_matches('/');
        let path = path.strip_suffix("()").unwrap_or(path);
        decode_path(path).unwrap_or(path.into())
    }

    /// Path and query as on the request line; `signature` is a shared access signature.
    pub(crate) fn target(&self, endpoint: &Endpoint, signature: Option<&str>) -> String {
        let mut target = format!("{}{}", endpoint.path(), self.path);
        let query = Some(self.query.as_str()).filter(|query| !query.is_empty());
        for (separator, part) in ['?', '&']
            .into_iter()
            .zip(query.into_iter().chain(signature))
        {
            target.push(separator);
            target.push_str(part);
        }
        target
    }
}

/// A name as a segment of a path. Valid names need no encoding; invalid ones must not address another path.
pub(crate) fn encoded(name: &str) -> String {
    let mut query = String::new();
    push_query_parameter("", name, &mut query);
    query.split_off(1)
}
