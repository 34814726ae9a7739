//! The two shapes of an error body.
//!
//! Errors of operations on entities and tables are OData JSON. Errors of operations with XML bodies, and refused
//! credentials, are XML.

use crate::table::Operation;
use crate::{ErrorCode, Failure, Occurrence, json, xml};

/// The shape of an error body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// `{"odata.error":…}`; its content type names a metadata level.
    Json,
    /// `<m:error>…`, as `application/xml`, with the code also in the header `x-ms-error-code`.
    Xml,
}

/// The shape of the body for an operation; `None` if the request failed before its operation was known.
///
/// Errors of refused credentials are always XML. If a valid SAS lacks a permission, the error has the form of the
/// operation (recordings net--TableServiceClientLiveTests_ValidateAccountSasCredentialsWithResourceTypes,
/// python--test_table_entity_test_sas_add_outside_range). If the operation is not known yet, errors of OData (about
/// keys and methods) are JSON, all others XML.
pub fn error_form(failure: &Failure, operation: Option<Operation>) -> BodyForm {
    use ErrorCode as E;
    let is_json = match operation {
        _ if failure.code.refuses_credentials() => false,
        Some(operation) => !operation.answers_xml(),
        None => matches!(
            failure.code,
            E::InvalidInput
                | E::OutOfRangeInput
                | E::MethodNotAllowed
                | E::NotImplemented
                | E::MissingRequiredHeader
                | E::XMethodNotUsingPost
                | E::XMethodIncorrectCount
                | E::XMethodIncorrectValue
        ),
    };
    if is_json {
        BodyForm::Json
    } else {
        BodyForm::Xml
    }
}

/// Appends the OData JSON body. It is the same at every metadata level; only the content type differs.
pub fn write_error_json(failure: &Failure, occurrence: &Occurrence<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"odata.error\":{\"code\":\"");
    out.extend_from_slice(failure.code.name().as_bytes());
    out.extend_from_slice(b"\",\"message\":{\"lang\":\"en-US\",\"value\":\"");
    failure.write_text(occurrence, out, json::push_text);
    out.extend_from_slice(b"\"}}}");
}

/// Appends the XML body: declaration and `m:error`, without a byte order mark (recordings of `comp=acl` errors).
pub fn write_error_xml(failure: &Failure, occurrence: &Occurrence<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"");
    out.extend_from_slice(b"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">");
    out.extend_from_slice(b"<m:code>");
    out.extend_from_slice(failure.code.name().as_bytes());
    out.extend_from_slice(b"</m:code><m:message xml:lang=\"en-US\">");
    failure.write_text(occurrence, out, xml::push_text);
    out.extend_from_slice(b"</m:message>");
    for (name, text) in &failure.details {
        let name = format!("m:{name}");
        xml::write_start(&name, out);
        xml::push_text(text, out);
        xml::write_end(&name, out);
    }
    out.extend_from_slice(b"</m:error>");
}
