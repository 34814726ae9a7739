//! Requests of the Table protocol: headers and Shared Key signature.

use crate::pipeline::{Protocol, Unsigned};
use crate::request::{Request, XML};
use http::header::HeaderName;
use partita_wire::table::{Operation, SignedRequest};
use partita_wire::{Failure, Method, ServiceKind};

/// The requested media type. Answers then contain ETags, and type annotations where JSON is ambiguous.
const JSON: &str = "application/json;odata=minimalmetadata";
/// The media type of entities and tables.
pub(super) const JSON_BODY: &str = "application/json";

/// The protocol version of the official Table SDKs. Bearer tokens need a newer version (protocol: "Authorize access to
/// tables using Microsoft Entra ID").
pub(crate) const PROTOCOL: Protocol = Protocol {
    service: ServiceKind::Table,
    version: "2019-02-02",
    token_version: "2020-12-06",
    authorization,
};

/// A request without parameters, condition and body.
pub(super) fn table_request(operation: Operation, method: Method, path: String) -> Request {
    let is_xml = operation.answers_xml();
    let (name, is_write) = (operation.name(), operation.is_write());
    let accept = if is_xml { XML } else { JSON };
    let request = Request::new(name, is_write, method, path, accept);
    if is_xml {
        return request;
    }
    request.with_header(HeaderName::from_static("dataserviceversion"), "3.0")
}

/// Requests an answer without the written data.
pub(super) fn without_content(request: Request) -> Request {
    request.with_header(HeaderName::from_static("prefer"), "return-no-content")
}

fn authorization(unsigned: &Unsigned<'_>) -> Result<String, Failure> {
    let (request, target) = (unsigned.request, unsigned.target());
    let signed = SignedRequest {
        method: request.method.name(),
        content_md5: "",
        content_type: &request.content_type,
        date: unsigned.date,
        target: &target,
    };
    signed.authorization(unsigned.key, false)
}
