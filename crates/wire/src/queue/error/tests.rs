use super::*;
use crate::{ErrorCode, Failure, Occurrence};
use partita_model::DateTime;

fn written(failure: &Failure) -> String {
    let at = Occurrence {
        request_id: "c1a3a4c2-6002-00f2-6b8e-ae2ac2000000",
        time: DateTime::parse("2021-09-21T01:04:37.96784Z").unwrap(),
        batch_index: None,
    };
    let mut out = Vec::new();
    write_error_xml(failure, &at, &mut out);
    String::from_utf8(out).unwrap()
}

/// The body as recorded, with this text and these elements after the message.
fn body(code: &str, text: &str, more: &str) -> String {
    format!(
        "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>{text}\n\
         RequestId:c1a3a4c2-6002-00f2-6b8e-ae2ac2000000\nTime:2021-09-21T01:04:37.9678400Z</Message>{more}</Error>"
    )
}

/// Recordings net--MessageClientTests_ClearAsync_Error, js--queueclient_setaccesspolicy_negative,
/// js--queueclient_messageid_methods_delete_message_negative and
/// js--queueclient_message_methods_enqueue_peek_and_dequeue_negative.
#[test]
fn bodies_equal_those_of_the_service() {
    let value = "Value for one of the query parameters specified in the request URI is invalid.";
    let range = "One of the query parameters specified in the request URI is outside the permissible range.";
    for (failure, code, text, more) in [
        (
            ErrorCode::QueueNotFound.into(),
            "QueueNotFound",
            "The specified queue does not exist.",
            "",
        ),
        (
            ErrorCode::InvalidResourceName.into(),
            "InvalidResourceName",
            "The specifed resource name contains invalid characters.",
            "",
        ),
        (
            invalid_xml(),
            "InvalidXmlDocument",
            "XML specified is not syntactically valid.",
            "<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />",
        ),
        (
            invalid_pop_receipt("invalid"),
            "InvalidQueryParameterValue",
            value,
            "<QueryParameterName>popreceipt</QueryParameterName><QueryParameterValue>invalid</QueryParameterValue>\
             <Reason>Invalid pop receipt format</Reason>",
        ),
        (
            Failure::query_parameter("comp", ""),
            "InvalidQueryParameterValue",
            value,
            "<QueryParameterName>comp</QueryParameterName><QueryParameterValue /><Reason />",
        ),
        (
            out_of_range("numofmessages", "100", 1, 32),
            "OutOfRangeQueryParameterValue",
            range,
            "<QueryParameterName>numofmessages</QueryParameterName><QueryParameterValue>100</QueryParameterValue>\
             <MinimumAllowed>1</MinimumAllowed><MaximumAllowed>32</MaximumAllowed>",
        ),
    ] {
        assert_eq!(written(&failure), body(code, text, more));
    }
}

#[test]
fn values_are_escaped() {
    let body = written(&invalid_pop_receipt("<\u{1}&"));
    assert!(body.contains("<QueryParameterValue>&lt;\u{FFFD}&amp;</QueryParameterValue>"));
}

#[test]
fn every_code_is_found_by_its_name() {
    for (index, &code) in ERROR_CODES.iter().enumerate() {
        assert_eq!(code.index(), index);
        let found = ErrorCode::find(ERROR_CODES, code.name(), code.status());
        assert_eq!(found, Some(code));
        let read = crate::ErrorBody::read(written(&code.into()).as_bytes()).unwrap();
        assert_eq!(read.code, code.name());
        assert!(read.message.starts_with(code.text()), "{code}");
    }
}

/// The statuses in the service document "Queue Service Error Codes".
#[test]
fn codes_have_the_documented_status() {
    for (status, names) in [
        (
            400,
            &[
                "InvalidMarker",
                "EmptyMetadataKey",
                "InvalidMetadata",
                "MetadataTooLarge",
                "MessageTooLarge",
                "PopReceiptMismatch",
            ][..],
        ),
        (404, &["QueueNotFound", "MessageNotFound"]),
        (
            409,
            &[
                "QueueAlreadyExists",
                "QueueBeingDeleted",
                "QueueDisabled",
                "QueueNotEmpty",
            ],
        ),
        (413, &["RequestBodyTooLarge"]),
    ] {
        for name in names {
            let code = ErrorCode::find(ERROR_CODES, name, status).unwrap();
            assert_eq!(code.status(), status, "{name}");
        }
    }
    assert_eq!(ERROR_CODES.len(), crate::COMMON_ERROR_CODES.len() + 12);
}
