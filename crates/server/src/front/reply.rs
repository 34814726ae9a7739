//! An answer before it is sent.

use super::answer_body::AnswerBody;
use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use partita_wire::ErrorCode;

pub(super) const X_MS_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
pub(super) const X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub(super) const X_MS_CLIENT_REQUEST_ID: HeaderName =
    HeaderName::from_static("x-ms-client-request-id");
pub(super) const X_MS_ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");
pub(super) const X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
pub(super) const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");
pub(super) const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
pub(super) const X_PARTITA_HINT: HeaderName = HeaderName::from_static("x-partita-hint");
pub(super) const X_PARTITA_REASON: HeaderName = HeaderName::from_static("x-partita-reason");

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// Status, headers and body of an answer. The headers that every answer has are added just before sending.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    /// The phrase after the status; `None` for that of the status.
    pub(super) reason: Option<ReasonPhrase>,
    pub(super) headers: HeaderMap,
    pub(super) body: AnswerBody,
    /// The storage error code, if it is an error.
    pub(super) code: Option<ErrorCode>,
    /// The reason code, if the request was not executed.
    pub(super) busy: Option<&'static str>,
    /// Entities in the body.
    pub(super) entities: u64,
    /// Whether it is the complete answer of another server of the cluster.
    pub(super) is_passed_on: bool,
}

impl Reply {
    /// An answer without a body.
    pub(super) fn new(status: StatusCode) -> Self {
        let headers = HeaderMap::with_capacity(16);
        Self {
            status,
            reason: None,
            headers,
            body: AnswerBody::default(),
            code: None,
            busy: None,
            entities: 0,
            is_passed_on: false,
        }
    }

    /// An answer that clients must not cache, and whose media type they must not guess.
    pub(super) fn uncached(status: StatusCode) -> Self {
        let mut reply = Self::new(status);
        reply.headers.insert(header::CACHE_CONTROL, NO_CACHE);
        reply
            .headers
            .insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        reply
    }

    /// Adds a body.
    pub(super) fn body(self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.pieces(content_type, body.into().into())
    }

    /// Adds a body in pieces.
    pub(super) fn pieces(mut self, content_type: &'static str, body: AnswerBody) -> Self {
        self.headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.body = body;
        self
    }

    /// Makes the answer the last one of its connection.
    pub(super) fn close(&mut self) {
        self.headers
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
        self.headers.remove(&KEEP_ALIVE);
    }

    /// Adds a header whose value depends on the request. A value with characters that a header does not allow is
    /// omitted. Clients never need such a value: keys in URLs and tokens are encoded.
    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// The answer as hyper sends it.
    pub(super) fn into_response(self) -> Response<AnswerBody> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        if let Some(reason) = self.reason {
            response.extensions_mut().insert(reason);
        }
        response
    }
}
