use super::*;
use crate::table::{MetadataLevel, Select};
use crate::testing::{any_value, stored};
use crate::{ErrorCode, Failure};
use partita_model::{
    DateTime, Entity, EntityDraft, Guid, Properties, PropertiesBuilder, Value, ValueRef,
};
use proptest::prelude::*;
use std::borrow::Cow;

const AT: &str = "2021-09-21T01:04:37.9678478Z";

fn read(body: &str) -> EntityDraft {
    read_entity(body.as_bytes()).unwrap_or_else(|failure| panic!("{failure} for {body}"))
}

fn refused(body: &str) -> Failure {
    match read_entity(body.as_bytes()) {
        Err(failure) => failure,
        Ok(draft) => panic!("{body} was read as {draft:?}"),
    }
}

fn values(properties: &Properties) -> Vec<(String, Value)> {
    let stored = properties.view(DateTime::UNIX_EPOCH);
    let owned = stored.iter().map(|property| {
        let property = property.unwrap();
        (property.name.to_owned(), property.value.to_value())
    });
    owned.collect()
}

/// The value of a body with a single property.
fn value(body: &str) -> Value {
    let mut values = values(&read(body).properties);
    assert_eq!(values.len(), 1, "{body}");
    values.remove(0).1
}

#[test]
fn types_without_annotation() {
    for (json, expected) in [
        ("\"a\"", Value::String("a".into())),
        ("\"\"", Value::String(String::new())),
        (r#""é😀""#, Value::String("é\u{1F600}".into())),
        ("true", Value::Boolean(true)),
        ("false", Value::Boolean(false)),
        ("5", Value::Int32(5)),
        ("-2147483648", Value::Int32(i32::MIN)),
        ("933311100", Value::Int32(933_311_100)),
        ("2147483648", Value::Double(2_147_483_648.0)),
        ("1099511627776", Value::Double(1_099_511_627_776.0)),
        (
            "123456789012345678901234567890",
            Value::Double(123_456_789_012_345_678_901_234_567_890.0),
        ),
        ("20.0", Value::Double(20.0)),
        ("1e2", Value::Double(100.0)),
    ] {
        let body = format!("{{\"p\":{json}}}");
        assert_eq!(value(&body), expected, "{json}");
    }
}

#[test]
fn types_by_annotation() {
    let guid = Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap();
    let date = DateTime::parse("2013-08-02T17:37:43.0090043Z").unwrap();
    for (edm, json, expected) in [
        ("String", "\"a\"", Value::String("a".into())),
        ("Int64", "\"123456789012\"", Value::Int64(123_456_789_012)),
        ("Int64", "\"-9223372036854775808\"", Value::Int64(i64::MIN)),
        (
            "Int64",
            "9007199254740993",
            Value::Int64(9_007_199_254_740_993),
        ),
        ("Int32", "7", Value::Int32(7)),
        ("Int32", "\"7\"", Value::Int32(7)),
        ("Double", "5", Value::Double(5.0)),
        ("Double", "5.5", Value::Double(5.5)),
        ("Double", "\"5\"", Value::Double(5.0)),
        (
            "Double",
            "\"1.23456789012346e+24\"",
            Value::Double(1.23456789012346e24),
        ),
        ("Double", "\"Infinity\"", Value::Double(f64::INFINITY)),
        ("Double", "\"-INF\"", Value::Double(f64::NEG_INFINITY)),
        ("Boolean", "true", Value::Boolean(true)),
        (
            "Guid",
            "\"C9DA6455-213D-42C9-9A79-3E9149A57833\"",
            Value::Guid(guid),
        ),
        (
            "DateTime",
            "\"2013-08-02T17:37:43.0090043Z\"",
            Value::DateTime(date),
        ),
        ("Binary", "\"AQIDBAU=\"", Value::Binary(vec![1, 2, 3, 4, 5])),
        (
            "Binary",
            "\"AQID\\nBAU=\"",
            Value::Binary(vec![1, 2, 3, 4, 5]),
        ),
        ("Binary", "\"\"", Value::Binary(vec![])),
    ] {
        let annotation = format!("\"p@odata.type\":\"Edm.{edm}\"");
        for body in [
            format!("{{{annotation},\"p\":{json}}}"),
            format!("{{\"p\":{json},{annotation}}}"),
            format!("{{\"p\":{json},\"PartitionKey\":\"x\",{annotation}}}"),
            format!("{{{annotation},\"odata.etag\":\"x\",\"RowKey\":\"x\",\"p\":{json}}}"),
            format!("{{\"p\\u0040odata.type\":\"Edm.{edm}\",\"\\u0070\":{json}}}"),
        ] {
            assert_eq!(value(&body), expected, "{body}");
        }
    }
    let nan = value(r#"{"p":"NaN","p@odata.type":"Edm.Double"}"#);
    assert!(matches!(nan, Value::Double(value) if value.is_nan()));
    let minus_zero = value(r#"{"p":-0.0}"#);
    assert!(matches!(minus_zero, Value::Double(value) if value.is_sign_positive()));
}

#[test]
fn values_that_do_not_fit_their_type_are_invalid() {
    for (edm, json) in [
        ("Int32", "2147483648"),
        ("Int32", "1.5"),
        ("Int64", "\"9223372036854775808\""),
        ("Int64", "1.5"),
        ("Int64", "\"\""),
        ("Double", "\"x\""),
        ("Double", "\"inf\""),
        ("Double", "\"nan\""),
        ("Double", "1e999"),
        ("Double", "\"1e999\""),
        ("Guid", "\"xyz\""),
        ("Guid", "5"),
        ("DateTime", "\"yesterday\""),
        ("Binary", "\"AQ\""),
        ("Binary", "\"!\""),
        ("Boolean", "\"yes\""),
        ("Boolean", "1"),
        ("String", "5"),
        ("String", "true"),
        ("Single", "1.5"),
        ("Decimal", "1"),
    ] {
        let failure = refused(&format!("{{\"p\":{json},\"p@odata.type\":\"Edm.{edm}\"}}"));
        assert_eq!(failure.code, ErrorCode::InvalidInput, "{edm} {json}");
        assert_eq!(
            failure.text(),
            "An error occurred while processing this request."
        );
    }
    for json in [
        "1e999",
        "-",
        "1-2",
        "1.2.3",
        "{}",
        "[]",
        "[1]",
        "{\"type\":\"x\"}",
    ] {
        assert_eq!(
            refused(&format!("{{\"p\":{json}}}")).code,
            ErrorCode::InvalidInput,
            "{json}"
        );
    }
}

#[test]
fn dates_before_1601_are_out_of_range() {
    let failure = refused(r#"{"When":"1600-12-31T23:59:59Z","When@odata.type":"Edm.DateTime"}"#);
    assert_eq!(failure.code, ErrorCode::OutOfRangeInput);
    let text = "The 'When' parameter of value '12/31/1600 23:59:59' is out of range.";
    assert_eq!(failure.text(), text);
}

#[test]
fn keys_are_read_and_foreign_members_ignored() {
    // Clients send entities back as they read them: with full metadata, nulls, and Timestamp in any form (recordings
    // net--TableClientLiveTests_BatchInsert: null; go--TestBatchErrorHandleResponse: year 1).
    let draft = read(
        r#"{"odata.metadata":"x","odata.type":"a.T","odata.id":"x","odata.etag":"x","odata.editLink":"x",
        "odata.other":{"a":[1,{"b":"]"}]},"x@odata.navigationLinkUrl":"y",
        "PartitionKey@odata.type":"Edm.String","PartitionKey":"p\"","RowKey":"r",
        "Timestamp@odata.type":"Edm.Whatever","Timestamp":"0001-01-01T00:00:00Z","gone":null,
        "gone2":null,"gone2@odata.type":"Edm.Int32","N":1} "#,
    );
    assert_eq!(draft.partition_key.as_deref(), Some("p\""));
    assert_eq!(draft.row_key.as_deref(), Some("r"));
    assert_eq!(
        values(&draft.properties),
        [("N".to_owned(), Value::Int32(1))]
    );

    let draft = read(r#"{"RowKey":null,"Timestamp":null,"S":"x"}"#);
    assert_eq!((draft.partition_key, draft.row_key), (None, None));
    assert_eq!(read("{}").properties.count(), 0);
    assert_eq!(read("\u{FEFF} { } ").properties.count(), 0);
}

#[test]
fn limits_have_their_codes() {
    let code = |body: &str| refused(body).code;
    assert_eq!(
        code(r#"{"a":1,"a":2}"#),
        ErrorCode::DuplicatePropertiesSpecified
    );
    let twice = r#"{"RowKey":"a","RowKey":"a"}"#;
    assert_eq!(code(twice), ErrorCode::DuplicatePropertiesSpecified);
    assert_eq!(code(r#"{"a-b":1}"#), ErrorCode::PropertyNameInvalid);
    assert_eq!(code(r#"{"":1}"#), ErrorCode::PropertyNameInvalid);
    // Recording python--test_table_entity_test_insert_entity_property_name_too_long.
    let long_name = format!("{{\"{}\":1}}", "a".repeat(256));
    assert_eq!(code(&long_name), ErrorCode::PropertyNameTooLong);
    let long_value = format!("{{\"a\":\"{}\"}}", "x".repeat(32 * 1024 + 1));
    assert_eq!(code(&long_value), ErrorCode::PropertyValueTooLarge);
    let many = |count: usize| {
        let members: Vec<String> = (0..count).map(|at| format!("\"p{at}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_eq!(read(&many(252)).properties.count(), 252);
    assert_eq!(code(&many(253)), ErrorCode::TooManyProperties);
    assert_eq!(code(&many(MEMBERS_MAX + 1)), ErrorCode::TooManyProperties);
}

#[test]
fn other_json_is_invalid() {
    for body in [
        "",
        " ",
        "[]",
        "null",
        "1",
        "\"a\"",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{\"a\" 1}",
        "{\"a\":1}x",
        "{\"a\":1}{}",
        "{\"a\":tru}",
        "{\"a\":\"\\x\"}",
        "{\"PartitionKey\":5}",
        "{\"RowKey\":\"1\",\"RowKey@odata.type\":\"Edm.Int32\"}",
        "{\"a@odata.type\":5,\"a\":5}",
    ] {
        assert_eq!(refused(body).code, ErrorCode::InvalidInput, "{body}");
    }
    assert!(read_entity(b"{\"a\":\"\xFF\"}").is_err());
}

#[test]
fn keys_in_the_body_of_an_update_are_ignored() {
    for keys in [
        r#""PartitionKey":"other","RowKey":"it's""#,
        r#""PartitionKey":5,"RowKey":true"#,
        r#""PartitionKey":null,"RowKey":{"a":["b"]}"#,
        r#""PartitionKey":"a/b#?","RowKey":"\x""#,
        r#""RowKey":"1","RowKey":"2","PartitionKey":"p""#,
        r#""RowKey":"c9da6455-213d-42c9-9a79-3e9149a57833","RowKey@odata.type":"Edm.Guid""#,
        r#""PartitionKey@odata.type":"Edm.DateTime","PartitionKey":"never""#,
        r#""PartitionKey@odata.type":"Edm.Binary","RowKey@odata.type":5,"RowKey":7"#,
        r#""RowKey@odata.type":"Edm.Unknown""#,
    ] {
        for body in [
            format!(r#"{{{keys},"A":1,"B@odata.type":"Edm.Int64","B":"2"}}"#),
            format!(r#"{{"A":1,"B":"2",{keys},"B@odata.type":"Edm.Int64"}}"#),
        ] {
            let properties = read_properties(body.as_bytes()).unwrap();
            let expected = [
                ("A".to_owned(), Value::Int32(1)),
                ("B".to_owned(), Value::Int64(2)),
            ];
            assert_eq!(values(&properties), expected, "{body}");
        }
    }
    // Only members with exactly the names PartitionKey and RowKey are ignored, and only in valid JSON.
    let properties = read_properties(br#"{"partitionKey":"p","Rowkey":"r"}"#).unwrap();
    assert_eq!(properties.count(), 2);
    for bad in [
        r#"{"RowKey":}"#,
        r#"{"RowKey":"1""#,
        r#"{"A@odata.type":5,"A":5}"#,
    ] {
        assert!(read_properties(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn table_names() {
    assert_eq!(
        read_table_name(b"{\"TableName\":\"abc\"}\n").as_deref(),
        Ok("abc")
    );
    // Recording cosmosdbpython--test_table_test_unicode_create_table_unicode_name: escapes in the name.
    assert_eq!(
        read_table_name(br#"{"odata.type":"x","TableName":"\u554a"}"#).as_deref(),
        Ok("\u{554A}")
    );
    let code = |body: &str| read_table_name(body.as_bytes()).unwrap_err().code;
    assert_eq!(code("{}"), ErrorCode::PropertiesNeedValue);
    assert_eq!(code("{\"TableName\":null}"), ErrorCode::PropertiesNeedValue);
    for bad in [
        "",
        "{",
        "{\"TableName\":5}",
        "{\"TableName\":\"a\"",
        "{\"TableName\":\"a\"}x",
    ] {
        assert_eq!(code(bad), ErrorCode::InvalidInput, "{bad}");
    }
}

/// One property of each type, and both kinds of string.
fn sample() -> Properties {
    let mut builder = PropertiesBuilder::new(256);
    let guid = Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap();
    let date = DateTime::parse("1973-10-04T00:00:00.000000Z").unwrap();
    for (name, value) in [
        ("age", ValueRef::Int64(39)),
        ("sex", ValueRef::String("male")),
        ("quoted", ValueRef::String("a\"\n\u{1}")),
        ("married", ValueRef::Boolean(true)),
        ("deceased", ValueRef::Boolean(false)),
        ("ratio", ValueRef::Double(3.1)),
        ("evenratio", ValueRef::Double(3.0)),
        ("none", ValueRef::Double(f64::NAN)),
        ("Birthday", ValueRef::DateTime(date)),
        ("binary", ValueRef::Binary(b"binary")),
        ("other", ValueRef::Int32(20)),
        ("clsid", ValueRef::Guid(guid)),
    ] {
        builder.push(name, value).unwrap();
    }
    builder.finish()
}

fn entity(properties: &Properties) -> Entity<'_> {
    Entity {
        partition_key: Cow::Borrowed("p:'1"),
        row_key: Cow::Borrowed("r\""),
        stored: properties.view(DateTime::parse(AT).unwrap()),
    }
}

fn written(level: MetadataLevel, select: Option<&str>) -> (String, String) {
    let select = select.map(|text| Select::parse(text).unwrap());
    let writer = EntityWriter::new(&EntityFormat {
        level,
        base: "http://h:1/acct",
        account: "acct",
        table: "People",
        select: select.as_ref(),
    });
    let properties = sample();
    let entity = entity(&properties);
    let (mut single, mut page) = (Vec::new(), Vec::new());
    writer.single(&entity, &mut single).unwrap();
    writer.begin_page(&mut page);
    writer.row(true, &entity, &mut page).unwrap();
    writer.row(false, &entity, &mut page).unwrap();
    writer.end_page(&mut page);
    for json in [&single, &page] {
        let parsed: Result<serde_json::Value, _> = serde_json::from_slice(json);
        assert!(parsed.is_ok(), "{}", String::from_utf8_lossy(json));
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(single), text(page))
}

#[test]
fn minimal_metadata() {
    let (single, page) = written(MetadataLevel::Minimal, None);
    let members = concat!(
        r#""odata.etag":"W/\"datetime'2021-09-21T01%3A04%3A37.9678478Z'\"","PartitionKey":"p:'1","RowKey":"r\"","#,
        r#""Timestamp":"2021-09-21T01:04:37.9678478Z","age@odata.type":"Edm.Int64","age":"39","sex":"male","#,
        r#""quoted":"a\"\n\u0001","married":true,"deceased":false,"ratio":3.1,"evenratio":3.0,"#,
        r#""none@odata.type":"Edm.Double","none":"NaN","#,
        r#""Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00Z","#,
        r#""binary@odata.type":"Edm.Binary","binary":"YmluYXJ5","other":20,"#,
        r#""clsid@odata.type":"Edm.Guid","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833"}"#,
    );
    assert_eq!(
        single,
        format!("{{\"odata.metadata\":\"http://h:1/acct/$metadata#People/@Element\",{members}")
    );
    assert_eq!(
        page,
        format!(
            "{{\"odata.metadata\":\"http://h:1/acct/$metadata#People\",\"value\":[{{{members},{{{members}]}}"
        )
    );
}

#[test]
fn full_metadata() {
    // Order of members: recording cosmosdbpython--test_table_entity_test_query_entities_full_metadata.
    let (single, page) = written(MetadataLevel::Full, None);
    let annotations = concat!(
        r#""odata.type":"acct.People","#,
        r#""odata.id":"http://h:1/acct/People(PartitionKey='p%3A''1',RowKey='r%22')","#,
        r#""odata.etag":"W/\"datetime'2021-09-21T01%3A04%3A37.9678478Z'\"","#,
        r#""odata.editLink":"People(PartitionKey='p%3A''1',RowKey='r%22')","PartitionKey":"p:'1","RowKey":"r\"","#,
        r#""Timestamp@odata.type":"Edm.DateTime","Timestamp":"2021-09-21T01:04:37.9678478Z","age@odata.type":"Edm.Int64","#,
    );
    let start = r#"{"odata.metadata":"http://h:1/acct/$metadata#People/@Element","#;
    assert!(
        single.starts_with(&format!("{start}{annotations}")),
        "{single}"
    );
    let start = r#"{"odata.metadata":"http://h:1/acct/$metadata#People","value":[{"#;
    assert!(page.starts_with(&format!("{start}{annotations}")), "{page}");
}

#[test]
fn no_metadata() {
    let (single, page) = written(MetadataLevel::None, None);
    assert!(!single.contains("odata"), "{single}");
    assert!(single.starts_with(r#"{"PartitionKey":"p:'1","RowKey":"r\"","Timestamp":"2021-09-21T01:04:37.9678478Z","age":"39","#));
    assert_eq!(page, format!("{{\"value\":[{single},{single}]}}"));
}

#[test]
fn selections() {
    // Recording cosmosdbpython--test_table_entity_test_get_entity_with_select: null for properties that the entity
    // lacks.
    let (single, page) = written(MetadataLevel::Minimal, Some("sex, xyz,age"));
    let members = concat!(
        r#""odata.etag":"W/\"datetime'2021-09-21T01%3A04%3A37.9678478Z'\"","#,
        r#""age@odata.type":"Edm.Int64","age":"39","sex":"male","xyz":null}"#,
    );
    let metadata = "http://h:1/acct/$metadata#People/@Element&$select=sex,%20xyz,age";
    assert_eq!(
        single,
        format!("{{\"odata.metadata\":\"{metadata}\",{members}")
    );
    assert!(page.starts_with(
        r#"{"odata.metadata":"http://h:1/acct/$metadata#People&$select=sex,%20xyz,age","value":[{"odata.etag""#
    ));
    assert_eq!(
        written(MetadataLevel::None, Some("RowKey")).1,
        r#"{"value":[{"RowKey":"r\""},{"RowKey":"r\""}]}"#
    );
    let (single, _) = written(MetadataLevel::Full, Some("Timestamp"));
    assert!(single.ends_with(
        r#""Timestamp@odata.type":"Edm.DateTime","Timestamp":"2021-09-21T01:04:37.9678478Z"}"#
    ));
    assert_eq!(
        written(MetadataLevel::None, Some("*")),
        written(MetadataLevel::None, None)
    );
    // Recording cosmosdbpython--test_table_batch_test_batch_all_operations_together: `$select=` shows all properties.
    let (single, _) = written(MetadataLevel::Minimal, Some(""));
    assert!(single.starts_with(
        r#"{"odata.metadata":"http://h:1/acct/$metadata#People/@Element&$select=","odata.etag""#
    ));
    assert!(single.contains("\"clsid\""));
    // A selected name that is not a valid property name also gives null, and is escaped.
    assert_eq!(
        written(MetadataLevel::None, Some("a\"b")).0,
        r#"{"a\"b":null}"#
    );
}

#[test]
fn an_unreadable_row_appends_nothing() {
    let mut bytes = sample().into_stored(DateTime::UNIX_EPOCH).to_vec();
    bytes.truncate(bytes.len() - 1);
    let stored = partita_model::Stored::open(&bytes).unwrap();
    let entity = Entity {
        partition_key: "p".into(),
        row_key: "r".into(),
        stored,
    };
    for select in [None, Some(Select::parse("age").unwrap())] {
        let writer = EntityWriter::new(&EntityFormat {
            level: MetadataLevel::Full,
            base: "b",
            account: "a",
            table: "t",
            select: select.as_ref(),
        });
        let mut out = b"before".to_vec();
        assert!(writer.row(false, &entity, &mut out).is_err());
        assert!(writer.single(&entity, &mut out).is_err());
        assert_eq!(out, b"before");
    }
}

#[test]
fn tables() {
    let written = |level| {
        let writer = TableWriter::new(level, "http://h/acct", "acct");
        let (mut single, mut page) = (Vec::new(), Vec::new());
        writer.single("T1a", &mut single);
        writer.begin_page(&mut page);
        writer.row(true, "T1a", &mut page);
        writer.row(false, "T2b", &mut page);
        writer.end_page(&mut page);
        (
            String::from_utf8(single).unwrap(),
            String::from_utf8(page).unwrap(),
        )
    };
    let (single, page) = written(MetadataLevel::Minimal);
    assert_eq!(
        single,
        r#"{"odata.metadata":"http://h/acct/$metadata#Tables/@Element","TableName":"T1a"}"#
    );
    assert_eq!(
        page,
        r#"{"odata.metadata":"http://h/acct/$metadata#Tables","value":[{"TableName":"T1a"},{"TableName":"T2b"}]}"#
    );
    let (single, page) = written(MetadataLevel::None);
    assert_eq!(single, r#"{"TableName":"T1a"}"#);
    assert_eq!(
        page,
        r#"{"value":[{"TableName":"T1a"},{"TableName":"T2b"}]}"#
    );
    // Recording gostorage--StorageTableSuite_Test_CreateAndDeleteTable.
    assert_eq!(
        written(MetadataLevel::Full).0,
        concat!(
            r#"{"odata.metadata":"http://h/acct/$metadata#Tables/@Element","odata.type":"acct.Tables","#,
            r#""odata.id":"http://h/acct/Tables('T1a')","odata.editLink":"Tables('T1a')","TableName":"T1a"}"#
        )
    );
}

proptest! {
    #[test]
    fn written_entities_are_read_back(
        partition_key: String,
        row_key: String,
        model in proptest::collection::btree_map("[a-zA-Z_é][a-zé0-9]{0,9}", any_value(), 0..20),
        full: bool,
    ) {
        let properties = stored(&model);
        let entity = Entity {
            partition_key: Cow::Borrowed(&partition_key),
            row_key: Cow::Borrowed(&row_key),
            stored: properties.view(DateTime::UNIX_EPOCH),
        };
        let level = if full { MetadataLevel::Full } else { MetadataLevel::Minimal };
        let format = EntityFormat { level, base: "http://h/a", account: "a", table: "tbl", select: None };
        let mut out = Vec::new();
        EntityWriter::new(&format).single(&entity, &mut out).unwrap();
        let draft = read_entity(&out).unwrap();
        prop_assert_eq!(draft.partition_key.as_ref(), Some(&partition_key));
        prop_assert_eq!(draft.row_key.as_ref(), Some(&row_key));
        // Debug text, because NaN differs from itself.
        prop_assert_eq!(format!("{:?}", values(&draft.properties)), format!("{:?}", values(&properties)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(body: Vec<u8>) {
        let _ = (read_entity(&body), read_properties(&body));
        let _ = read_table_name(&body);
    }

    #[test]
    fn any_mutated_json_is_read_or_refused(
        body in "(\\{|\\}|\"|,|:|\\\\|\\[|\\]|a|@odata.type|Edm.Int64|1|-|e|null|true|\\\\u00e9){0,40}",
    ) {
        let _ = read_entity(body.as_bytes());
        let _ = read_table_name(body.as_bytes());
    }
}

#[test]
fn a_name_with_an_at_is_an_annotation_or_refused() {
    for name in ["user@host", "@", "a@", "a@.", "a@b.", "a@.b", "@odata"] {
        let failure = refused(&format!("{{\"{name}\":1}}"));
        assert_eq!(failure.code, ErrorCode::PropertyNameInvalid, "{name}");
    }
    for name in [
        "a@odata.navigationLinkUrl",
        "@odata.etag",
        "@com.example.term",
    ] {
        let text = format!("{{\"{name}\":1,\"PartitionKey\":\"p\",\"RowKey\":\"r\"}}");
        assert!(read_entity(text.as_bytes()).is_ok(), "{name}");
    }
}
