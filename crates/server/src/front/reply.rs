//! An answer before it is sent.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use partita_wire::ErrorCode;

pub(super) const X_MS_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
pub(super) const X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub(super) const X_MS_CLIENT_REQUEST_ID: HeaderName =
    HeaderName::from_static("x-ms-client-request-id");
pub(super) const X_MS_ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");
pub(super) const X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
pub(super) const X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");
pub(super) const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
pub(super) const DATA_SERVICE_ID: HeaderName = HeaderName::from_static("dataserviceid");
pub(super) const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
pub(super) const NEXT_PARTITION_KEY: HeaderName =
    HeaderName::from_static("x-ms-continuation-nextpartitionkey");
pub(super) const NEXT_ROW_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
pub(super) const NEXT_TABLE_NAME: HeaderName =
    HeaderName::from_static("x-ms-continuation-nexttablename");
pub(super) const X_PARTITA_EXPLAIN: HeaderName = HeaderName::from_static("x-partita-explain");
pub(super) const X_PARTITA_REASON: HeaderName = HeaderName::from_static("x-partita-reason");

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// Status, headers and body of an answer; what every answer carries comes on top when it is sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The storage error code, if it is an error.
    pub(super) code: Option<ErrorCode>,
    /// Why it was not executed, in a word, if it was not.
    pub(super) busy: Option<&'static str>,
    /// Entities in the body.
    pub(super) entities: u64,
}

impl Reply {
    /// An answer without a body.
    pub(super) fn new(status: StatusCode) -> Self {
        let headers = HeaderMap::with_capacity(16);
        Self {
            status,
            headers,
            body: Bytes::new(),
            code: None,
            busy: None,
            entities: 0,
        }
    }

    /// An answer of a table or entity operation: not to be cached, nor guessed at.
    pub(super) fn of_tables(status: StatusCode) -> Self {
        let mut reply = Self::new(status);
        reply.headers.insert(header::CACHE_CONTROL, NO_CACHE);
        reply
            .headers
            .insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        reply
    }

    /// With a body.
    pub(super) fn body(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.body = body.into();
        self
    }

    /// With a header whose value was made of what a client sent; left out where no header can carry it (it is then not
    /// one that the client waits for: keys in URLs and tokens are encoded).
    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}
