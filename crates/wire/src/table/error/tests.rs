use super::*;
use crate::table::Operation;
use crate::testing::target;
use crate::{ErrorCode, Failure, Occurrence, invalid_name};
use partita_model::{DateTime, InvalidName};
use std::collections::HashMap;

fn occurrence(batch_index: Option<usize>) -> Occurrence<'static> {
    Occurrence {
        request_id: "c1a3a4c2-6002-00f2-6b8e-ae2ac2000000",
        time: DateTime::parse("2021-09-21T01:04:37.96784Z").unwrap(),
        batch_index,
    }
}

fn json(failure: &Failure, index: Option<usize>) -> String {
    let mut out = Vec::new();
    write_error_json(failure, &occurrence(index), &mut out);
    String::from_utf8(out).unwrap()
}

fn xml(failure: &Failure) -> String {
    let mut out = Vec::new();
    write_error_xml(failure, &occurrence(None), &mut out);
    String::from_utf8(out).unwrap()
}

/// The statuses in the service documents, each with its codes.
const BY_STATUS: &[(u16, &[&str])] = &[
    (
        400,
        &[
            "InvalidInput",
            "InvalidHeaderValue",
            "InvalidQueryParameterValue",
            "OutOfRangeInput",
            "OutOfRangeQueryParameterValue",
            "InvalidUri",
            "RequestUrlFailedToParse",
            "InvalidHttpVerb",
            "InvalidMd5",
            "Md5Mismatch",
            "InvalidXmlDocument",
            "InvalidXmlNodeValue",
            "MissingRequiredHeader",
            "MissingRequiredQueryParameter",
            "MissingRequiredXmlNode",
            "UnsupportedHeader",
            "UnsupportedQueryParameter",
            "UnsupportedXmlNode",
            "InvalidAuthenticationInfo",
            "InvalidResourceName",
            "ConditionHeadersNotSupported",
            "MultipleConditionHeadersNotSupported",
            "HostInformationNotPresent",
            "PropertiesNeedValue",
            "PropertyNameInvalid",
            "PropertyNameTooLong",
            "PropertyValueTooLarge",
            "KeyValueTooLarge",
            "TooManyProperties",
            "EntityTooLarge",
            "DuplicatePropertiesSpecified",
            "DuplicateKeyPropertySpecified",
            "PartitionKeyNotSpecified",
            "PartitionKeyPropertyCannotBeUpdated",
            "PrimaryKeyPropertyIsInvalidType",
            "InvalidValueType",
            "OperatorInvalid",
            "TableHasNoProperties",
            "TableHasNoSuchProperty",
            "InvalidDuplicateRow",
            "CommandsInBatchActOnDifferentPartitions",
            "BatchOperationNotSupported",
            "XMethodNotUsingPost",
            "XMethodIncorrectCount",
            "XMethodIncorrectValue",
        ],
    ),
    (
        401,
        &["InvalidAuthenticationInfo", "NoAuthenticationInformation"],
    ),
    (
        403,
        &[
            "AuthenticationFailed",
            "AccountIsDisabled",
            "InsufficientAccountPermissions",
            "AuthorizationFailure",
            "AuthorizationServiceMismatch",
            "AuthorizationResourceTypeMismatch",
            "AuthorizationPermissionMismatch",
            "AuthorizationProtocolMismatch",
            "AuthorizationSourceIPMismatch",
            "CorsPreflightFailure",
        ],
    ),
    (
        404,
        &["ResourceNotFound", "TableNotFound", "EntityNotFound"],
    ),
    (405, &["MethodNotAllowed", "UnsupportedHttpVerb"]),
    (
        409,
        &[
            "ResourceAlreadyExists",
            "AccountBeingCreated",
            "ResourceTypeMismatch",
            "TableAlreadyExists",
            "TableBeingDeleted",
            "EntityAlreadyExists",
        ],
    ),
    (411, &["MissingContentLengthHeader"]),
    (412, &["UpdateConditionNotSatisfied", "ConditionNotMet"]),
    (413, &["RequestBodyTooLarge", "ContentLengthExceeded"]),
    (
        415,
        &[
            "MediaTypeNotSupported",
            "JsonFormatNotSupported",
            "AtomFormatNotSupported",
            "JsonVerboseFormatNotSupported",
        ],
    ),
    (
        500,
        &[
            "InternalError",
            "OperationTimedOut",
            "TableServerOutOfMemory",
        ],
    ),
    (501, &["NotImplemented"]),
    (503, &["ServerBusy"]),
];

#[test]
fn every_code_has_the_documented_status() {
    let mut listed: HashMap<(&str, u16), bool> = HashMap::new();
    for (status, names) in BY_STATUS {
        for name in *names {
            assert!(
                listed.insert((name, *status), false).is_none(),
                "{name} twice"
            );
        }
    }
    for code in ERROR_CODES {
        let seen = listed.get_mut(&(code.name(), code.status()));
        let seen = seen.unwrap_or_else(|| panic!("{code} {} is not listed", code.status()));
        assert!(!*seen, "{code} has two variants of one status");
        *seen = true;
        assert!(!code.text().is_empty(), "{code}");
    }
    let missing: Vec<_> = listed.iter().filter(|(_, seen)| !**seen).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_code_is_found_by_its_name() {
    for (index, &code) in ERROR_CODES.iter().enumerate() {
        assert_eq!(code.index(), index);
        assert_eq!(
            ErrorCode::find(ERROR_CODES, code.name(), code.status()),
            Some(code)
        );
        let other = ErrorCode::find(ERROR_CODES, code.name(), 200).unwrap();
        assert_eq!(other.name(), code.name());
    }
    assert_eq!(ErrorCode::find(ERROR_CODES, "NoSuchCode", 400), None);
}

#[test]
fn every_code_writes_both_bodies() {
    for &code in ERROR_CODES {
        let failure = Failure::new(code);
        let value: serde_json::Value = serde_json::from_str(&json(&failure, None)).unwrap();
        assert_eq!(value["odata.error"]["code"], code.name());
        let text = value["odata.error"]["message"]["value"].as_str().unwrap();
        assert!(text.starts_with(code.text()), "{code}");
        assert!(xml(&failure).contains(&format!("<m:code>{}</m:code>", code.name())));
    }
}

#[test]
fn json_equals_that_of_the_service() {
    assert_eq!(
        json(&ErrorCode::TableNotFound.into(), None),
        "{\"odata.error\":{\"code\":\"TableNotFound\",\"message\":{\"lang\":\"en-US\",\"value\":\"\
         The table specified does not exist.\\nRequestId:c1a3a4c2-6002-00f2-6b8e-ae2ac2000000\\n\
         Time:2021-09-21T01:04:37.9678400Z\"}}}"
    );
    let failure = Failure::with_message(ErrorCode::InvalidInput, "a \"b\\c\u{1}é");
    assert!(json(&failure, Some(3)).contains("\"value\":\"3:a \\\"b\\\\c\\u0001é\\nRequestId:"));
}

#[test]
fn xml_equals_that_of_the_service() {
    assert_eq!(
        xml(&ErrorCode::InvalidXmlDocument.into()),
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"\
         http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>InvalidXmlDocument</m:code>\
         <m:message xml:lang=\"en-US\">XML specified is not syntactically valid.\n\
         RequestId:c1a3a4c2-6002-00f2-6b8e-ae2ac2000000\nTime:2021-09-21T01:04:37.9678400Z</m:message></m:error>"
    );
    let failure = Failure::header_value("x-ms-version", "<\u{1}&>");
    assert!(xml(&failure).ends_with(
        "</m:message><m:HeaderName>x-ms-version</m:HeaderName>\
         <m:HeaderValue>&lt;\u{FFFD}&amp;&gt;</m:HeaderValue></m:error>"
    ));
}

#[test]
fn the_form_follows_the_operation_unless_credentials_fail() {
    use BodyForm::{Json, PlainJson, Xml};
    let [query, acl] = [Operation::QueryEntities, Operation::GetTableAcl].map(Some);
    let missing = Failure::new(ErrorCode::TableNotFound);
    let refused = Failure::authentication("signature did not match");
    let key = Failure::new(ErrorCode::OutOfRangeInput);
    let range = Failure::new(ErrorCode::AuthorizationFailure);
    let secondary = Failure::new(ErrorCode::InsufficientAccountPermissions);
    let [short, bad] = [InvalidName::Length, InvalidName::Characters].map(invalid_name);
    for (failure, operation, [asked, not_asked]) in [
        (&missing, query, [Json, Json]),
        (&missing, acl, [Xml, Xml]),
        (&missing, None, [PlainJson, Xml]),
        (&refused, query, [PlainJson, Xml]),
        (&refused, acl, [Xml, Xml]),
        (&refused, None, [PlainJson, Xml]),
        (&key, None, [Json, Json]),
        (&range, query, [Json, Json]),
        (&secondary, None, [PlainJson, Xml]),
        (&short, None, [PlainJson, Xml]),
        (&bad, None, [PlainJson, Xml]),
        (&bad, Some(Operation::CreateTable), [Json, Json]),
    ] {
        let forms = [true, false].map(|asks| error_form(failure, operation, || asks));
        assert_eq!(forms, [asked, not_asked], "{failure} {operation:?}");
    }
}

#[test]
fn requests_for_tables_entities_and_batches_can_ask_for_json() {
    let asks = |path: &str, accept| asks_for_json(&target(path, "127.0.0.1"), accept);
    let json = Some("application/json;odata=nometadata");
    for path in [
        "/acct/Tables",
        "/acct/T()?timeout=5",
        "/acct/T(PartitionKey='a',RowKey='b')",
        "/acct-secondary/T",
        "/acct/$batch",
        "/acct/T?comp=partita-settings",
    ] {
        assert!(asks(path, json), "{path}");
        assert!(asks(path, Some("text/html, Application/JSON")), "{path}");
        assert!(!asks(path, None), "{path}");
        for accept in ["*/*", "", "application/atom+xml", "application/xml"] {
            assert!(!asks(path, Some(accept)), "{path} {accept}");
        }
    }
    assert!(asks("/acct/T?$format=application/json;odata=x", None));
    assert!(asks("/acct/T?%24format=json", Some("application/xml")));
    assert!(!asks("/acct/T?$format=application/atom%2Bxml", json));
    for path in [
        "/acct/",
        "/acct?restype=service&comp=properties",
        "/acct-secondary/?restype=service&comp=stats",
        "/acct/T?comp=acl",
        "/acct/T?comp=",
        "/acct/T?comp=%FF",
    ] {
        assert!(!asks(path, json), "{path}");
    }
}
