//! Failures with the elements that the service adds to their bodies.

use crate::xml::Malformed;
use crate::{ErrorCode, Failure};

/// 400 InvalidQueryParameterValue with a reason.
pub(in crate::queue) fn with_reason(name: &str, value: &str, reason: &'static str) -> Failure {
    Failure::query_parameter(name, value).detail("Reason", reason)
}

/// 400 OutOfRangeQueryParameterValue with the allowed values (recording
/// js--queueclient_message_methods_enqueue_peek_and_dequeue_negative).
pub(in crate::queue) fn out_of_range(name: &str, value: &str, min: i64, max: i64) -> Failure {
    Failure::new(ErrorCode::OutOfRangeQueryParameterValue)
        .detail("QueryParameterName", name)
        .detail("QueryParameterValue", value)
        .detail("MinimumAllowed", min.to_string())
        .detail("MaximumAllowed", max.to_string())
}

/// 400 MissingRequiredQueryParameter.
pub(in crate::queue) fn missing_parameter(name: &str) -> Failure {
    Failure::new(ErrorCode::MissingRequiredQueryParameter).detail("QueryParameterName", name)
}

/// The failure for a `popreceipt` that is not a pop receipt (recording
/// js--queueclient_messageid_methods_delete_message_negative).
pub fn invalid_pop_receipt(value: &str) -> Failure {
    with_reason("popreceipt", value, "Invalid pop receipt format")
}

/// The failure of Update Message for a visibility timeout that ends after the message expires. The code is that of
/// Put Message for a visibility timeout that is not shorter than the time to live; no recording has this case.
pub fn visibility_after_expiry(seconds: u64) -> Failure {
    with_reason(
        "visibilitytimeout",
        &seconds.to_string(),
        "The visibility timeout must end before the message expires",
    )
}

/// 400 InvalidXmlDocument without a place: the body is XML, but not of this operation, or has an invalid value
/// (recording js--queueclient_setaccesspolicy_negative).
pub fn invalid_xml() -> Failure {
    ErrorCode::InvalidXmlDocument.into()
}

/// 400 InvalidXmlDocument with the line and the column of the first character that is not XML, both from one, columns in
/// UTF-16 code units (recording python--test_queue_encodings_test_message_text_xml_invalid_chars).
pub(in crate::queue) fn malformed_xml(body: &[u8], malformed: Malformed) -> Failure {
    let Some(read) = malformed.at.and_then(|at| body.get(..at)) else {
        return invalid_xml();
    };
    let read = String::from_utf8_lossy(read);
    let read = read.strip_prefix('\u{FEFF}').unwrap_or(&read);
    let last_line = read.rsplit('\n').next().unwrap_or_default();
    let line = read.matches('\n').count() + 1;
    let column = partita_model::utf16_len(last_line) + 1;
    Failure::new(ErrorCode::InvalidXmlDocument)
        .detail("LineNumber", line.to_string())
        .detail("LinePosition", column.to_string())
        .detail("Reason", "Error parsing Xml content")
}
