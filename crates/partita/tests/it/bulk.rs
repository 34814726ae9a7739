//! Tests of commands that move whole tables: interruption, kill, confirmation, pipes.

use std::path::Path;
use std::process::{Child, Command};

use crate::gate::Gate;
use crate::process::read;
use crate::tools::{World, keys, signal};

/// A command that was stopped while the gate held back one of its requests.
struct Stopped {
    /// The exit code; `None` after a kill.
    code: Option<i32>,
    /// Stdout.
    data: String,
    /// Stderr.
    talk: String,
}

/// Runs a command through a gate until the gate holds back a request, and stops the command.
fn stopped(world: &World, gate: &Gate, line: &str, how: &str) -> Stopped {
    let child = start(world, gate, line);
    gate.wait();
    signal(&child, how);
    // Otherwise a command that waits for its requests would never end.
    gate.open();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Stopped {
        code: output.status.code(),
        data: text(output.stdout),
        talk: text(output.stderr),
    }
}

impl Stopped {
    /// Checks that the command explained how to resume after a signal, and printed nothing after a kill.
    fn check(&self, how: &str) {
        let Self { code, talk, .. } = self;
        if how == "-KILL" {
            assert_eq!((*code, &**talk), (None, ""));
            return;
        }
        assert_eq!(*code, Some(2), "{talk}");
        let resume = "repeat the command with --resume\n";
        assert!(talk.contains(resume), "{talk}");
        assert!(ends_with(talk, "error: interrupted"), "{talk}");
    }
}

fn start(world: &World, gate: &Gate, line: &str) -> Child {
    world.start(&mut through(world, gate, line))
}

fn run_through(world: &World, gate: &Gate, line: &str) -> (i32, String, String) {
    read(through(world, gate, line).output().unwrap())
}

fn through(world: &World, gate: &Gate, line: &str) -> Command {
    let mut command = world.command(line);
    command.env("AZURE_STORAGE_CONNECTION_STRING", world.through(gate));
    command
}

/// The token that a command printed.
fn token(talk: &str) -> String {
    let line = talk.lines().find_map(|line| line.split_once("--resume "));
    line.unwrap_or_else(|| panic!("{talk}")).1.to_owned()
}

/// A server with the table `many`: 600 rows in four partitions, half of them in the first.
fn world() -> World {
    let world = World::new();
    world.fill("many", &[("a", 300), ("b", 150), ("c", 90), ("d", 60)]);
    world
}

/// Asserts that a table equals the table of [`world`].
fn assert_same(world: &World, table: &str) {
    let (code, data, talk) = world.run(&format!("diff many {table}"));
    assert_eq!((code, &*data), (0, ""), "{talk}");
    let expected = "600 rows the same, 0 differ, 0 left only, 0 right only, ";
    assert!(talk.starts_with(expected), "{talk}");
}

/// Whether the last line of the messages begins with `begin`.
fn ends_with(talk: &str, begin: &str) -> bool {
    talk.lines()
        .last()
        .is_some_and(|last| last.starts_with(begin))
}

#[test]
fn counts_resume_where_they_stopped() {
    let world = world();
    for (verb, flags, whole) in [
        ("count", "many", "600\n"),
        ("count", "many --strategy serial", "600\n"),
    ] {
        let line = format!("{verb} {flags} --jobs 1 --page-rows 50");
        let gate = world.gate(5);
        let Stopped { code, data, talk } = stopped(&world, &gate, &line, "-INT");
        assert_eq!((code, &*data), (Some(2), ""), "{talk}");
        let line = format!("{line} --resume {}", token(&talk));
        let (code, data, talk) = world.run(&line);
        assert_eq!((code, &*data), (0, whole), "{talk}");
        // Some of the twelve pages were read by the first run.
        let requests: usize = talk.split(' ').nth(2).unwrap().parse().unwrap();
        assert!((1..9).contains(&requests), "{talk}");
    }
}

#[test]
fn partitions_resume_where_they_stopped() {
    let world = world();
    for flags in ["", "--count"] {
        let line = format!("partitions many {flags} --jobs 1 --page-rows 50 --strategy serial");
        let whole = world.run(&line).1;
        assert_eq!(whole.lines().count(), 4);
        let gate = world.gate(2);
        let Stopped { code, data, talk } = stopped(&world, &gate, &line, "-TERM");
        assert_eq!(code, Some(2), "{talk}");
        assert!(data.lines().count() < 4, "{data}");
        let rest = world.run(&format!("{line} --resume {}", token(&talk)));
        assert_eq!((rest.0, data + &rest.1), (0, whole), "{}", rest.2);
    }
}

#[test]
fn every_format_is_imported_as_it_was_exported() {
    let world = world();
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).display().to_string();
    for (number, (to, flags)) in [
        ("rows.csv", ""),
        ("rows.jsonl", ""),
        ("rows.jsonl.zst", ""),
        ("rows.parquet", ""),
        ("rows.txt", "--format csv"),
        ("parts", "--part-rows 100"),
        ("parquet", "--format parquet --part-rows 100"),
        ("old.parts/", "--format jsonl"),
    ]
    .into_iter()
    .enumerate()
    {
        let (path, table) = (at(to), format!("copy{number}"));
        let (code, data, talk) = world.run(&format!("export many {path} {flags} --page-rows 60"));
        assert_eq!((code, &*data), (0, ""), "{talk}");
        assert!(talk.starts_with("600 rows in "), "{talk}");
        let files = Path::new(&path).read_dir().map_or(1, Iterator::count);
        assert_eq!(files > 2, flags.contains("part-rows"), "{path}");
        let format = if flags.contains("csv") { flags } else { "" };
        let line = format!("import {path} {table} {format} --create-table");
        let (code, data, talk) = world.run(&line);
        assert_eq!((code, &*data), (0, ""), "{talk}");
        assert!(talk.starts_with("600 rows written, "), "{talk}");
        assert_same(&world, &table);
        // Existing files are not overwritten.
        let (code, _, talk) = world.run(&format!("export many {path} {flags}"));
        assert_eq!(code, 2);
        assert!(talk.contains("already exists"), "{talk}");
    }
    assert_eq!(world.states(), 0);
}

#[test]
fn rows_go_through_pipes() {
    let world = world();
    for (number, format) in ["csv", "jsonl"].into_iter().enumerate() {
        let (code, data, talk) = world.run(&format!("export many - --format {format}"));
        assert!(
            code == 0 && talk.starts_with("600 rows written, "),
            "{talk}"
        );
        let line = format!("import - pipe{number} --format {format} --create-table");
        let (code, _, talk) = world.run_on(&line, &data);
        assert!(
            code == 0 && talk.starts_with("600 rows written, "),
            "{talk}"
        );
        assert_same(&world, &format!("pipe{number}"));
    }
    let (_, data, _) = world.run("export many -");
    assert_eq!(keys(&data), keys(&world.run("scan many").1));
    for (line, expected) in [
        (
            "import - pipe0 --resume",
            "an import from stdin cannot be resumed",
        ),
        (
            "export many - --resume",
            "an export to stdout cannot be resumed",
        ),
        (
            "import - pipe0 --format parquet",
            "Parquet cannot be read from a stream",
        ),
    ] {
        let (code, _, talk) = world.run_on(line, "");
        assert!(code == 2 && talk.contains(expected), "{talk}");
    }
}

#[test]
fn an_export_resumes_after_kill_9_and_after_a_signal() {
    let world = world();
    let home = tempfile::tempdir().unwrap();
    for (how, to, flags) in [
        ("-KILL", "parts", "--format jsonl"),
        ("-KILL", "parquet", "--format parquet"),
        ("-KILL", "rows.csv", ""),
        ("-INT", "stopped.parquet", ""),
        ("-TERM", "stopped", ""),
    ] {
        let path = home.path().join(to).display().to_string();
        let flags = format!("{flags} --part-rows 40 --page-rows 20 --jobs 1");
        let line = format!("export many {path} {flags}");
        let gate = world.gate(20);
        stopped(&world, &gate, &line, how).check(how);
        let run = |flags: &str| run_through(&world, &gate, &format!("{line} {flags}"));
        let (code, _, talk) = run("");
        assert_eq!(code, 2);
        assert!(
            talk.contains(" has an interrupted export: --resume resumes it"),
            "{talk}"
        );
        let other = run("--filter N --resume");
        assert!(other.2.contains("with other arguments"), "{}", other.2);
        let (code, _, talk) = run("--resume");
        assert!(code == 0 && talk.starts_with("600 rows in "), "{talk}");
        // At least ten of the thirty pages were read and stored before.
        let requests = talk.split(", ").nth(1).unwrap();
        let requests: usize = requests.split(' ').next().unwrap().parse().unwrap();
        assert!((1..=20).contains(&requests), "{talk}");
        let table = format!("of{}", to.replace('.', ""));
        let (code, _, talk) = world.run(&format!("import {path} {table} --create-table"));
        assert_eq!(code, 0, "{talk}");
        assert_same(&world, &table);
    }
    let strange = |name: &str| name.ends_with(".partial") || name.ends_with(".tmp");
    let mut names = home.path().read_dir().unwrap();
    assert!(names.all(|entry| !strange(entry.unwrap().file_name().to_str().unwrap())));
}

#[test]
fn imports_and_copies_resume_after_kill_9_and_after_a_signal() {
    let world = world();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("rows.parquet").display().to_string();
    assert_eq!(world.run(&format!("export many {file}")).0, 0);
    for (number, (verb, mode, how)) in [
        ("import", "insert", "-KILL"),
        ("import", "replace", "-INT"),
        ("copy", "insert", "-KILL"),
        ("copy", "insert", "-TERM"),
        ("copy", "skip", "-KILL"),
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("to{number}");
        assert_eq!(world.run(&format!("table create {table}")).0, 0);
        let line = match verb {
            "import" => format!("import {file} {table} --mode {mode} --jobs 1"),
            _ => format!("copy many {table} --mode {mode} --jobs 1 --page-rows 100"),
        };
        // Both commands check the table first; a copy also reads six pages. Each write has 100 rows of one partition.
        let gate = world.gate(if verb == "import" { 4 } else { 7 });
        stopped(&world, &gate, &line, how).check(how);
        assert_eq!(world.states(), 1);
        let run = |flags: &str| run_through(&world, &gate, &format!("{line} {flags}"));
        let (code, _, talk) = run("");
        assert_eq!(code, 2);
        let refused = format!("this {verb} was interrupted before (");
        assert!(
            talk.contains(&refused) && talk.contains("--resume resumes it"),
            "{talk}"
        );
        let (code, _, talk) = run("--filter N --resume");
        if verb == "copy" {
            assert!(code == 2 && talk.contains("had other arguments"), "{talk}");
        }
        let (code, _, talk) = run("--resume");
        assert_eq!(code, 0, "{talk}");
        assert_same(&world, &table);
        assert_eq!(world.states(), 0);
    }
}

#[test]
fn restart_discards_the_interrupted_run() {
    let world = world();
    let line = "copy many other --create-table --mode skip --jobs 1 --page-rows 100";
    let gate = world.gate(7);
    stopped(&world, &gate, line, "-KILL");
    assert_eq!(world.states(), 1);
    let (code, _, talk) = run_through(&world, &gate, &format!("{line} --restart"));
    assert!(code == 0 && talk.contains(" skipped, "), "{talk}");
    assert_same(&world, "other");
}

#[test]
fn a_comparison_resumes_where_it_stopped() {
    let world = world();
    assert_eq!(world.run("copy many other --create-table").0, 0);
    for (row, change) in [
        ("a 00010", "entity delete other a 00010 --yes"),
        ("a 00290", "entity merge other a 00290 N=text More:int32=1"),
        ("b 00001", "entity delete other b 00001 --yes"),
        ("d 00999", "entity insert other d 00999"),
    ] {
        assert_eq!(world.run(change).0, 0, "{row}");
    }
    let (code, whole, talk) = world.run("diff many other");
    assert_eq!(code, 1);
    let expected = "597 rows the same, 1 differ, 2 left only, 1 right only, ";
    assert!(talk.starts_with(expected), "{talk}");
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"PartitionKey":"a","RowKey":"00010","difference":"left only"}"#,
            r#"{"PartitionKey":"a","RowKey":"00290","difference":"property","property":"N","left":"290","left_type":"Edm.Int32","right":"text","right_type":"Edm.String"}"#,
            r#"{"PartitionKey":"a","RowKey":"00290","difference":"property","property":"More","right":"1","right_type":"Edm.Int32"}"#,
            r#"{"PartitionKey":"b","RowKey":"00001","difference":"left only"}"#,
            r#"{"PartitionKey":"d","RowKey":"00999","difference":"right only"}"#,
        ]
    );
    let line = "diff many other --jobs 1 --page-rows 50 --strategy serial";
    let gate = world.gate(8);
    let Stopped { code, data, talk } = stopped(&world, &gate, line, "-INT");
    assert_eq!(code, Some(2), "{talk}");
    assert!(data.lines().count() < 5, "{data}");
    let token = token(&talk);
    let (code, rest, talk) = world.run(&format!("{line} --resume {token}"));
    assert_eq!((code, data + &rest), (1, whole));
    // The counts cover both runs.
    assert!(talk.starts_with(expected), "{talk}");
    let other = world.run(&format!("diff other many --resume {token}"));
    assert!(
        other.2.contains("is from tables many and other"),
        "{}",
        other.2
    );

    let (code, data, talk) = world.run("diff many other --limit 2 -o csv");
    assert_eq!((code, data.lines().count()), (1, 4), "{data}");
    assert!(
        talk.contains(" the same so far, 1 differ, 1 left only"),
        "{talk}"
    );
    // Rows outside the bounds and other properties are not compared.
    assert_eq!(world.run("diff many other --prefix c").0, 0);
    assert_eq!(
        world
            .run("diff many other --from a --before b --select N")
            .0,
        1
    );
}

#[test]
fn overwriting_rows_needs_confirmation() {
    let world = world();
    let overwriting = |mode: &str| format!("copy many other --mode {mode} --create-table");
    // The table is empty, so the command needs no --yes: it can overwrite no row.
    assert_eq!(world.run(&overwriting("replace")).0, 0);
    for mode in ["merge", "replace"] {
        let (code, _, talk) = world.run(&overwriting(mode));
        let asked = format!("add --yes to {mode} rows of table other, which is not empty: ");
        assert!(code == 2 && talk.contains(&asked), "{talk}");
        assert_eq!(world.run(&format!("{} --yes", overwriting(mode))).0, 0);
    }
    // The modes `skip` and `insert` do not change existing rows, so they need no --yes.
    assert_eq!(world.run(&overwriting("skip")).0, 0);
    let (code, _, talk) = world.run(&overwriting("insert"));
    assert!(code == 2 && talk.contains("already exists"), "{talk}");
    // A copy that fails before its first write leaves no progress file.
    assert_eq!(world.states(), 0);
}

#[test]
fn nothing_is_written_on_a_dry_run() {
    let world = world();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rows.jsonl").display().to_string();
    let (code, _, talk) = world.run(&format!("export many {path} --dry-run"));
    assert!(
        code == 0 && talk.starts_with("600 rows would be written, "),
        "{talk}"
    );
    assert_eq!(home.path().read_dir().unwrap().count(), 0);
    assert_eq!(world.run(&format!("export many {path}")).0, 0);
    for line in [
        "copy many other --create-table --dry-run".to_owned(),
        format!("import {path} other --create-table --dry-run"),
    ] {
        let (code, _, talk) = world.run(&line);
        assert!(
            code == 0 && talk.starts_with("600 rows would be written in "),
            "{talk}"
        );
    }
    assert_eq!(world.run("table show other").0, 1);
    assert_eq!(world.states(), 0);
}

#[test]
fn rows_go_to_another_account() {
    let (world, other) = (world(), World::new());
    let there = other.connection();
    for (line, variable) in [
        (
            format!("copy many here --create-table --to-connection-string {there}"),
            None,
        ),
        ("copy many there --create-table".to_owned(), Some(there)),
    ] {
        let mut command = world.command(&line);
        if let Some(there) = variable {
            command.env("AZURE_STORAGE_CONNECTION_STRING_TO", there);
        }
        let (code, _, talk) = read(command.output().unwrap());
        assert!(
            code == 0 && talk.starts_with("600 rows written, "),
            "{talk}"
        );
    }
    assert_eq!(other.run("diff here there").0, 0);
    let across = format!("diff many here --to-connection-string {there}");
    assert_eq!(world.run(&across).0, 0);
    assert_eq!(world.run("table show here").0, 1);
    // A table of the same name in another account is another table.
    let same = format!("copy many many --create-table --to-connection-string {there}");
    assert_eq!(world.run(&same).0, 0);
    let (.., talk) = world.run("copy many MANY");
    assert!(talk.contains("cannot be copied to itself"), "{talk}");
}

#[test]
fn failures_name_their_reason() {
    let world = world();
    for (line, expected) in [
        (
            "copy many nothing",
            "the target table nothing does not exist: --create-table creates it",
        ),
        ("copy many a --create-table", "400 OutOfRangeInput"),
        ("copy nothing other --create-table", "404 TableNotFound"),
        ("import nothing.csv many", "nothing.csv: No such file"),
        ("export many rows.xls", "unknown format of rows.xls"),
        ("diff many nothing", "404 TableNotFound"),
        (
            "diff many many --resume x",
            "not a resume token of partita diff",
        ),
        ("copy many other --resume --restart", "cannot be used with"),
        (
            "diff many many --endpoint http://127.0.0.1:1/devstoreaccount1",
            "Connection refused (os error 111) (is a server running? `partita serve` starts one)",
        ),
    ] {
        let (code, _, talk) = world.run(line);
        assert!(code == 2 && talk.contains(expected), "{line}: {talk}");
    }
    assert_eq!(world.states(), 0);
}
