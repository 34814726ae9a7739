//! Tests of entities and of their conversion from and to structs.

use super::{ETag, Entity};
use partita_model::{DateTime, Guid, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
enum Colour {
    Red,
    Green,
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Metres(f64);

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Everything {
    #[serde(rename = "PartitionKey")]
    partition_key: String,
    #[serde(rename = "RowKey")]
    row_key: String,
    #[serde(rename = "Timestamp")]
    timestamp: Option<DateTime>,
    #[serde(rename = "odata.etag", skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    truth: bool,
    short: i16,
    int: i32,
    long: i64,
    unsigned: u32,
    double: f64,
    text: String,
    letter: char,
    at: DateTime,
    id: Guid,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    #[serde(with = "serde_bytes")]
    digest: [u8; 4],
    colour: Colour,
    length: Metres,
    there: Option<i64>,
    missing: Option<String>,
}

fn everything() -> Everything {
    Everything {
        partition_key: "p".into(),
        row_key: String::new(),
        timestamp: None,
        etag: None,
        truth: true,
        short: -3,
        int: i32::MIN,
        long: i64::MAX,
        unsigned: u32::MAX,
        double: 0.1,
        text: "O'Brien \"\u{1F600}\"".into(),
        letter: 'ß',
        at: DateTime::parse("2024-01-02T03:04:05.0000001Z").unwrap(),
        id: Guid([9; 16]),
        bytes: vec![0, 255],
        digest: [1, 2, 3, 4],
        colour: Colour::Green,
        length: Metres(2.5),
        there: Some(4),
        missing: None,
    }
}

#[test]
fn types_round_trip() {
    let entity = Entity::from_serialize(&everything()).unwrap();
    let seen: Vec<_> = entity
        .iter()
        .map(|(name, value)| (name, value.clone()))
        .collect();
    let at = DateTime::parse("2024-01-02T03:04:05.0000001Z").unwrap();
    let expected = [
        ("truth", Value::Boolean(true)),
        ("short", Value::Int32(-3)),
        ("int", Value::Int32(i32::MIN)),
        ("long", Value::Int64(i64::MAX)),
        ("unsigned", Value::Int64(i64::from(u32::MAX))),
        ("double", Value::Double(0.1)),
        ("text", Value::String("O'Brien \"\u{1F600}\"".into())),
        ("letter", Value::String("ß".into())),
        ("at", Value::DateTime(at)),
        ("id", Value::Guid(Guid([9; 16]))),
        ("bytes", Value::Binary(vec![0, 255])),
        ("digest", Value::Binary(vec![1, 2, 3, 4])),
        ("colour", Value::String("Green".into())),
        ("length", Value::Double(2.5)),
        ("there", Value::Int64(4)),
    ];
    assert_eq!(seen, expected);
    assert_eq!((entity.partition_key(), entity.row_key()), ("p", ""));
    assert_eq!(entity.into_typed::<Everything>().unwrap(), everything());
}

#[test]
fn timestamp_and_etag_are_not_properties() {
    let stored = Everything {
        timestamp: Some(DateTime::UNIX_EPOCH),
        etag: Some("W/\"x\"".into()),
        ..everything()
    };
    let entity = Entity::from_serialize(&stored).unwrap();
    assert_eq!(entity.timestamp(), Some(DateTime::UNIX_EPOCH));
    assert_eq!(entity.etag(), Some(&ETag::from("W/\"x\"")));
    assert_eq!(entity.len(), 15);
    assert_eq!(entity.into_typed::<Everything>().unwrap(), stored);
}

#[test]
fn r3_conversion_errors_name_the_property() {
    #[derive(Serialize)]
    struct Holds<T> {
        #[serde(rename = "PartitionKey")]
        partition_key: &'static str,
        #[serde(rename = "RowKey")]
        row_key: &'static str,
        x: T,
    }
    fn fault<T: Serialize>(x: T) -> String {
        let holds = Holds {
            partition_key: "p",
            row_key: "r",
            x,
        };
        Entity::from_serialize(&holds).unwrap_err().to_string()
    }
    assert_eq!(
        fault(u64::MAX),
        "x: an integer beyond the range of i64 cannot be stored in a property"
    );
    // R3: whether a sequence is refused does not depend on its elements.
    let sequence = "x: a sequence (for bytes, add #[serde(with = \"serde_bytes\")] to the field; else store it as text) \
                    cannot be stored in a property";
    for r3 in [
        fault(vec![1, 2, 3]),
        fault(vec![1, 300]),
        fault(Vec::<String>::new()),
        fault(vec![1_u8]),
        fault([1_u8; 4]),
        fault((1_u8, 2_u8)),
    ] {
        assert_eq!(r3, sequence);
    }
    assert_eq!(
        fault(Some(everything())),
        "x: a struct cannot be stored in a property"
    );
    let keyless = std::collections::BTreeMap::from([("PartitionKey", "p")]);
    assert_eq!(
        Entity::from_serialize(&keyless).unwrap_err().to_string(),
        "RowKey is missing"
    );
    assert!(Entity::from_serialize(&7).is_err());
    #[derive(Serialize)]
    struct Numbered {
        #[serde(rename = "PartitionKey")]
        partition_key: i32,
    }
    let fault = Entity::from_serialize(&Numbered { partition_key: 1 }).unwrap_err();
    assert_eq!(fault.to_string(), "PartitionKey must be a String");
}

#[test]
fn missing_and_mismatched_properties_are_errors() {
    let mut entity = Entity::from_serialize(&everything()).unwrap();
    entity.remove("id");
    let fault = entity.clone().into_typed::<Everything>().unwrap_err();
    assert_eq!(fault.to_string(), "missing field `id`");
    entity.insert("id", 7);
    let fault = entity.clone().into_typed::<Everything>().unwrap_err();
    assert_eq!(
        fault.to_string(),
        "id: invalid type: integer `7`, expected a GUID"
    );
    // An Int64 converts to an i32 if the value fits.
    entity
        .insert("id", Guid([9; 16]))
        .insert("long", 5)
        .insert("int", 5_i64);
    let read: Everything = entity.clone().into_typed().unwrap();
    assert_eq!((read.long, read.int), (5, 5));
    entity.insert("int", i64::MAX);
    assert!(entity.into_typed::<Everything>().is_err());
}

#[test]
fn properties_keep_their_positions() {
    let mut entity = Entity::new("p", "r");
    entity.insert("a", 1).insert("b", 2).insert("a", "x");
    let names: Vec<_> = entity.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(entity.get("a"), Some(&Value::String("x".into())));
    assert_eq!(entity.get("A"), None);
    assert_eq!(
        (entity.remove("a"), entity.remove("a")),
        (Some("x".into()), None)
    );
    let moved = entity.with_keys("q", "s");
    assert_eq!(
        (moved.partition_key(), moved.row_key(), moved.len()),
        ("q", "s", 1)
    );
}

#[test]
fn entities_of_a_page_share_names_in_any_order() {
    let body = br#"{"value":[{"PartitionKey":"p","RowKey":"1","A":1,"B":2},
        {"PartitionKey":"p","RowKey":"2","B":3},{"B":4,"A":5}]}"#;
    let entities = Entity::read_page(body).unwrap();
    let list = |entity: &Entity| {
        let all = entity
            .iter()
            .map(|(name, value)| format!("{name}={value:?}"));
        all.collect::<Vec<_>>().join(" ")
    };
    let lists: Vec<_> = entities.iter().map(list).collect();
    assert_eq!(
        lists,
        [
            "A=Int32(1) B=Int32(2)",
            "B=Int32(3)",
            "B=Int32(4) A=Int32(5)"
        ]
    );
    assert!(Arc::ptr_eq(
        &entities[0].properties[1].0,
        &entities[1].properties[0].0
    ));
}

#[test]
fn entities_are_iterated_and_take_optional_values() {
    let mut entity = Entity::new("p", "r");
    entity.insert_opt("a", Some(1)).insert_opt("b", None::<i32>);
    let names = |entity: &Entity| {
        let names = entity.into_iter().map(|(name, _)| name.to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&entity), ["a"]);
    entity.insert_opt("a", None::<i32>);
    assert!(names(&entity).is_empty());
}
