//! Tests of commands that need no data: version, config show, explain.

use crate::process::{command, read, run};

#[test]
fn the_version_is_printed() {
    let wanted = format!("partita {}\n", env!("CARGO_PKG_VERSION"));
    for flag in ["--version", "-V", "-v"] {
        assert_eq!(run(&[flag]), (0, wanted.clone(), String::new()));
    }
}

#[test]
fn config_show_names_the_source_of_each_value() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("partita.toml");
    std::fs::write(
        &file,
        "[table]\nport = 1\nkeep-alive = '9s'\n[accounts]\nabc = 'c2VjcmV0'\n",
    )
    .unwrap();
    let mut command = command();
    command
        .args([
            "config",
            "show",
            "--output",
            "json",
            "--table-port",
            "3",
            "--config",
        ])
        .arg(&file);
    command
        .env("PARTITA_TABLE_PORT", "2")
        .env("PARTITA_LOG_LEVEL", "warn")
        .env("PARTITA_TABEL_HOST", "x");
    let (code, data, talk) = read(command.output().unwrap());
    assert_eq!(code, 0);
    assert_eq!(
        talk,
        "warning: unknown environment variable PARTITA_TABEL_HOST; did you mean PARTITA_TABLE_HOST?\n"
    );
    assert!(!data.contains("c2VjcmV0"), "{data}");
    let shown: serde_json::Value = serde_json::from_str(&data).unwrap();
    let of = |key: &str| {
        let entry = shown
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["key"] == key)
            .unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&entry["value"]),
            text(&entry["source"]["layer"]),
            text(&entry["source"]["name"]),
        )
    };
    let words = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    assert_eq!(of("table.port"), words("3", "flag", "--table-port"));
    assert_eq!(
        of("log.level"),
        words("warn", "variable", "PARTITA_LOG_LEVEL")
    );
    assert_eq!(
        of("table.keep-alive"),
        words("9s", "file", &file.display().to_string())
    );
    assert_eq!(of("admin.port"), words("10010", "default", ""));
    assert_eq!(of("accounts").0, "abc (1 key)");

    std::fs::write(&file, "[table]\nprot = 1\n").unwrap();
    let (code, _, talk) = run(&["config", "show", "--config", &file.display().to_string()]);
    assert_eq!(code, 2);
    assert!(
        talk.contains("unknown key table.prot; did you mean table.port?"),
        "{talk}"
    );
}

#[test]
fn explain_needs_no_server() {
    let (code, data, _) = run(&[
        "explain",
        "--filter",
        "PartitionKey eq 'a' and RowKey eq 'b'",
        "--output",
        "text",
    ]);
    assert!(code == 0 && data.starts_with("class  point"), "{data}");
    let (_, data, _) = run(&[
        "explain",
        "--filter",
        "PartitionKey ge 'a'",
        "--output",
        "json",
    ]);
    let explained: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(explained["class"], "partition range scan");
    let (code, data, talk) = run(&["explain", "--filter", "PartitionKey eq"]);
    assert_eq!((code, data.as_str()), (2, ""));
    assert!(talk.starts_with("error: invalid filter: "), "{talk}");
}

/// B8: the place of the mistake and a hint. B13: the filter by position still works, and says how to write it.
#[test]
fn b8_b13_a_wrong_filter_shows_its_place_and_the_old_spelling_works() {
    let expected = "error: invalid filter: SFO is read as a property; quote text: 'SFO'\n  dest eq SFO\n          ^^^\n";
    let (code, data, talk) = run(&["explain", "--filter", "dest eq SFO"]);
    assert_eq!((code, data.as_str(), talk.as_str()), (2, "", expected));
    let (code, _, talk) = run(&["explain", "dest eq SFO"]);
    assert_eq!(code, 2);
    let (note, error) = talk.split_once('\n').unwrap();
    assert!(note.contains("--filter") && error == expected, "{talk}");
    for line in [
        "scan t --filter",
        "count t --filter",
        "purge t --filter",
        "entity query t --filter",
        "table list --filter",
        "export t t.csv --filter",
        "fleet run purge t --yes --filter",
    ] {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.push("dest eq SFO");
        let (code, _, talk) = run(&words);
        assert!(code == 2 && talk.ends_with(expected), "{line}: {talk}");
    }
}
