//! A request before it is signed: what stays the same over all of its attempts.

use crate::Endpoint;
use bytes::Bytes;
use partita_wire::{Method, Operation, push_query_parameter};

/// The media type that is asked for: types where JSON does not show them, ETags, nothing else.
const JSON: &str = "application/json;odata=minimalmetadata";
const XML: &str = "application/xml";

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) method: Method,
    /// Encoded, below the endpoint's path, beginning with `/`.
    pub(crate) path: String,
    /// Encoded, without `?` and without a signature.
    pub(crate) query: String,
    pub(crate) if_match: Option<String>,
    /// Whether a write shall not be answered with what was written.
    pub(crate) quiet: bool,
    /// The media type of the body; empty without one.
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
    /// Whether it goes to the secondary.
    pub(crate) secondary: bool,
}

impl Request {
    pub(crate) fn new(operation: Operation, method: Method, path: String) -> Self {
        Self {
            operation,
            method,
            path,
            query: String::new(),
            if_match: None,
            quiet: false,
            content_type: String::new(),
            body: Bytes::new(),
            secondary: false,
        }
    }

    pub(crate) fn with_parameter(mut self, name: &str, value: &str) -> Self {
        push_query_parameter(name, value, &mut self.query);
        self
    }

    /// A body in the form of the operation.
    pub(crate) fn with_body(mut self, body: Vec<u8>) -> Self {
        let media_type = if self.operation.answers_xml() {
            XML
        } else {
            "application/json"
        };
        self.content_type = media_type.to_owned();
        self.body = body.into();
        self
    }

    /// What the answer may be written in.
    pub(crate) fn accept(&self) -> &'static str {
        match self.operation {
            operation if operation.answers_xml() => XML,
            _ => JSON,
        }
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
