//! The two shapes of an error body.
//!
//! Errors of operations on entities and tables are OData JSON, errors of operations with XML bodies are XML. A request that is
//! refused before its operation gets JSON if it asks for JSON, else XML (azure-sdk-for-python, recordings of test_table_batch
//! test_new_invalid_key: JSON for `Accept: application/json`, XML for `*/*`).

use crate::table::Operation;
use crate::table::accept::names_json;
use crate::{ErrorCode, Failure, Occurrence, Target, json, xml};

/// The shape of an error body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// `{"odata.error":…}`; its content type names a metadata level.
    Json,
    /// `{"odata.error":…}` of a request refused before its operation, as plain `application/json`, with the code also in the
    /// header `x-ms-error-code`.
    PlainJson,
    /// `<m:error>…`, as `application/xml`, with the code also in the header `x-ms-error-code`.
    Xml,
}

/// The shape of the body for an operation; `None` if the request failed before its operation was known. The closure
/// `asks_for_json` returns the result of the function [`asks_for_json`], and false for a request of an unknown version
/// or of one without JSON.
///
/// If a valid SAS lacks a permission, the error has the form of the operation (recordings
/// net--TableServiceClientLiveTests_ValidateAccountSasCredentialsWithResourceTypes,
/// python--test_table_entity_test_sas_add_outside_range). Before the operation is known, OData's own errors (of keys
/// and methods) are OData JSON.
pub fn error_form(
    failure: &Failure,
    operation: Option<Operation>,
    asks_for_json: impl FnOnce() -> bool,
) -> BodyForm {
    let is_odata = match operation {
        Some(operation) if operation.answers_xml() => return BodyForm::Xml,
        Some(_) => !failure.code.refuses_credentials(),
        None => is_of_odata(failure),
    };
    if is_odata {
        BodyForm::Json
    } else if asks_for_json() {
        BodyForm::PlainJson
    } else {
        BodyForm::Xml
    }
}

/// Whether the OData library of the service reports this failure. The service checks table names before the library
/// runs; the library checks keys.
fn is_of_odata(failure: &Failure) -> bool {
    use ErrorCode as E;
    match failure.code {
        E::OutOfRangeInput => failure.message.is_none(),
        code => matches!(
            code,
            E::InvalidInput
                | E::MethodNotAllowed
                | E::NotImplemented
                | E::MissingRequiredHeader
                | E::XMethodNotUsingPost
                | E::XMethodIncorrectCount
                | E::XMethodIncorrectValue
        ),
    }
}

/// Whether a request that is refused before its operation asks for errors in JSON: the request addresses tables,
/// entities or a batch, and `$format` names JSON or, without `$format`, `Accept` does. The service itself and policies
/// have XML bodies only.
pub fn asks_for_json(target: &Target<'_>, accept: Option<&str>) -> bool {
    let query = target.query;
    let comp = query.get("comp");
    let has_json = comp.is_ok_and(|comp| comp.is_none_or(|comp| is_extension(&comp)));
    if !has_json || target.rest.trim_matches('/').is_empty() {
        return false;
    }
    match query.get("$format") {
        Ok(Some(format)) => names_json(&format),
        _ => accept.is_some_and(names_json),
    }
}

/// Whether `comp` names an operation of Partita's own, whose bodies are JSON.
fn is_extension(comp: &str) -> bool {
    let start = comp.get(..8);
    start.is_some_and(|start| start.eq_ignore_ascii_case("partita-"))
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
