//! Data that an earlier version of the program wrote, read by this one.
//!
//! `fixtures/store-1.tar.gz` was written by the program of commit d000ea8, which was then killed. It holds `store` (a
//! data directory: two splits, one merge, files shared between ranges, a snapshot, and writes that only the WAL holds),
//! `backup` (of the snapshot), and what that program exported from the table `rows`: `at-snapshot.jsonl` and, before it
//! was killed, `at-kill.jsonl`.

use std::path::Path;
use std::process::Command;

use crate::process::{Server, command, read};

/// The unpacked fixture.
fn unpack() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-1.tar.gz");
    let mut tar = Command::new("tar");
    let status = tar.arg("xzf").arg(archive).arg("-C").arg(home.path());
    assert!(status.status().unwrap().success());
    home
}

/// Runs a command in the fixture's directory, which must succeed. Returns its stdout.
fn run(home: &Path, connection: &str, arguments: &[&str]) -> String {
    let mut command = command();
    let command = command.args(arguments).current_dir(home);
    let command = command.env("AZURE_STORAGE_CONNECTION_STRING", connection);
    let (code, data, messages) = read(command.output().unwrap());
    assert_eq!(code, 0, "{arguments:?}: {messages}");
    data
}

/// Starts a server on a directory of the fixture. Returns it with its connection string.
fn serve(home: &Path, directory: &str) -> (Server, String) {
    let location = home.join(directory);
    let mut server = Server::start_with_admin(&["--location", location.to_str().unwrap()]);
    let connection = server.line();
    (server, connection)
}

fn expected(home: &Path, file: &str) -> String {
    std::fs::read_to_string(home.join(file)).unwrap()
}

#[test]
fn a_data_directory_of_an_earlier_version_is_served() {
    let home = unpack();
    let home = home.path();
    let (mut server, connection) = serve(home, "store");
    let exported = run(home, &connection, &["export", "rows", "-"]);
    assert_eq!(exported, expected(home, "at-kill.jsonl"));
    let admin = server.admin();
    let ranges = run(home, &connection, &["ranges", "--admin", &admin]);
    assert_eq!(ranges.lines().count(), 2, "{ranges}");

    let restore = ["snapshot", "restore", "before", "--table", "rows"];
    let restore = [&restore[..], &["--as", "restored", "--admin", &admin]];
    run(home, &connection, &restore.concat());
    let count = run(home, &connection, &["count", "restored"]);
    let rows = expected(home, "at-snapshot.jsonl").lines().count();
    assert_eq!(count.trim(), rows.to_string());

    // Rows that this version adds to the old data survive a kill.
    run(
        home,
        &connection,
        &["entity", "insert", "rows", "new", "row"],
    );
    let all = run(home, &connection, &["export", "rows", "-"]);
    server.kill();
    let (_server, connection) = serve(home, "store");
    assert_eq!(run(home, &connection, &["export", "rows", "-"]), all);
}

#[test]
fn a_backup_of_an_earlier_version_is_restored() {
    let home = unpack();
    let home = home.path();
    let restore = ["restore", "--from", "backup", "--location", "restored"];
    run(home, "", &["backup", "verify", "backup"]);
    run(home, "", &restore);
    let (_server, connection) = serve(home, "restored");
    let exported = run(home, &connection, &["export", "rows", "-"]);
    assert_eq!(exported, expected(home, "at-snapshot.jsonl"));
}
