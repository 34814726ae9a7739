//! A request before it is signed: what stays the same over all of its attempts.

use crate::Endpoint;
use crate::pipeline::AttemptError;
use crate::transport::Answer;
use bytes::Bytes;
use http::header::HeaderName;
use partita_wire::{Method, push_query_parameter};
use std::borrow::Cow;

/// A header of one protocol, with its value.
pub(crate) type ExtraHeader = (HeaderName, &'static str);

/// Looks for a failure inside an answer.
type Inspect = fn(&Answer) -> Result<(), AttemptError>;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The operation's name, as in the service's analytics logs.
    pub(crate) operation: &'static str,
    /// Whether the operation may change something.
    pub(crate) is_write: bool,
    pub(crate) method: Method,
    /// Encoded, below the endpoint's path, beginning with `/`.
    pub(crate) path: String,
    /// Encoded, without `?` and without a signature.
    pub(crate) query: String,
    pub(crate) if_match: Option<String>,
    /// The media type of the answer.
    pub(crate) accept: &'static str,
    /// Headers that only the protocol of the request has.
    pub(crate) extra_headers: [Option<ExtraHeader>; 2],
    /// The media type of the body; empty without one.
    pub(crate) content_type: Cow<'static, str>,
    pub(crate) body: Bytes,
    /// Whether it goes to the secondary.
    pub(crate) secondary: bool,
    /// Finds the failure inside an answer whose status is that of a success: a batch has one.
    pub(crate) inspect: Option<Inspect>,
}

impl Request {
    pub(crate) fn with_parameter(mut self, name: &str, value: &str) -> Self {
        push_query_parameter(name, value, &mut self.query);
        self
    }

    pub(crate) fn with_body(mut self, media_type: &'static str, body: Vec<u8>) -> Self {
        self.content_type = media_type.into();
        self.body = body.into();
        self
    }

    /// Path and query as on the request line; `signature` is a shared access signature.
    pub(crate) fn target(&self, endpoint: &Endpoint, signature: Option<&str>) -> String {
        let mut target = format!("{}{}", endpoint.path(), self.path);
        let query = Some(self.query.as_str()).filter(|query| !query.is_empty());
        for (mark, part) in ["?", "&"]
            .into_iter()
            .zip(query.into_iter().chain(signature))
        {
            target.push_str(mark);
            target.push_str(part);
        }
        target
    }
}
