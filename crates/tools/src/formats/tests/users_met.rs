//! What users met when they imported files of their own, and exported files for other programs.

use super::*;

/// B7: an invalid JSON line has a line, a column, the property, and what is allowed.
#[test]
fn errors_of_json_lines_have_a_place_and_a_property() {
    let good = r#"{"PartitionKey":"p","RowKey":"é"}"#;
    let row = |rest: &str| format!(r#"{{"PartitionKey":"p","RowKey":"é",{rest}}}"#);
    for (line, expected) in [
        (
            "{bad".to_owned(),
            ":3:2 not valid JSON: key must be a string",
        ),
        (
            format!("{good}{good}"),
            ":3:34 not valid JSON: trailing characters",
        ),
        (
            row(r#""L":[1,2]"#),
            ":3:38 property L: an array is not a value; expected a string, a number, true, false or null",
        ),
        (
            row(r#""A@odata.type":"Edm.Int64","A":"x""#),
            ":3:65 property A: \"x\" is not a valid Edm.Int64; expected a whole number from -9223372036854775808",
        ),
        (
            row(r#""A":"1","A@odata.type":"Edm.Int16""#),
            ":3:57 property A: \"Edm.Int16\" is not a type; expected one of ",
        ),
        (
            row(r#""Timestamp":"1500""#),
            ":3:46 property Timestamp: \"1500\" is not a valid Edm.DateTime; expected a date-time",
        ),
        (
            r#"{"PartitionKey":"p"}"#.to_owned(),
            ":3:1 RowKey is missing",
        ),
        (
            r#"  {"PartitionKey":"p","RowKey":7}"#.to_owned(),
            ":3:32 RowKey must be a string",
        ),
        (
            "[]".to_owned(),
            ":3:1 an array instead of an entity; --format json reads",
        ),
        (
            "7".to_owned(),
            ":3:1 not valid JSON: invalid type: integer `7`, expected a JSON object",
        ),
    ] {
        // The empty line counts.
        let error = error_of(Format::Jsonl, &format!("{good}\n\n{line}\n{good}"));
        assert!(error.starts_with(expected), "{line}: {error}");
    }
}

/// B20: semicolons, tabs and vertical bars, as spreadsheets write them, and any other byte that the caller names.
#[test]
fn csv_with_other_delimiters_is_read() {
    let expected = [Entity::new("p", "a,b")];
    for (delimiter, named) in [(';', None), ('\t', None), ('|', None), ('!', Some(b'!'))] {
        let text = format!("RowKey{delimiter}PartitionKey\n\"a,b\"{delimiter}p\n");
        let options = ReadOptions {
            delimiter: named,
            ..Format::Csv.into()
        };
        let rows = EntityReader::of_bytes(text.into(), options).unwrap();
        let rows: Vec<Entity> = rows.map(Result::unwrap).collect();
        assert_eq!(rows, expected, "{delimiter}");
    }
    let error = error_of(Format::Csv, "PartitionKey!RowKey\np!r\n");
    let expected = "it has \"PartitionKey!RowKey\", separated by ','; --delimiter sets another";
    assert!(error.contains(expected), "{error}");
}

/// B20: files that gzip compressed, also several times in one file.
#[test]
fn gzip_is_read() {
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    for (format, parts) in [
        (InputFormat::CsvGzip, ["PartitionKey;RowKey\np;", "r\n"]),
        (
            InputFormat::JsonlGzip,
            ["{\"PartitionKey\":\"p\",", "\"RowKey\":\"r\"}"],
        ),
        (
            InputFormat::JsonGzip,
            ["[{\"PartitionKey\":\"p\",\n", "\"RowKey\":\"r\"}]"],
        ),
    ] {
        let bytes = parts.map(gzip).concat();
        let rows = EntityReader::of_bytes(bytes.into(), format).unwrap();
        let rows: Vec<Entity> = rows.map(Result::unwrap).collect();
        assert_eq!(rows, [Entity::new("p", "r")], "{format}");
        let error = error_of(format, "not compressed");
        assert!(error.contains("cannot read or write the file"), "{error}");
    }
}

/// The note on Timestamp: files for analysis have neither types nor last digits, and no Timestamp if it is not wanted.
#[test]
fn plain_files_have_only_values() {
    let mut entity = Entity::from_parts(
        ("p".to_owned(), "r".to_owned()),
        DateTime::parse("2024-01-02T03:04:05.1234567Z").ok(),
        Vec::new(),
    );
    entity.insert("Age", 42).insert("At", DateTime::MAX);
    let text = |format: Format, style: Style| {
        let schema = schema_of(std::slice::from_ref(&entity));
        let mut writer = EntityWriter::styled((format, style), &schema, Vec::new()).unwrap();
        writer.write(&entity).unwrap();
        writer.finish().unwrap()
    };
    let style = |no_timestamp, plain| Style {
        no_timestamp,
        plain,
    };
    let csv = |style| String::from_utf8(text(Format::Csv, style)).unwrap();
    assert_eq!(
        csv(style(true, true)),
        "PartitionKey,RowKey,Age,At\r\np,r,42,9999-12-31T23:59:59.9999999Z\r\n"
    );
    assert_eq!(
        csv(style(false, true)),
        "PartitionKey,RowKey,Timestamp,Age,At\r\np,r,2024-01-02T03:04:05.1234567Z,42,9999-12-31T23:59:59.9999999Z\r\n"
    );
    let jsonl = String::from_utf8(text(Format::Jsonl, style(true, false))).unwrap();
    assert!(!jsonl.contains("Timestamp"), "{jsonl}");
    for (style, columns, read_time) in [
        (style(false, false), 7, "9999-12-31T23:59:59.9999999Z"),
        (style(true, false), 5, "9999-12-31T23:59:59.9999999Z"),
        (style(false, true), 5, "9999-12-31T23:59:59.999999Z"),
        (style(true, true), 4, "9999-12-31T23:59:59.999999Z"),
    ] {
        let bytes = text(Format::Parquet, style);
        let names = parquet_columns(&bytes);
        assert_eq!(names.len(), columns, "{names:?}");
        let read = read(Format::Parquet, &bytes).unwrap();
        assert_eq!(read[0].timestamp().is_none(), style.no_timestamp);
        let expected = DateTime::parse(read_time).unwrap();
        assert_eq!(read[0].get("At"), Some(&Value::DateTime(expected)));
    }
}

fn parquet_columns(bytes: &[u8]) -> Vec<String> {
    use ::parquet::file::reader::FileReader as _;
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let file = ::parquet::file::reader::SerializedFileReader::new(bytes).unwrap();
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let columns = schema.columns().iter();
    columns.map(|column| column.name().to_owned()).collect()
}
