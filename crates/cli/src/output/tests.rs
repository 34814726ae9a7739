//! Forms of output.

use super::*;
use partita_client::{Entity, Value, ValueRef};
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
    form: Form,
    shape: Shape,
    columns: Option<&[&str]>,
    rows: &[Shown<'_>],
) -> Result<String, Failure> {
    let kept = Kept::default();
    let columns: Option<Vec<String>> =
        columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    let mut output = Output::new(form, shape, columns.as_deref(), Box::new(kept.clone()));
    for row in rows {
        output.row(row)?;
    }
    output.end()?;
    let bytes = kept.0.lock().unwrap().clone();
    Ok(String::from_utf8(bytes).unwrap())
}

fn entities() -> Vec<Entity> {
    let mut first = Entity::new("p", "1");
    first.insert("Age", 42).insert("Text", "a,\"b\"\n");
    let mut second = Entity::new("p", "22");
    second.insert("Big", 5_000_000_000_i64).insert("Text", "");
    vec![first, second]
}

fn shown(entities: &[Entity]) -> Vec<Shown<'_>> {
    let shown = entities.iter().map(|entity| Shown::Entity {
        entity,
        etag: false,
    });
    shown.collect()
}

#[test]
fn entities_keep_their_types_but_in_tables() {
    let entities = entities();
    let rows = |form| written(form, Shape::Rows, None, &shown(&entities)).unwrap();
    let first = r#"{"PartitionKey":"p","RowKey":"1","Age":42,"Text":"a,\"b\"\n"}"#;
    let second = r#"{"PartitionKey":"p","RowKey":"22","Big@odata.type":"Edm.Int64","Big":"5000000000","Text":""}"#;
    assert_eq!(rows(Form::JsonLines), format!("{first}\n{second}\n"));
    assert_eq!(rows(Form::Json), format!("[\n{first},\n{second}\n]\n"));
    assert_eq!(
        rows(Form::Csv),
        "PartitionKey,RowKey,Big,Big@type,Age,Age@type,Text,Text@type\n\
         p,1,,,42,Edm.Int32,\"a,\"\"b\"\"\n\",Edm.String\n\
         p,22,5000000000,Edm.Int64,,,,Edm.String\n"
    );
    assert_eq!(
        rows(Form::Table),
        "PartitionKey  RowKey         Big  Age  Text\n\
         p             1                    42  a,\"b\"\\n\n\
         p             22      5000000000\n"
    );
}

#[test]
fn records_are_plain() {
    let record = [
        ("PartitionKey", ValueRef::String("p")),
        ("Rows", ValueRef::Int64(7)),
    ];
    let rows = |form, shape| written(form, shape, None, &[Shown::Record(&record)]).unwrap();
    let object = r#"{"PartitionKey":"p","Rows":7}"#;
    assert_eq!(rows(Form::JsonLines, Shape::Rows), format!("{object}\n"));
    assert_eq!(rows(Form::Json, Shape::Single), format!("{object}\n"));
    assert_eq!(rows(Form::Csv, Shape::Rows), "PartitionKey,Rows\np,7\n");
    assert_eq!(
        rows(Form::Table, Shape::Single),
        "PartitionKey  p\nRows          7\n"
    );
}

#[test]
fn nothing_is_written_as_nothing() {
    for (form, expected) in [
        (Form::Json, "[]\n"),
        (Form::JsonLines, ""),
        (Form::Csv, ""),
        (Form::Table, ""),
    ] {
        assert_eq!(written(form, Shape::Rows, None, &[]).unwrap(), expected);
    }
    assert_eq!(written(Form::Json, Shape::Single, None, &[]).unwrap(), "");
}

#[test]
fn an_entity_alone_stands_upright_with_its_types() {
    let mut entity = Entity::new("p", "1");
    entity.insert("Ratio", 0.5);
    let rows = written(Form::Table, Shape::Single, None, &shown(&[entity])).unwrap();
    assert_eq!(
        rows,
        "PartitionKey  String   p\nRowKey        String   1\nRatio         Double   0.5\n"
    );
}

/// More rows than are looked at to find the columns, the last of which has a property that none had before.
fn with_a_late_property() -> Vec<Entity> {
    let mut entities: Vec<_> = (0..=table::ROWS_SEEN)
        .map(|row| Entity::new("p", row.to_string()))
        .collect();
    entities.last_mut().unwrap().insert("Late", Value::Int32(1));
    entities
}

#[test]
fn csv_loses_no_property_silently() {
    let entities = with_a_late_property();
    let refused = written(Form::Csv, Shape::Rows, None, &shown(&entities));
    assert!(refused.unwrap_err().chain().contains("property Late"));
    let named = written(Form::Csv, Shape::Rows, Some(&["Late"]), &shown(&entities)).unwrap();
    assert!(named.starts_with("PartitionKey,RowKey,Late,Late@type\np,0,,\n"));
    assert!(named.ends_with("p,1000,1,Edm.Int32\n"));
    let table = written(Form::Table, Shape::Rows, None, &shown(&entities)).unwrap();
    assert_eq!(table.lines().count(), entities.len() + 1);
}
