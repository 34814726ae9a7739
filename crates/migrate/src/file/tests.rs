//! Tests reading migration files, and the errors of invalid files.

use super::super::{Migration, PropertyChange, Transform};
use super::*;
use partita_client::{DateTime, EdmType, Entity, Guid, UpdateMode, Value};
use proptest::prelude::*;

fn parsed(text: &str) -> Result<Migration, String> {
    let migration = parse(text, Path::new("m.toml"));
    migration.map_err(|error| error.to_string())
}

/// A file with every operation and every type.
const EVERYTHING: &str = r#"
version = 12 # Comments do not count.
id = "all"
description = "every operation"

[[up]]
operation = "create_table"
table = "taba"

[[up]]
operation = "insert"
table = "taba"
create_table = true

[[up.rows]]
PartitionKey = "p"
RowKey = ""
Text = "x"
Truth = true
Number = -7
Whole = 5.0
Time = 2026-11-21T20:15:00.1234567Z
Offset = 1970-01-01T01:00:00+01:00
"Long:int64" = 7
"Far:int64" = "9223372036854775807"
"Id:guid" = "01010101-0101-0101-0101-010101010101"
"Bytes:binary" = "AAE="
"Also:double" = 7
"Endless:double" = "Infinity"

[[up.rows]]
PartitionKey = "p"
RowKey = "2"

[[up]]
operation = "upsert"
table = "taba"
mode = "replace"
rows = [{ PartitionKey = "p", RowKey = "r" }]

[[up]]
operation = "delete"
table = "taba"
rows = [
    { PartitionKey = "p", RowKey = "r" },
]

[[up]]
operation = "delete"
table = "taba"
partition_key = "p"

[[up]]
operation = "delete"
table = "taba"
partition_key = "p"
row_key = "r"

[[up]]
operation = "copy_table"
from = "taba"
to = "tabb"

[[up]]
operation = "rename_table"
from = "tabb"
to = "tabc"

[[up]]
operation = "transform"
table = "taba"
to = "tabd"
filter = "Age ge 18"
partition_key = "{Text}"
row_key = "{RowKey:3}-{{x}}"
rename = { Z = "Y", A = "B" }
retype = { Number = "int64" }
drop = ["Truth"]
add = { Truth = false, "Long:int64" = 1 }

[[up]]
operation = "clear"
table = "taba"

[[down]]
operation = "delete_table"
table = "taba"
"#;

#[test]
fn every_operation_is_read() {
    let mut row = Entity::new("p", "");
    row.insert("Text", "x")
        .insert("Truth", true)
        .insert("Number", -7)
        .insert("Whole", 5.0)
        .insert(
            "Time",
            DateTime::parse("2026-11-21T20:15:00.1234567Z").unwrap(),
        )
        .insert("Offset", DateTime::UNIX_EPOCH)
        .insert("Long", 7_i64)
        .insert("Far", i64::MAX)
        .insert("Id", Guid([1; 16]))
        .insert("Bytes", vec![0_u8, 1])
        .insert("Also", 7.0)
        .insert("Endless", f64::INFINITY);
    let drop = |name: &str| PropertyChange::Drop {
        name: name.to_owned(),
    };
    let rename = |from: &str, to: &str| PropertyChange::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let add = |name: &str, value: Value| PropertyChange::Add {
        name: name.to_owned(),
        value,
    };
    let expected = Migration::new(12, "all")
        .description("every operation")
        .create_table("taba")
        .create_and_insert("taba", [row, Entity::new("p", "2")])
        .upsert("taba", [Entity::new("p", "r")], UpdateMode::Replace)
        .delete_entities("taba", [Entity::new("p", "r")])
        .delete_partition("taba", "p")
        .delete_row("taba", "p", "r")
        .copy_table("taba", "tabb")
        .rename_table("tabb", "tabc")
        .transform(Transform {
            to: Some("tabd".to_owned()),
            filter: Some("Age ge 18".to_owned()),
            partition_key: Some("{Text}".parse().unwrap()),
            row_key: Some("{RowKey:3}-{{x}}".parse().unwrap()),
            changes: vec![
                // The renames keep the order of the file.
                rename("Z", "Y"),
                rename("A", "B"),
                PropertyChange::Retype {
                    name: "Number".to_owned(),
                    edm: EdmType::Int64,
                },
                drop("Truth"),
                add("Truth", false.into()),
                add("Long", 1_i64.into()),
            ],
            ..Transform::of("taba")
        })
        .clear("taba")
        .down(|down| down.delete_table("taba"));
    let found = parsed(EVERYTHING).unwrap();
    assert_eq!(found, expected);
    assert_eq!(found.checksum(), expected.checksum());
}

#[test]
fn errors_name_their_position() {
    let head = "version = 1\nid = \"a\"\n";
    let step = |keys: &str| format!("{head}[[up]]\n{keys}\n");
    let row = |property: &str| {
        step(&format!(
            "operation = \"insert\"\ntable = \"tab\"\nrows = [{{ PartitionKey = \"\", RowKey = \"\", {property} }}]"
        ))
    };
    for (text, expected) in [
        ("version = ".to_owned(), "m.toml:1:"),
        (String::new(), "m.toml:1:1: version is missing"),
        ("version = 1".to_owned(), "id is missing"),
        (head.to_owned(), "up is missing"),
        (
            "version = 0\nid = \"a\"".to_owned(),
            "m.toml:1:11: the version must be from 1 to 9223372036854775807",
        ),
        (
            "version = \"1\"\nid = \"a\"".to_owned(),
            "m.toml:1:11: version must be an integer, not string",
        ),
        (
            "version = 1\nid = \"\"".to_owned(),
            "m.toml:2:6: the id must have 1 to 128 characters",
        ),
        (
            format!("{head}verzion = 2"),
            "m.toml:3:1: unknown key verzion; did you mean version?",
        ),
        (
            format!("{head}zzz = 2"),
            "m.toml:3:1: unknown key zzz; expected one of version, id",
        ),
        (
            format!("{head}up = 2"),
            "m.toml:3:6: up must be a list of tables, not integer",
        ),
        (format!("{head}up = []"), "up must have 1 to 1000 steps"),
        (
            step("table = \"tab\""),
            "m.toml:3:1: operation is missing (up, number 1)",
        ),
        (
            step("operation = \"create_tabel\""),
            "m.toml:4:13: unknown operation \"create_tabel\"; did you mean create_table? (up, number 1)",
        ),
        (
            step("operation = \"dance\""),
            "unknown operation \"dance\"; expected one of create_table, ",
        ),
        (
            step("operation = \"clear\"\ntabel = \"tab\""),
            "m.toml:5:1: unknown key tabel; did you mean table? (up, number 1)",
        ),
        (
            step("operation = \"clear\"\ntable = \"a/b\""),
            "clear: \"a/b\" is not a valid table name (up, number 1)",
        ),
        (
            step("operation = \"copy_table\"\nfrom = \"tab\"\nto = \"TAB\""),
            "tab and TAB are the same table",
        ),
        (
            step("operation = \"insert\"\ntable = \"tab\""),
            "rows is missing",
        ),
        (
            step("operation = \"insert\"\ntable = \"tab\"\nrows = []"),
            "insert: rows is empty",
        ),
        (
            step("operation = \"upsert\"\ntable = \"tab\"\nrows = []\nmode = \"x\""),
            "m.toml:7:8: mode must be \"merge\" or \"replace\"",
        ),
        (
            step("operation = \"delete\"\ntable = \"tab\""),
            "delete needs partition_key, or",
        ),
        (
            step("operation = \"delete\"\ntable = \"tab\"\nrow_key = \"r\""),
            "delete needs partition_key, or",
        ),
        (
            step(
                "operation = \"delete\"\ntable = \"tab\"\nrows = [{ PartitionKey = \"\", RowKey = \"\", A = 1 }]",
            ),
            "unknown key A",
        ),
        (
            row("A = [1]"),
            "m.toml:6:47: A is of the type array, which a property cannot have (up, number 1, rows, number 1)",
        ),
        (
            row("A = 4000000000"),
            "A = 4000000000 does not fit into an Int32; for an Int64 write \"NAME:int64\" = 4000000000",
        ),
        (
            row("A = 2026-11-21T20:15:00"),
            "A needs a time and a UTC offset, as in 2026-11-21T20:15:00Z",
        ),
        (
            row("A = 2026-11-21"),
            "A needs a time and a UTC offset, as in 2026-11-21T20:15:00Z",
        ),
        (
            row("A = 1500-01-01T00:00:00Z"),
            "A is not a timestamp between 1601 and 9999",
        ),
        (
            row("\"A:int\" = \"x\""),
            "A: \"x\" is not a valid Edm.Int32",
        ),
        (
            row("\"A:float\" = 1"),
            "m.toml:6:43: unknown type \"float\"; expected string, int32",
        ),
        (row("A = 1, \"A:int64\" = 1"), "A is given twice"),
        (
            row("Timestamp = 1"),
            "insert: Timestamp is not a property that can be set",
        ),
        (
            row("a-b = 1"),
            "insert: \"a-b\" is not a valid property name",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\""),
            "transform: no change is given; set rename, retype, drop or add",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\"\nrow_key = \"{A}\""),
            "new keys need another table",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\"\nto = \"u123\"\nrow_key = \"{A\""),
            "m.toml:7:11: row_key: unmatched brace",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\"\nto = \"Tab\""),
            "tab cannot be transformed into itself",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\"\nrename = { A = 1 }"),
            "A must be a string: the new name",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\"\nretype = { A = \"x\" }"),
            "unknown type \"x\"",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\"\ndrop = [\"RowKey\"]"),
            "RowKey is not a property that can be set",
        ),
        (
            step("operation = \"transform\"\ntable = \"tab\"\ndrop = [1]"),
            "drop must be a list of strings, not array",
        ),
        (
            format!(
                "{}[[down]]\noperation = \"clear\"",
                step("operation = \"clear\"\ntable = \"tab\"")
            ),
            "m.toml:6:1: table is missing (down, number 1)",
        ),
    ] {
        let refused = parsed(&text).unwrap_err();
        assert!(refused.contains(expected), "{refused}\n{text}");
        assert!(refused.starts_with("m.toml:"), "{refused}");
    }
}

#[test]
fn a_directory_is_read_in_version_order() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, version: u64, id: &str| {
        let text = format!(
            "version = {version}\nid = \"{id}\"\n[[up]]\noperation = \"create_table\"\ntable = \"tab\""
        );
        fs::write(directory.path().join(name), text).unwrap();
    };
    assert!(read_directory(directory.path()).unwrap().is_empty());
    write("b.toml", 1, "one");
    write("a.toml", 10, "ten");
    fs::write(directory.path().join("notes.txt"), "no migration").unwrap();
    let migrations = read_directory(directory.path()).unwrap();
    let versions: Vec<_> = migrations
        .iter()
        .map(|migration| migration.version)
        .collect();
    assert_eq!(versions, [1, 10]);
    let path = migrations.path(10).unwrap();
    assert_eq!(path.file_name().unwrap(), "a.toml");

    write("c.toml", 1, "another");
    let error = read_directory(directory.path()).unwrap_err().to_string();
    assert!(
        error.contains("c.toml") && error.contains("b.toml"),
        "{error}"
    );
    write("c.toml", 2, "ten");
    let error = read_directory(directory.path()).unwrap_err().to_string();
    assert!(
        error.contains("is already used by migration 10 \"ten\""),
        "{error}"
    );

    let missing = read_directory(&directory.path().join("none")).unwrap_err();
    assert!(matches!(missing, MigrationsError::Io { .. }));
}

proptest! {
    // Random pieces of a valid file, with random characters between them. Each text is read, or refused with a position
    // in the text.
    #[test]
    fn any_text_is_read_or_refused(
        pieces in proptest::collection::vec((0..EVERYTHING.len(), 0..400_usize), 0..6),
        noise in "[\\[\\]{}=\",.:a-z0-9\n]{0,8}",
    ) {
        let pieces = pieces.iter().filter_map(|(at, length)| EVERYTHING.get(*at..at + length));
        let text: String = pieces.flat_map(|piece| [piece, &*noise]).collect();
        for text in [text.clone(), format!("{EVERYTHING}{text}"), format!("{text}{EVERYTHING}")] {
            match parse(&text, Path::new("m.toml")) {
                Ok(migration) => prop_assert!(migration.check().is_ok()),
                Err(error) => {
                    let lines = text.lines().count().max(1) + 1;
                    prop_assert!((1..=lines).contains(&error.line), "{error}");
                    prop_assert!(error.column >= 1 && !error.what.is_empty());
                }
            }
        }
    }
}
