//! Tests every output format.

use super::*;
use partita_client::{Entity, Value};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(
    format: Format,
    shape: Shape,
    columns: Option<&[&str]>,
    rows: &[OutputRow<'_>],
) -> Result<String, CommandError> {
    let kept = Kept::default();
    let columns: Option<Vec<String>> =
        columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    let to = Box::new(kept.clone());
    let mut output = Output::new(format, shape, columns.as_deref(), None, to);
    for row in rows {
        output.row(row)?;
    }
    output.finish()?;
    let bytes = kept.0.lock().unwrap().clone();
    Ok(String::from_utf8(bytes).unwrap())
}

/// The lines of a table on a terminal of this width.
pub(crate) fn lines_of_table(
    width: usize,
    rows: impl FnOnce(&mut Output) -> Result<(), CommandError>,
) -> Vec<String> {
    let kept = Kept::default();
    let to = Box::new(kept.clone());
    let mut output = Output::new(Format::Table, Shape::Rows, None, Some(width), to);
    rows(&mut output).unwrap();
    output.finish().unwrap();
    let bytes = kept.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn entities() -> Vec<Entity> {
    let mut first = Entity::new("p", "1");
    first.insert("Age", 42).insert("Text", "a,\"b\"\n");
    let mut second = Entity::new("p", "22");
    second.insert("Big", 5_000_000_000_i64).insert("Text", "");
    vec![first, second]
}

fn output_rows(entities: &[Entity]) -> Vec<OutputRow<'_>> {
    let rows = entities.iter().map(|entity| OutputRow::Entity {
        entity,
        etag: false,
    });
    rows.collect()
}

#[test]
fn entities_keep_their_types_except_in_tables() {
    let entities = entities();
    let rows = |format| written(format, Shape::Rows, None, &output_rows(&entities)).unwrap();
    let first = r#"{"PartitionKey":"p","RowKey":"1","Age":42,"Text":"a,\"b\"\n"}"#;
    let second = r#"{"PartitionKey":"p","RowKey":"22","Big@odata.type":"Edm.Int64","Big":"5000000000","Text":""}"#;
    assert_eq!(rows(Format::Jsonl), format!("{first}\n{second}\n"));
    assert_eq!(rows(Format::Json), format!("[\n{first},\n{second}\n]\n"));
    assert_eq!(
        rows(Format::Csv),
        "PartitionKey,RowKey,Big,Big@type,Age,Age@type,Text,Text@type\n\
         p,1,,,42,Edm.Int32,\"a,\"\"b\"\"\n\",Edm.String\n\
         p,22,5000000000,Edm.Int64,,,,Edm.String\n"
    );
    assert_eq!(
        rows(Format::Table),
        "PartitionKey  RowKey         Big  Age  Text\n\
         p             1                    42  a,\"b\"\\n\n\
         p             22      5000000000\n"
    );
}

#[test]
fn records_have_no_types() {
    let record = [
        ("PartitionKey", Field::text("p")),
        ("Rows", Field::count(7)),
    ];
    let rows = |format, shape| written(format, shape, None, &[OutputRow::Record(&record)]).unwrap();
    let object = r#"{"PartitionKey":"p","Rows":7}"#;
    assert_eq!(rows(Format::Jsonl, Shape::Rows), format!("{object}\n"));
    assert_eq!(rows(Format::Json, Shape::Single), format!("{object}\n"));
    assert_eq!(rows(Format::Csv, Shape::Rows), "PartitionKey,Rows\np,7\n");
    assert_eq!(
        rows(Format::Table, Shape::Single),
        "PartitionKey  p\nRows          7\n"
    );
}

#[test]
fn no_rows() {
    for (format, expected) in [
        (Format::Json, "[]\n"),
        (Format::Jsonl, ""),
        (Format::Csv, ""),
        (Format::Table, ""),
    ] {
        assert_eq!(written(format, Shape::Rows, None, &[]).unwrap(), expected);
    }
    assert_eq!(written(Format::Json, Shape::Single, None, &[]).unwrap(), "");
}

#[test]
fn a_single_entity_has_a_line_for_each_value() {
    let mut entity = Entity::new("p", "1");
    entity.insert("Ratio", 0.5);
    let rows = written(Format::Table, Shape::Single, None, &output_rows(&[entity])).unwrap();
    assert_eq!(
        rows,
        "PartitionKey  String   p\nRowKey        String   1\nRatio         Double   0.5\n"
    );
}

/// One row more than the first rows that determine the columns. Only this last row has the property `Late`.
fn with_a_late_property() -> Vec<Entity> {
    let mut entities: Vec<_> = (0..=columns::ROWS_SAMPLED)
        .map(|row| Entity::new("p", row.to_string()))
        .collect();
    entities.last_mut().unwrap().insert("Late", Value::Int32(1));
    entities
}

#[test]
fn csv_loses_no_property_silently() {
    let entities = with_a_late_property();
    let refused = written(Format::Csv, Shape::Rows, None, &output_rows(&entities));
    assert!(refused.unwrap_err().chain().contains("property Late"));
    let named = written(
        Format::Csv,
        Shape::Rows,
        Some(&["Late"]),
        &output_rows(&entities),
    )
    .unwrap();
    assert!(named.starts_with("PartitionKey,RowKey,Late,Late@type\np,0,,\n"));
    assert!(named.ends_with("p,1000,1,Edm.Int32\n"));
    let table = written(Format::Table, Shape::Rows, None, &output_rows(&entities)).unwrap();
    assert_eq!(table.lines().count(), entities.len() + 1);
}

/// B12: the document of `--output json` on the one line of `--output jsonl`.
#[test]
fn b12_a_document_on_one_line_keeps_its_texts() {
    let json = "{\"a b\": [1,\n  2],\t\"c\": \"x \\\" y\\\\\" , \"d\" : null}";
    let line = one_line(json);
    assert_eq!(line, "{\"a b\":[1,2],\"c\":\"x \\\" y\\\\\",\"d\":null}");
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(json), parse(&line));
}

/// B12: people read numbers with separators and units, programs plain numbers; ids stay as they are.
#[test]
fn b12_tables_show_numbers_for_people() {
    let record = [
        ("range", Field::id(12_345)),
        ("rows", Field::count(27_004)),
        ("bytes", Field::Bytes(36_805_018)),
        ("p50_us", Field::Latency(1_300)),
        ("reads", Field::Rate(25.24)),
        ("bytes_in", Field::ByteRate(2048.0)),
    ];
    let rows = |format| written(format, Shape::Rows, None, &[OutputRow::Record(&record)]).unwrap();
    assert_eq!(
        rows(Format::Table),
        "range    rows     bytes      p50  reads   bytes_in\n12345  27,004  35.1 MiB  1.30 ms   25/s  2.0 KiB/s\n"
    );
    let line = r#"{"range":12345,"rows":27004,"bytes":36805018,"p50_us":1300,"reads":25.2,"bytes_in":2048.0}"#;
    assert_eq!(rows(Format::Jsonl), format!("{line}\n"));
}
