//! Tests of `partita log`: order, following, slow writers, invalid rows.

use std::io::{BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use crate::process::{read, rest_of_stderr};
use crate::tools::{World, signal};

/// Starts a follower; its lines can be read one by one.
fn follow(world: &World, arguments: &str) -> (Child, BufReader<ChildStdout>) {
    let line = format!("log tail {arguments} --follow --interval 20ms");
    let mut child = world.start(&mut world.command(&line));
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

fn line(from: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Exit code and stderr of a child whose stdout is read elsewhere.
fn end(mut child: Child) -> (i32, String) {
    let talk = rest_of_stderr(&mut child);
    (child.wait().unwrap().code().unwrap(), talk)
}

#[test]
fn appended_lines_are_shown_newest_first() {
    let world = World::new();
    let input: String = (0..1250).map(|n| format!("line {n} é\n")).collect();
    let (code, data, talk) = world.run_on("log append logs it's --create-table", &input);
    assert_eq!((code, &*data), (0, ""), "{talk}");
    assert!(talk.starts_with("1,250 rows appended, "), "{talk}");
    let (code, data, talk) = world.run("log tail logs it's -n 3 --text");
    assert_eq!(
        (code, &*data),
        (0, "line 1249 é\nline 1248 é\nline 1247 é\n")
    );
    assert!(talk.starts_with("3 rows, 1 request, "), "{talk}");
    let (_, data, talk) = world.run("log tail logs it's -n 2000 --text=Line");
    let found: Vec<_> = data.lines().rev().collect();
    assert_eq!(found, input.lines().collect::<Vec<_>>());
    assert!(talk.starts_with("1,250 rows, 2 requests, "), "{talk}");
    let (_, data, _) = world.run("log tail logs it's --since 1h -o csv --select Line");
    assert_eq!(data.lines().count(), 1251);
    let (_, data, talk) = world.run("log tail logs it's --since 1h -n 7");
    assert_eq!(data.lines().count(), 7);
    assert!(talk.starts_with("7 rows, 1 request, "), "{talk}");
    assert_eq!(world.run("log tail logs it's --since 2200-01-01").0, 1);
}

#[test]
fn a_follower_shows_new_rows_in_order() {
    let world = World::new();
    world.run_on("log append logs web --create-table", "1\n2\n3\n");
    let (child, mut lines) = follow(&world, "logs web -n 2 --text");
    assert_eq!([line(&mut lines), line(&mut lines)], ["2", "3"]);
    for more in ["4\n5\n", "6\n"] {
        world.run_on("log append logs web", more);
    }
    let come: Vec<_> = (0..3).map(|_| line(&mut lines)).collect();
    assert_eq!(come, ["4", "5", "6"]);
    signal(&child, "-INT");
    let (code, talk) = end(child);
    assert_eq!(code, 0, "{talk}");
    assert!(talk.starts_with("5 rows, "), "{talk}");

    // A log without rows at first, in another format.
    let (child, mut lines) = follow(&world, "logs other --select Line");
    world.run_on("log append logs other", "first\n");
    let row: serde_json::Value = serde_json::from_str(&line(&mut lines)).unwrap();
    assert_eq!(row["Line"], "first");
    signal(&child, "-TERM");
    assert_eq!(end(child).0, 0);
    let (code, _, talk) = world.run("log tail missing web --follow");
    assert!(code == 2 && talk.contains("TableNotFound"), "{talk}");
}

#[test]
fn lines_of_a_slow_writer_are_written_at_once() {
    let world = World::new();
    assert_eq!(world.run("table create logs").0, 0);
    let mut command = world.command("log append logs web");
    let mut child = world.start(command.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    let (follower, mut lines) = follow(&world, "logs web --text");
    for text in ["one", "two"] {
        stdin.write_all(format!("{text}\n").as_bytes()).unwrap();
        assert_eq!(line(&mut lines), text);
    }
    signal(&child, "-INT");
    // The stdin of the writer is still open, so the signal ended it.
    let (code, _, talk) = read(child.wait_with_output().unwrap());
    assert_eq!(code, 2);
    assert_eq!(
        talk,
        "2 rows appended before the error\nerror: interrupted\n"
    );
    drop(stdin);
    signal(&follower, "-INT");
    assert_eq!(end(follower).0, 0);
}

#[test]
fn an_invalid_row_is_reported_and_the_rows_before_it_are_written() {
    let world = World::new();
    let input = "{\"N\": 1, \"RowKey\": \"x\"}\n{\"N\": [1]}\n{\"N\": 2}\n";
    let (code, _, talk) = world.run_on("log append logs web --json --dry-run", input);
    assert_eq!(code, 2);
    assert!(!talk.contains("appended"), "{talk}");
    let (code, _, talk) = world.run_on("log append logs web --json --create-table", input);
    assert_eq!(code, 2);
    assert!(
        talk.starts_with(
            "1 row appended before the error\nerror: line 2 of the input is invalid: "
        ),
        "{talk}"
    );
    let (_, data, _) = world.run("log tail logs web");
    assert!(
        data.lines().count() == 1 && data.contains("\"N\":1") && !data.contains("\"x\""),
        "{data}"
    );

    for (line, expected) in [
        (
            "log tail logs web --since yesterday",
            "\"yesterday\" is neither a date-time nor a duration, such as 500ms",
        ),
        ("log tail logs web --late 5", "\"5\" is not a duration"),
        ("log tail logs web --text -o csv", "cannot be used with"),
        (
            "log append logs web --property a-b",
            "\"a-b\" is not a valid property name",
        ),
        ("log append missing web --retries 0", "TableNotFound"),
    ] {
        let (code, _, talk) = world.run_on(line, "a\n");
        assert_eq!(code, 2, "{line}");
        assert!(talk.contains(expected), "{talk}");
    }
    let (code, _, talk) = world.run_on("log append logs web", "");
    assert_eq!(code, 1);
    assert!(talk.starts_with("0 rows appended, 0 requests, "), "{talk}");
}
