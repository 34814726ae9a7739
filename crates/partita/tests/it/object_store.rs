//! A server whose data is in an object store, here a shared folder: another process takes over after a kill, or from a
//! server that is still running.

use std::process::Stdio;

use crate::process::{Server, command_on, read, run};

/// A shared folder, and the table `people` in it.
struct World {
    home: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn url(&self) -> String {
        format!("file://{}/shared", self.home.path().display())
    }

    /// A server on the store, and its connection string.
    fn serve(&self) -> (Server, String) {
        let mut server = Server::start_with_admin(&["--store", &self.url()]);
        let connection = server.line();
        (server, connection)
    }
}

/// The stdout of a command on the account, which must succeed.
fn done(connection: &str, line: &str) -> String {
    let (code, data, talk) = read(command_on(connection, line).output().unwrap());
    assert_eq!(code, 0, "{line}: {talk}");
    data
}

#[test]
fn a_killed_server_is_replaced_by_one_on_the_same_store() {
    let world = World::new();
    let (mut server, connection) = world.serve();
    let ready = format!(", data in {}", world.url());
    assert!(server.ready().ends_with(&ready), "{}", server.ready());
    done(&connection, "table create people");
    for row in 0..10 {
        done(&connection, &format!("entity insert people p{row} r"));
    }
    let status = run(&["status", "--output", "json", "--admin", &server.admin()]).1;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let store = &status["status"]["store"];
    assert_eq!(store["kind"], "object_store");
    assert_eq!(store["url"], world.url());
    assert_eq!(store["id"].as_str().unwrap().len(), 32);
    assert!(store["clock_ahead_seconds"].as_i64().unwrap().abs() <= 1);
    let rows = done(&connection, "export people -");
    assert_eq!(rows.lines().count(), 10);
    server.kill();

    let (server, connection) = world.serve();
    assert_eq!(done(&connection, "export people -"), rows);
    let (code, _, talk) = server.end("-TERM");
    assert_eq!(code, 0, "{talk}");
    let (_server, connection) = world.serve();
    assert_eq!(done(&connection, "export people -"), rows);
}

#[test]
fn a_second_server_takes_over_and_the_first_one_stops_with_an_error() {
    let world = World::new();
    let (first, of_first) = world.serve();
    done(&of_first, "table create people");
    done(&of_first, "entity insert people one r");

    let (_second, of_second) = world.serve();
    // A write lets the first server notice at once. The client would repeat it for longer than the test waits.
    let mut lost = command_on(&of_first, "entity insert people lost r");
    let mut lost = lost
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (code, data, talk) = first.wait();
    let ended = lost.try_wait().unwrap();
    assert!(ended.is_none_or(|ended| !ended.success()));
    let _ = lost.kill();
    lost.wait().unwrap();
    assert_eq!(code, 2, "{talk}");
    assert!(data.contains("successfully closed"), "{data}");
    assert!(
        talk.contains(
            "stopped serving: another server has taken over the log of life 0000000000000001"
        ) && talk.contains("it was sealed by life 0000000000000002"),
        "{talk}"
    );

    done(&of_second, "entity insert people two r");
    let rows = done(&of_second, "export people -");
    assert!(
        rows.contains("\"one\"") && rows.contains("\"two\""),
        "{rows}"
    );
    assert!(!rows.contains("lost"), "{rows}");
}

#[test]
fn a_data_directory_is_not_served_as_a_store() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    assert_eq!(Server::start(&["--location", &data]).end("-TERM").0, 0);
    let ports = ["serve", "--table-port", "0", "--admin-port", "0"];
    let url = format!("file://{data}");
    let (code, _, talk) = run(&[&ports[..], &["--store", &url]].concat());
    assert_eq!(code, 2);
    assert!(talk.contains("serve it with --location"), "{talk}");

    let shared = World::new();
    assert_eq!(shared.serve().0.end("-TERM").0, 0);
    let folder = shared.home.path().join("shared").display().to_string();
    let (code, _, talk) = run(&[&ports[..], &["--location", &folder]].concat());
    assert_eq!(code, 2);
    assert!(talk.contains("partita.toml is missing"), "{talk}");
}

#[test]
fn a_log_in_another_store_is_required_again() {
    let world = World::new();
    let log = format!("file://{}/log", world.home.path().display());
    let flags = ["--store", &world.url(), "--log-store", &log];
    let mut server = Server::start(&flags);
    let connection = server.line();
    done(&connection, "table create people");
    done(&connection, "entity insert people one r");
    server.kill();

    let ports = ["serve", "--table-port", "0", "--admin-port", "0"];
    let (code, _, talk) = run(&[&ports[..], &flags[..2]].concat());
    assert_eq!(code, 2);
    assert!(talk.contains("its log is in another store"), "{talk}");
    let mut server = Server::start(&flags);
    let connection = server.line();
    assert_eq!(done(&connection, "export people -").lines().count(), 1);
}
