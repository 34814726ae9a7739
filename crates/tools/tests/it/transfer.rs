//! Tests export, import, copy and diff of tables on a real server, and their errors.

use crate::tables::{assert_same, diff, filled, reader, rows, silent, started, table};
use partita_client::{Entity, TableClient, UpdateMode, Value};
use partita_model::EdmType;
use partita_tools::formats::{COLUMNS_MAX, Column, EntityReader, Format, Schema};
use partita_tools::transfer::{
    Counts, Destination, DiffCounts, Difference, Event, ExportOptions, ImportOptions, Manifest,
    Mode, Observer, Progress, PropertyDifference, TransferError, WriteError, WriteOptions, copy,
    export, import,
};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn exporting(format: Format) -> ExportOptions {
    ExportOptions {
        format,
        part_rows_max: 300,
        ..ExportOptions::default()
    }
}

fn importing(mode: Mode) -> ImportOptions {
    ImportOptions {
        format: None,
        load: WriteOptions {
            mode,
            ..WriteOptions::default()
        },
        ..ImportOptions::default()
    }
}

async fn export_format(from: &TableClient, to: &Path, format: Format) {
    export_to(from, to, &exporting(format)).await.unwrap();
}

async fn export_to(
    from: &TableClient,
    to: &Path,
    options: &ExportOptions,
) -> Result<Counts, TransferError> {
    let to = match Format::of_path(to) {
        Some(_) => Destination::File(to.to_owned()),
        None => Destination::Directory(to.to_owned()),
    };
    export(&reader(from, 70), &to, options, &silent()).await
}

async fn import_from(from: &Path, to: &TableClient, mode: Mode) -> Result<Counts, TransferError> {
    import(from, to, &importing(mode), &silent()).await
}

#[tokio::test]
async fn an_imported_export_equals_the_table() {
    let (server, client, source, directory) = filled(1000).await;
    for (at, format) in Format::ALL.into_iter().enumerate() {
        for kind in ["directory", "file"] {
            let name = match kind {
                "file" => format!("rows.{}", format.name()),
                _ => format!("rows{at}"),
            };
            let path = directory.path().join(name);
            let counts = export_to(&source, &path, &exporting(format)).await.unwrap();
            assert_eq!(
                (counts.rows_read, counts.rows_written),
                (1000, 1000),
                "{format:?} {kind}"
            );
            let target = client.table_client(&format!("target{at}{kind}"));
            let counts = import_from(&path, &target, Mode::Insert).await.unwrap();
            assert_eq!((counts.rows_read, counts.rows_written), (1000, 1000));
            assert_same(&source, &target, 1000).await;
        }
    }
    // Only the requested files remain.
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    let expected = [
        "rows.csv",
        "rows.jsonl",
        "rows.jsonl.zst",
        "rows.parquet",
        "rows0",
        "rows1",
        "rows2",
        "rows3",
    ];
    assert_eq!(names, expected);
    server.stop().await;
}

#[tokio::test]
async fn a_manifest_describes_its_files() {
    let (server, _, source, directory) = filled(1000).await;
    export_format(&source, directory.path(), Format::Parquet).await;
    let manifest = Manifest::load(directory.path()).unwrap().unwrap();
    assert_eq!(
        (manifest.progress, manifest.rows),
        (Progress::Complete, 1000)
    );
    assert_eq!(
        manifest.columns.properties().collect::<Vec<_>>(),
        ["N", "Any", "When", "Größe"]
    );
    assert!(manifest.parts.len() >= 3 && manifest.staged.is_empty());
    let mut all = Vec::new();
    for part in &manifest.parts {
        let path = directory.path().join(&part.file);
        let rows: Vec<Entity> = EntityReader::open(&path, Format::Parquet)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len() as u64, part.rows);
        let (first, last) = (part.first.as_ref().unwrap(), part.last.as_ref().unwrap());
        assert_eq!(rows[0].row_key(), first.row_key);
        assert_eq!(rows[rows.len() - 1].partition_key(), last.partition_key);
        all.extend(rows);
    }
    // The parts have the same rows in the same order as a single file, and Timestamps with all digits.
    let whole = directory.path().join("whole.jsonl");
    export_format(&source, &whole, Format::Jsonl).await;
    let whole: Vec<Entity> = EntityReader::open(&whole, Format::Jsonl)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let keys = |entity: &Entity| {
        let keys = [entity.partition_key(), entity.row_key()].map(str::to_owned);
        (keys, entity.timestamp().unwrap())
    };
    assert!(all.iter().map(keys).eq(whole.iter().map(keys)));
    let names = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, manifest.parts.len() + 2);
    server.stop().await;
}

#[tokio::test]
async fn an_empty_table_gives_an_empty_export() {
    let (server, client) = started().await;
    let source = table(&client, "source", &[]).await;
    let directory = tempfile::tempdir().unwrap();
    for (at, format) in Format::ALL.into_iter().enumerate() {
        for name in [format!("d{at}"), format!("f.{}", format.name())] {
            let path = directory.path().join(name);
            export_to(&source, &path, &exporting(format)).await.unwrap();
            let target = client.table_client("target");
            let counts = import_from(&path, &target, Mode::Insert).await.unwrap();
            assert_eq!(counts.rows_read, 0);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn declared_columns_need_no_second_pass() {
    let (server, client) = started().await;
    let mut row = Entity::new("p", "r");
    row.insert("N", 1);
    let source = table(&client, "source", std::slice::from_ref(&row)).await;
    let directory = tempfile::tempdir().unwrap();
    let column = Column {
        property: "N".to_owned(),
        edm: EdmType::Int32,
        fine: false,
    };
    let options = ExportOptions {
        columns: Some(Schema::try_from(vec![column]).unwrap()),
        ..exporting(Format::Parquet)
    };
    export_to(&source, &directory.path().join("a"), &options)
        .await
        .unwrap();
    let target = client.table_client("target");
    import_from(&directory.path().join("a"), &target, Mode::Insert)
        .await
        .unwrap();
    assert_same(&source, &target, 1).await;
    row.insert("Other", 1);
    source.upsert_entity(&row, UpdateMode::Merge).await.unwrap();
    let error = export_to(&source, &directory.path().join("b"), &options)
        .await
        .unwrap_err();
    assert!(matches!(error, TransferError::Rows { .. }), "{error:?}");
    server.stop().await;
}

#[tokio::test]
async fn too_many_properties_need_a_format_without_columns() {
    let (server, client) = started().await;
    let mut names = (0..).map(|number| format!("p{number}"));
    let wide = |at: usize| {
        let mut row = Entity::new("p", format!("{at:02}"));
        for name in names.by_ref().take(250) {
            row.insert(name, 1);
        }
        row
    };
    let rows: Vec<Entity> = (0..41).map(wide).collect();
    let source = table(&client, "source", &rows).await;
    let directory = tempfile::tempdir().unwrap();
    for name in ["parts", "rows.jsonl"] {
        let path = directory.path().join(name);
        let options = exporting(Format::Jsonl);
        let counts = export_to(&source, &path, &options).await.unwrap();
        assert_eq!(counts.rows_read, 41);
        let target = client.table_client(&format!("target{}", name.len()));
        import_from(&path, &target, Mode::Insert).await.unwrap();
        assert_same(&source, &target, 41).await;
    }
    let manifest = Manifest::load(&directory.path().join("parts"));
    let columns = manifest.unwrap().unwrap().columns;
    assert_eq!(columns.columns().len(), COLUMNS_MAX);
    let path = directory.path().join("rows.csv");
    let refused = export_to(&source, &path, &exporting(Format::Csv)).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, TransferError::Rows { .. }), "{error:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_copy_equals_its_source_and_differences_are_found() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(1000)).await;
    let target = client.table_client("target");
    let counts = copy(
        &reader(&source, 70),
        &target,
        &WriteOptions::default(),
        &silent(),
    )
    .await
    .unwrap();
    assert_eq!((counts.rows_read, counts.rows_written), (1000, 1000));
    assert!(
        counts.writes < 200,
        "rows are written in batches: {} requests",
        counts.writes
    );
    assert_same(&source, &target, 1000).await;

    let mut changed = Entity::new("half", "000000'\u{10FFFF}");
    changed.insert("N", 0_i64).insert("New", "");
    target
        .upsert_entity(&changed, UpdateMode::Merge)
        .await
        .unwrap();
    let [left_only, right_only] = [Entity::new("half", "zz"), Entity::new("\u{FFFE}", "")];
    source.create_entity(&left_only).await.unwrap();
    target.create_entity(&right_only).await.unwrap();
    let (found, counts) = diff(&source, &target).await;
    let expected = DiffCounts {
        same: 999,
        differ: 1,
        left_only: 1,
        right_only: 1,
    };
    assert_eq!(counts, expected);
    let [
        Difference::Differs { properties, .. },
        Difference::LeftOnly(left),
        Difference::RightOnly(right),
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    let property = |name: &str, left: Option<Value>, right: Option<Value>| PropertyDifference {
        name: name.to_owned(),
        left,
        right,
    };
    let expected = [
        property("N", Some(Value::Int32(0)), Some(Value::Int64(0))),
        property("New", None, Some(Value::String(String::new()))),
    ];
    assert_eq!(properties[..], expected);
    assert_eq!((left.row_key(), right.partition_key()), ("zz", "\u{FFFE}"));
    server.stop().await;
}

#[tokio::test]
async fn modes_handle_existing_rows() {
    let (server, client) = started().await;
    let mut new = rows(400);
    for row in &mut new {
        row.insert("New", true);
    }
    let source = table(&client, "source", &new).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rows.jsonl");
    export_format(&source, &file, Format::Jsonl).await;
    let old: Vec<Entity> = rows(400)
        .into_iter()
        .step_by(3)
        .map(|row| {
            let mut row = Entity::new(row.partition_key(), row.row_key());
            row.insert("Old", 1);
            row
        })
        .collect();
    let (olds, all) = (old.len() as u64, 400);

    let target = table(&client, "insert", &old).await;
    let error = import_from(&file, &target, Mode::Insert).await.unwrap_err();
    assert!(error.is_existing_row(), "{error:?}");

    let target = table(&client, "skip", &old).await;
    let counts = import_from(&file, &target, Mode::SkipExisting)
        .await
        .unwrap();
    assert_eq!(
        (counts.rows_written, counts.rows_skipped),
        (all - olds, olds)
    );
    let (_, counts) = diff(&source, &target).await;
    assert_eq!((counts.same, counts.differ), (all - olds, olds));

    let target = table(&client, "merge", &old).await;
    import_from(&file, &target, Mode::Merge).await.unwrap();
    let (found, counts) = diff(&source, &target).await;
    assert_eq!((counts.same, counts.differ), (all - olds, olds));
    let is_old = |difference: &Difference| match difference {
        Difference::Differs { properties, .. } => {
            properties.len() == 1 && properties[0].name == "Old"
        }
        _ => false,
    };
    assert!(found.iter().all(is_old));

    let target = table(&client, "replace", &old).await;
    import_from(&file, &target, Mode::Replace).await.unwrap();
    assert_same(&source, &target, 400).await;
    server.stop().await;
}

#[tokio::test]
async fn rows_with_the_same_key_are_written_in_order() {
    let (server, client) = started().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rows.csv");
    let mut text = "PartitionKey,RowKey,n,n@type\n".to_owned();
    for at in 0..500 {
        text.push_str(&format!("p,{},{at},Edm.Int32\n", at % 3));
    }
    fs::write(&file, text).unwrap();
    let target = client.table_client("target");
    let counts = import_from(&file, &target, Mode::Replace).await.unwrap();
    assert_eq!(counts.rows_written, 500);
    for (row_key, last) in [("0", 498), ("1", 499), ("2", 497)] {
        let row = target.get_entity("p", row_key).await.unwrap();
        assert_eq!(row.get("n"), Some(&Value::Int32(last)));
    }
    server.stop().await;
}

#[tokio::test]
async fn errors_name_the_damaged_part() {
    let (server, client, source, directory) = filled(1000).await;
    export_format(&source, directory.path(), Format::Csv).await;
    let path = directory.path().join("part-00001.csv");
    let good = fs::read(&path).unwrap();
    let target = client.table_client("target");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [&flipped[..], &good[1..], &[]] {
        fs::write(&path, bad).unwrap();
        let error = import_from(directory.path(), &target, Mode::Replace)
            .await
            .unwrap_err();
        assert!(
            matches!(&error, TransferError::Damaged { path: named, .. } if *named == path),
            "{error:?}"
        );
        assert!(error.to_string().contains("part-00001.csv: "), "{error}");
    }
    fs::remove_file(&path).unwrap();
    let error = import_from(directory.path(), &target, Mode::Replace)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("part-00001.csv"), "{error}");
    fs::write(&path, good).unwrap();
    import_from(directory.path(), &target, Mode::Replace)
        .await
        .unwrap();
    assert_same(&source, &target, 1000).await;
    server.stop().await;
}

#[tokio::test]
async fn existing_files_are_not_overwritten() {
    let (server, client, source, directory) = filled(10).await;
    let [parts, file] = ["parts", "rows.csv"].map(|name| directory.path().join(name));
    for path in [&parts, &file] {
        export_format(&source, path, Format::Csv).await;
        let error = export_to(&source, path, &exporting(Format::Csv))
            .await
            .unwrap_err();
        assert!(matches!(error, TransferError::AlreadyThere(_)), "{error:?}");
    }
    // Resuming a complete export changes nothing. Resuming with other arguments is an error, see below.
    let mut options = ExportOptions {
        resume: true,
        ..exporting(Format::Csv)
    };
    let counts = export_to(&source, &parts, &options).await.unwrap();
    assert_eq!((counts.rows_read, counts.rows_written), (0, 10));
    // As after a kill before the last step, which removes the empty directory.
    let partial = directory.path().join("rows.csv.partial");
    fs::create_dir(&partial).unwrap();
    export_to(&source, &file, &options).await.unwrap();
    assert!(file.exists() && !partial.exists());
    options.format = Format::Jsonl;
    let error = export_to(&source, &parts, &options).await.unwrap_err();
    assert!(matches!(error, TransferError::OtherJob(_)), "{error:?}");
    let error = export_to(&source, directory.path(), &exporting(Format::Csv))
        .await
        .unwrap_err();
    assert!(matches!(error, TransferError::AlreadyThere(_)), "{error:?}");
    // A manifest of another version, and an unfinished export.
    let manifest = parts.join("_manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let target = client.table_client("target");
    fs::write(&manifest, text.replace("\"version\": 1", "\"version\": 9")).unwrap();
    let error = import_from(&parts, &target, Mode::Insert)
        .await
        .unwrap_err();
    assert!(
        matches!(error, TransferError::Version { version: 9, .. }),
        "{error:?}"
    );
    fs::write(&manifest, text.replace("\"complete\"", "\"fetching\"")).unwrap();
    let error = import_from(&parts, &target, Mode::Insert)
        .await
        .unwrap_err();
    assert!(matches!(error, TransferError::Incomplete(_)), "{error:?}");
    server.stop().await;
}

/// Counts how often the progress file is saved.
#[derive(Default)]
struct Saves(AtomicUsize);

impl Observer for Saves {
    fn event(&self, event: &Event<'_>) {
        if *event == Event::Saved {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test]
async fn the_progress_file_is_saved_at_the_set_interval() {
    let (server, client) = started().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rows.csv");
    // Each row has its own partition, so each is a separate write. A mark follows every 1,000 rows.
    let lines = (0..4_000).map(|row| format!("p{row:04},r\n"));
    let text = format!("PartitionKey,RowKey\n{}", lines.collect::<String>());
    fs::write(&file, text).unwrap();
    let mut options = importing(Mode::Insert);
    options.load.state = Some(directory.path().join("state"));
    options.load.rows_between_marks = 1_000;
    let saves = Arc::new(Saves::default());
    let observer: Arc<dyn Observer> = saves.clone();
    let target = client.table_client("target");
    import(&file, &target, &options, &observer).await.unwrap();
    // One save at the start, and up to one for each of the four marks: two marks may be reached at the same time.
    let count = saves.0.load(Ordering::Relaxed);
    assert!((3..=5).contains(&count), "{count}");
    server.stop().await;
}

/// Imports a file with a batch that fails.
async fn assert_batch_fails(file: &Path, target: &TableClient, options: &ImportOptions) {
    let error = import(file, target, options, &silent()).await.unwrap_err();
    assert!(
        matches!(error, TransferError::Write(WriteError::Failed { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_progress_file_belongs_to_one_job() {
    let (server, client) = started().await;
    let directory = tempfile::tempdir().unwrap();
    let [file, state] = ["rows.csv", "state"].map(|name| directory.path().join(name));
    let target = client.table_client("target");
    let mut options = importing(Mode::Insert);
    options.load.state = Some(state.clone());
    options.load.jobs = 1;
    // The second key is invalid, so the whole batch fails. Nothing is written, so the progress file is removed.
    fs::write(&file, "PartitionKey,RowKey\np,1\np,\u{1}2\n").unwrap();
    assert_batch_fails(&file, &target, &options).await;
    assert!(!state.exists());
    // The row of partition "o" is written before the batch of partition "p" fails, so the job stops halfway.
    fs::write(&file, "PartitionKey,RowKey\no,1\np,1\np,\u{1}2\n").unwrap();
    assert_batch_fails(&file, &target, &options).await;
    let error = import(&file, &target, &options, &silent())
        .await
        .unwrap_err();
    assert!(matches!(error, TransferError::AlreadyThere(_)), "{error:?}");
    options.load.resume = true;
    fs::write(&file, "PartitionKey,RowKey\no,2\np,1\np,2\n").unwrap();
    let error = import(&file, &target, &options, &silent())
        .await
        .unwrap_err();
    assert!(matches!(error, TransferError::InputChanged(_)), "{error:?}");
    options.load.mode = Mode::SkipExisting;
    let error = import(&file, &target, &options, &silent())
        .await
        .unwrap_err();
    assert!(matches!(error, TransferError::OtherJob(_)), "{error:?}");
    options.load.mode = Mode::Insert;
    fs::remove_file(&state).unwrap();
    import(&file, &target, &options, &silent()).await.unwrap();
    assert!(!state.exists());
    server.stop().await;
}

#[tokio::test]
async fn dry_runs_only_count() {
    let (server, client, source, directory) = filled(300).await;
    let [file, state] = ["rows.csv", "state"].map(|name| directory.path().join(name));
    let options = ExportOptions {
        dry_run: true,
        ..exporting(Format::Csv)
    };
    let counted = export_to(&source, &file, &options).await.unwrap();
    assert_eq!(counted.rows_read, 300);
    assert!(!file.exists());
    let counts = export_to(&source, &file, &exporting(Format::Csv))
        .await
        .unwrap();
    assert_eq!((counts.bytes, counts.rows_read), (counted.bytes, 300));
    let target = client.table_client("target");
    let load = WriteOptions {
        dry_run: true,
        state: Some(state.clone()),
        ..WriteOptions::default()
    };
    let options = ImportOptions {
        load,
        ..ImportOptions::default()
    };
    let imported = import(&file, &target, &options, &silent()).await.unwrap();
    let copied = copy(&reader(&source, 70), &target, &options.load, &silent())
        .await
        .unwrap();
    for counts in [imported, copied] {
        assert_eq!((counts.rows_read, counts.rows_written), (300, 300));
    }
    assert!(!state.exists());
    assert!(target.get_entity("", "").await.unwrap_err().is_not_found());
    assert!(
        target.delete().await.unwrap_err().is_not_found(),
        "a dry run does not create the table"
    );
    server.stop().await;
}

/// Imports the exports in `tests/fixtures/export-1`, which contain the first 40 rows in version 1 of the format.
#[tokio::test]
async fn exports_of_version_1_are_read() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(40)).await;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/export-1");
    for name in ["csv", "jsonl", "parquet"] {
        let target = client.table_client(name);
        import_from(&fixtures.join(name), &target, Mode::Insert)
            .await
            .unwrap();
        assert_same(&source, &target, 40).await;
    }
    server.stop().await;
}
