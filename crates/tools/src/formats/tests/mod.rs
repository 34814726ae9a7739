//! Tests of all formats: round trips of rows, files of other programs, damaged files.

mod users_met;

use super::*;
use partita_client::Entity;
use partita_model::{DateTime, Guid, Value};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// The pattern of random texts: quotes, separators, line ends, characters that begin a formula in spreadsheets, control
/// characters, and characters at the limits of UTF-8 and UTF-16 ranges.
const TEXT: &str = "[,;\"'\n\r\t =@\\\\a\u{0}\u{1F}\u{7F}\u{85}\u{FEFF}\u{D7FF}\u{E000}\u{FFFE}\u{FFFF}\u{10000}\u{10FFFF}]{0,6}";

fn date_time() -> impl Strategy<Value = DateTime> {
    let ticks = DateTime::MIN.ticks()..=DateTime::MAX.ticks();
    let whole = ticks
        .clone()
        .prop_map(|ticks| ticks / 10_000_000 * 10_000_000);
    let ticks = prop_oneof![
        3 => ticks,
        2 => whole,
        1 => Just(DateTime::MIN.ticks()),
        1 => Just(DateTime::MAX.ticks()),
    ];
    ticks.prop_map(|ticks| DateTime::from_ticks(ticks.max(DateTime::MIN.ticks())).unwrap())
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => prop_oneof![TEXT, any::<String>()].prop_map(Value::String),
        1 => any::<Vec<u8>>().prop_map(Value::Binary),
        1 => any::<bool>().prop_map(Value::Boolean),
        1 => prop_oneof![any::<i32>(), Just(i32::MIN)].prop_map(Value::Int32),
        1 => prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX)].prop_map(Value::Int64),
        1 => any::<f64>().prop_map(Value::Double),
        1 => prop_oneof![
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(-0.0),
            Just(5.0),
            Just(f64::MIN_POSITIVE),
        ].prop_map(Value::Double),
        2 => date_time().prop_map(Value::DateTime),
        1 => any::<[u8; 16]>().prop_map(|bytes| Value::Guid(Guid(bytes))),
    ]
}

/// Random entities. There are few property names, so that a name occurs with several types; some differ only in case.
pub(crate) fn entities() -> impl Strategy<Value = Vec<Entity>> {
    let properties = proptest::collection::btree_map("[abA_é][b1]?", value(), 0..8);
    let timestamp = proptest::option::of(date_time());
    let entity =
        (TEXT, TEXT, timestamp, properties).prop_map(|(key, row, timestamp, properties)| {
            let properties = properties.into_iter();
            let properties = properties.map(|(name, value)| (name.into(), value));
            Entity::from_parts((key, row), timestamp, properties.collect())
        });
    proptest::collection::vec(entity, 0..20)
}

/// A comparable form of an entity. The order of properties is ignored, because the columns of a file define it.
fn plain(entity: &Entity, is_zero_signed: bool) -> impl PartialEq + std::fmt::Debug + use<> {
    let value = |value: &Value| match value {
        Value::Double(value) if value.is_nan() => "NaN".to_owned(),
        Value::Double(0.0) if !is_zero_signed => "0.0".to_owned(),
        value => format!("{value:?}"),
    };
    let properties = entity.iter().map(|(name, it)| (name.to_owned(), value(it)));
    let mut properties: Vec<_> = properties.collect();
    properties.sort();
    let keys = [entity.partition_key(), entity.row_key()].map(str::to_owned);
    (keys, entity.timestamp(), properties)
}

fn schema_of(entities: &[Entity]) -> Schema {
    let mut schema = Schema::default();
    for entity in entities {
        schema.add(entity).unwrap();
    }
    schema
}

fn written(format: Format, entities: &[Entity]) -> Vec<u8> {
    let mut writer = EntityWriter::new(format, &schema_of(entities), Vec::new()).unwrap();
    for entity in entities {
        writer.write(entity).unwrap();
    }
    writer.finish().unwrap()
}

fn file(dir: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join("rows");
    fs::write(&path, bytes).unwrap();
    path
}

fn read(format: Format, bytes: &[u8]) -> Result<Vec<Entity>, FormatError> {
    let dir = tempfile::tempdir().unwrap();
    EntityReader::open(&file(&dir, bytes), format)?.collect()
}

proptest! {
    #[test]
    fn every_format_keeps_every_entity(entities in entities()) {
        for format in Format::ALL {
            let back = read(format, &written(format, &entities)).unwrap();
            // The service stores minus zero as zero, and so does the JSON format.
            let is_zero_signed = format.has_columns();
            let plain = |entities: &[Entity]| -> Vec<_> {
                entities.iter().map(|entity| plain(entity, is_zero_signed)).collect()
            };
            prop_assert_eq!(plain(&back), plain(&entities), "{:?}", format);
        }
    }

    /// A damaged file yields rows or an error, and the reader terminates.
    #[test]
    fn damaged_files_do_not_panic(entities in entities(), at: prop::sample::Index, with: u8) {
        for format in [Format::Csv, Format::Jsonl, Format::JsonlZstd] {
            let mut bytes = written(format, &entities);
            if let Some(byte) = (!bytes.is_empty()).then(|| at.index(bytes.len())) {
                bytes[byte] = with;
                let _ = read(format, &bytes);
                let _ = read(format, &bytes[..byte]);
            }
        }
    }
}

/// The place of an error and its text.
fn error_of(options: impl Into<ReadOptions>, text: &str) -> String {
    let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
    let read = EntityReader::of_bytes(bytes, options)
        .and_then(|mut rows| rows.try_for_each(|row| row.map(drop)));
    let error = read.unwrap_err();
    format!("{} {error}", error.place())
}

#[test]
fn csv_of_other_programs_is_read() {
    let text = "\u{FEFF}RowKey,Age,Name,Age@type,PartitionKey,Note@type,Note\n\
        1,42,Miles,Edm.Int32,p,Edm.String,\n\
        2,,,,p,,\n\
        \"\",7,\"a,\"\"b\"\"\nc\",,,Edm.Binary,AQ==\n";
    let read = read(Format::Csv, text.as_bytes()).unwrap();
    let mut first = Entity::new("p", "1");
    first
        .insert("Age", 42)
        .insert("Name", "Miles")
        .insert("Note", "");
    let mut third = Entity::new("", "");
    third
        .insert("Age", "7")
        .insert("Name", "a,\"b\"\nc")
        .insert("Note", vec![1_u8]);
    assert_eq!(read, [first, Entity::new("p", "2"), third]);
}

#[test]
fn csv_is_written_as_documented() {
    let mut first = Entity::new("p,1", "r\"");
    first.insert("Age", 42).insert("Name", "");
    let mut second = Entity::new("p", "");
    second.insert("Age", 5.0);
    let text = String::from_utf8(written(Format::Csv, &[first, second])).unwrap();
    let expected = "PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type\r\n\
        \"p,1\",\"r\"\"\",,42,Edm.Int32,,Edm.String\r\n\
        p,,,5.0,Edm.Double,,\r\n";
    assert_eq!(text, expected);
}

#[test]
fn errors_name_the_invalid_row() {
    let csv = |rows: &str| {
        error_of(
            Format::Csv,
            &format!("PartitionKey,RowKey,n,n@type\n{rows}"),
        )
    };
    assert_eq!(
        csv("a,b,1,Edm.Int32\r\n\r\n\"a\nb\",c,x,Edm.Int32\r\n"),
        ":4 column 3 (n): \"x\" is not a valid Edm.Int32; expected a whole number from -2147483648 to 2147483647"
    );
    let unknown = csv("a,b,1,Edm.Int16\n");
    let expected =
        ":2 column 4 (n@type): \"Edm.Int16\" is not a type; expected one of Edm.String, ";
    assert!(unknown.starts_with(expected), "{unknown}");
    assert_eq!(
        csv("a,b,1,Edm.Int32\na,b\n"),
        ":3 2 columns, but the first line has 4"
    );
    let header = |text: &str| error_of(Format::Csv, text);
    let missing = header("RowKey,n\n");
    let expected = " not a valid file of this format: missing column PartitionKey: ";
    assert!(missing.starts_with(expected), "{missing}");
    assert_eq!(
        header("PartitionKey,RowKey,n,n\n"),
        " not a valid file of this format: duplicate column n"
    );
    let parquet = error_of(Format::Parquet, "PAR1");
    assert!(parquet.starts_with(" not a valid file of this format: "));
}

#[test]
fn records_and_lines_that_are_too_long_are_errors() {
    let mut text = "PartitionKey,RowKey\n\"".to_owned();
    text.push_str(&"x".repeat(17 * 1024 * 1024));
    assert_eq!(
        error_of(Format::Csv, &text),
        ":2 the record is longer than 16 MiB; check for an unclosed quote"
    );
    let line = "x".repeat(9 * 1024 * 1024);
    assert_eq!(
        error_of(Format::Jsonl, &line),
        ":1 the line is longer than 8 MiB"
    );
}

#[test]
fn a_row_without_a_declared_column_is_refused() {
    let mut entity = Entity::new("p", "r");
    entity.insert("a", 1);
    for format in [Format::Csv, Format::Parquet] {
        let mut writer =
            EntityWriter::new(format, &schema_of(&[entity.clone()]), Vec::new()).unwrap();
        let mut other = entity.clone();
        other.insert("b", 1);
        let error = writer.write(&other).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no column is declared for property b of type Edm.Int32",
            "{format:?}"
        );
    }
}

#[test]
fn parquet_with_several_groups_is_read() {
    let entities: Vec<Entity> = (0..130_000)
        .map(|at| {
            let mut entity = Entity::new("p", format!("{at:06}"));
            if at % 3 == 0 {
                entity.insert("n", at);
            }
            entity
        })
        .collect();
    assert_eq!(
        read(Format::Parquet, &written(Format::Parquet, &entities)).unwrap(),
        entities
    );
}

fn of_others(name: &str) -> PathBuf {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/others");
    PathBuf::from(fixtures).join(name)
}

fn open_error(name: &str) -> String {
    let opened = EntityReader::open(&of_others(name), Format::Parquet);
    opened.unwrap_err().to_string()
}

/// Reads files that pyarrow 26 wrote with its default compression: one with flat columns, and one with a nested column.
#[test]
fn parquet_of_other_programs_is_read() {
    let reader = EntityReader::open(&of_others("pyarrow.parquet"), Format::Parquet).unwrap();
    let read: Vec<Entity> = reader.map(Result::unwrap).collect();
    let time = |text| DateTime::parse(text).unwrap();
    let mut first = Entity::new("p", "1");
    first
        .insert("Small", 1)
        .insert("Long", 1_i64 << 40)
        .insert("Float", 0.5)
        .insert("Millis", time("2024-01-02T03:04:05.006Z"))
        .insert("Nanos", DateTime::UNIX_EPOCH)
        .insert("Bytes", vec![0_u8, 255])
        .insert("Flag", true)
        .insert("Text", "x");
    let mut third = Entity::new("q", "");
    third
        .insert("Small", -3)
        .insert("Long", 0_i64)
        .insert("Float", f64::NAN)
        .insert("Nanos", time("1970-01-01T00:00:00.0000001Z"))
        .insert("Bytes", Vec::<u8>::new())
        .insert("Flag", false)
        .insert("Text", "");
    let expected = [first, Entity::new("p", "2"), third];
    let plain = |entities: &[Entity]| -> Vec<_> {
        entities.iter().map(|entity| plain(entity, true)).collect()
    };
    assert_eq!(plain(&read), plain(&expected));
    assert_eq!(
        open_error("nested.parquet"),
        "not a valid file of this format: the column List.list.element is nested or repeated"
    );
}

/// A footer that places a column before the start of the file, for which the library panics. Found by the fuzz target
/// `parquet`.
#[test]
fn parquet_with_columns_outside_the_file_is_refused() {
    let expected = "not a valid file of this format: a column lies outside the file";
    assert_eq!(open_error("outside.parquet"), expected);
}

/// A text that is longer than its page, for which the library panics. Found by the fuzz target `parquet`.
#[test]
fn parquet_with_truncated_pages_is_refused() {
    let damaged = EntityReader::open(&of_others("page_end.parquet"), Format::Parquet);
    let rows: Result<Vec<Entity>, _> = damaged.unwrap().collect();
    let error = rows.unwrap_err().to_string();
    assert_eq!(
        error,
        "not a valid file of this format: the file is damaged"
    );
}

#[test]
fn formats_are_found_by_file_name() {
    for (name, format) in [
        ("a.csv", Some(Format::Csv)),
        ("A.CSV", Some(Format::Csv)),
        ("dir.csv/a.jsonl", Some(Format::Jsonl)),
        ("a.jsonl.zst", Some(Format::JsonlZstd)),
        ("a.parquet", Some(Format::Parquet)),
        ("a.json", None),
        ("csv", None),
    ] {
        assert_eq!(Format::of_path(name.as_ref()), format, "{name}");
        let input = format.map(InputFormat::from);
        let input = input.or((name == "a.json").then_some(InputFormat::Json));
        assert_eq!(InputFormat::of_path(name.as_ref()), input, "{name}");
    }
    let gzip = InputFormat::of_path("A.Csv.GZ".as_ref());
    assert_eq!(gzip, Some(InputFormat::CsvGzip));
}
