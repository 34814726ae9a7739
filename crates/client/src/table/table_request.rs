//! Requests of the Table protocol: headers and Shared Key signature.

use crate::pipeline::{Protocol, Unsigned};
use crate::request::Request;
use bytes::Bytes;
use http::header::HeaderName;
use partita_wire::table::{Operation, SignedRequest};
use partita_wire::{Failure, Method, Query, Style, Target};
use std::borrow::Cow;

/// The requested media type. Answers then contain ETags, and type annotations where JSON is ambiguous.
const JSON: &str = "application/json;odata=minimalmetadata";
/// The media type of entities and tables.
pub(super) const JSON_BODY: &str = "application/json";
/// The media type of access policies, service properties and stats.
pub(super) const XML: &str = "application/xml";

/// The protocol version of the official Table SDKs. Bearer tokens need a newer version (protocol: "Authorize access to
/// tables using Microsoft Entra ID").
pub(crate) const PROTOCOL: Protocol = Protocol {
    version: "2019-02-02",
    token_version: "2020-12-06",
    authorization,
};

/// A request without parameters, condition and body.
pub(super) fn table_request(operation: Operation, method: Method, path: String) -> Request {
    let version = (HeaderName::from_static("dataserviceversion"), "3.0");
    let (accept, version) = if operation.answers_xml() {
        (XML, None)
    } else {
        (JSON, Some(version))
    };
    Request {
        operation: operation.name(),
        is_write: operation.is_write(),
        method,
        path,
        query: String::new(),
        if_match: None,
        accept,
        extra_headers: [version, None],
        content_type: Cow::Borrowed(""),
        body: Bytes::new(),
        secondary: false,
        inspect: None,
    }
}

/// Requests an answer without the written data.
pub(super) fn without_content(mut request: Request) -> Request {
    let prefer = (HeaderName::from_static("prefer"), "return-no-content");
    request.extra_headers[1] = Some(prefer);
    request
}

fn authorization(unsigned: &Unsigned<'_>) -> Result<String, Failure> {
    let (request, endpoint) = (unsigned.request, unsigned.endpoint);
    let target = unsigned.target;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let target = Target {
        account: unsigned.account.into(),
        secondary: request.secondary,
        style: if endpoint.path().is_empty() {
            Style::Host
        } else {
            Style::Path
        },
        host: endpoint.authority(),
        path,
        rest: path,
        query: Query::new(query),
    };
    let signed = SignedRequest {
        method: request.method.name(),
        content_md5: "",
        content_type: &request.content_type,
        date: unsigned.date,
        target: &target,
    };
    signed.authorization(unsigned.key, false)
}
