//! Messages with a place, a name and a remedy.

use super::{Files, done, refused, rows};
use crate::tools::World;

/// B7: an invalid line of a file has file, line, column, property, and what is allowed. B16: in lines, not rows.
#[test]
fn b7_invalid_rows_have_a_place() {
    let (world, files) = (World::new(), Files::new());
    done(&world, "table create plain");
    let good = rows(0..1);
    for (name, content, expected) in [
        (
            "nork.jsonl",
            format!("{good}\n{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"L\":[1,2]}}\n"),
            ":3:38: property L: an array is not a value; expected a string, a number, true, false or null",
        ),
        (
            "bad.jsonl",
            "{bad\n".to_owned(),
            ":1:2: not valid JSON: key must be a string",
        ),
        (
            "bad.json",
            "[\n  {\"PartitionKey\": \"p\",\n   \"RowKey\": \"r\",\n   \"A\": {}}]".to_owned(),
            ":4:9: property A: an object is not a value;",
        ),
        (
            "bad.csv",
            "PartitionKey,RowKey,N,N@type\np,1,1,Edm.Int32\n\np,2,x,Edm.Int32\n".to_owned(),
            ":4: column 3 (N): \"x\" is not a valid Edm.Int32; expected a whole number from -2147483648",
        ),
    ] {
        let path = files.write(name, content);
        let talk = refused(&world, &format!("import {path} plain"));
        assert!(talk.contains(&format!("error: {path}{expected}")), "{talk}");
    }
}

/// B14: a missing table is named, with its side and what to do.
#[test]
fn b14_missing_tables_are_named() {
    let world = World::new();
    done(&world, "table create some");
    let at = world.connection().split("TableEndpoint=").nth(1).unwrap();
    let at = at.split(';').next().unwrap();
    for (line, expected) in [
        (
            "diff some nosuch",
            "cannot read the right table: table nosuch does not exist at ",
        ),
        (
            "diff nosuch some",
            "cannot read the left table: table nosuch does not exist at ",
        ),
        (
            "copy nosuch some",
            "cannot read the source table: table nosuch does not exist at ",
        ),
        ("scan nosuch", "error: table nosuch does not exist at "),
        (
            "partitions nosuch",
            "error: table nosuch does not exist at ",
        ),
    ] {
        let talk = refused(&world, line);
        assert!(
            talk.contains(&format!("{expected}{at}: ")),
            "{line}: {talk}"
        );
        // The words that other people have searched for.
        assert!(talk.contains("404 TableNotFound"), "{line}: {talk}");
    }
    let (code, _, talk) = world.run_on("log append nosuch web", "line\n");
    assert_eq!(code, 2);
    let expected = "error: table nosuch does not exist; --create-table creates it: ";
    assert!(talk.contains(expected), "{talk}");
    for line in [
        "entity get nosuch p r",
        "entity query nosuch",
        "entity insert nosuch p r",
        "entity insert nosuch p r --dry-run",
        "entity delete nosuch p r --yes",
    ] {
        let talk = refused(&world, line);
        let expected = "table nosuch does not exist; `partita table create nosuch` creates it: ";
        assert!(talk.contains(expected), "{line}: {talk}");
    }
    let talk = refused(&world, "table rename nosuch other");
    assert!(
        talk.contains("error: table nosuch does not exist: "),
        "{talk}"
    );
    let talk = refused(&world, "log tail nosuch web");
    assert!(
        talk.contains("error: table nosuch does not exist: "),
        "{talk}"
    );
}

/// B15: a file that cannot be read is named, also when only its content cannot be.
#[cfg(target_os = "linux")]
#[test]
fn b15_unreadable_files_are_named() {
    let (world, files) = (World::new(), Files::new());
    done(&world, "table create some");
    std::os::unix::fs::symlink("loop.csv", files.path("loop.csv")).unwrap();
    let unreadable = [files.path("loop.csv"), files.path("none.csv")];
    // The first page of the memory of a process cannot be read.
    for path in unreadable
        .iter()
        .map(String::as_str)
        .chain(["/proc/self/mem"])
    {
        let talk = refused(&world, &format!("import {path} some --format csv"));
        assert!(talk.contains(&format!("error: {path}: ")), "{talk}");
    }
}

/// B16: after an interrupted import whose file was mended, each message names the flags that work.
#[test]
fn b16_a_mended_file_can_be_imported() {
    let (world, files) = (World::new(), Files::new());
    done(&world, "table create some");
    let bad = rows(0..3333) + "{bad\n" + &rows(3333..5000);
    let path = files.write("mid.jsonl", bad);
    let import = format!("import {path} some --jobs 1");
    let talk = refused(&world, &import);
    assert!(talk.contains(&format!("{path}:3334:2: ")), "{talk}");
    let remedy = "correct the file, then repeat the command with --restart --mode skip\n";
    assert!(talk.contains(remedy), "{talk}");
    files.write("mid.jsonl", rows(0..5000));
    for (flags, expected) in [
        (
            "",
            "--resume resumes it, --restart --mode skip starts again",
        ),
        (
            "--resume",
            "the file has changed since this import was interrupted, so it cannot be resumed: --restart --mode skip starts again",
        ),
        (
            "--restart",
            "already exists: --mode skip keeps existing rows",
        ),
    ] {
        let talk = refused(&world, &format!("{import} {flags}"));
        assert!(talk.contains(expected), "{talk}");
    }
    done(&world, &format!("{import} --restart --mode skip"));
    assert_eq!(world.run("count some").1, "5000\n");
    assert_eq!(world.states(), 0);
}
