//! Tests of continuation tokens. Tokens are keys, so they stay valid after restarts of the server, and after splits and
//! merges of their range.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::process::{Server, command, read};
use crate::request;

/// A server on a directory.
struct World {
    server: Server,
    connection: String,
}

impl World {
    fn on(data: &Path) -> Self {
        let location = data.to_str().unwrap();
        let mut server = Server::start_with_admin(&["--location", location]);
        let connection = server.line();
        Self { server, connection }
    }

    /// Runs a command, which must succeed.
    fn run(&self, line: &str, stdin: &str) {
        let mut verb = command();
        verb.args(line.split_whitespace())
            .env("AZURE_STORAGE_CONNECTION_STRING", &self.connection)
            .env("PARTITA_ADMIN", self.server.admin())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = verb.spawn().unwrap();
        // Closed at once, because the command may wait for the end of its input.
        let mut into = child.stdin.take().unwrap();
        into.write_all(stdin.as_bytes()).unwrap();
        drop(into);
        let (code, _, talk) = read(child.wait_with_output().unwrap());
        assert_eq!(code, 0, "{line}: {talk}");
    }

    /// The keys on a page of seven rows, and the token of the next page.
    fn page(&self, token: &str) -> (Vec<String>, Option<String>) {
        let query = format!("$top=7{token}");
        let (head, body) = request::get(&self.server.table(), "people()", &query);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{body}");
        let page: Value = serde_json::from_str(&body).unwrap();
        let text = |entity: &Value, name: &str| entity[name].as_str().unwrap().to_owned();
        let rows = page["value"].as_array().unwrap().iter();
        let keys = rows.map(|row| text(row, "PartitionKey") + "/" + &text(row, "RowKey"));
        let keys = keys.collect();
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            let (_, value) = lines.find(|(there, _)| there.eq_ignore_ascii_case(name))?;
            Some(value.to_owned())
        };
        let next = header("x-ms-continuation-NextPartitionKey").map(|partition| {
            let row = header("x-ms-continuation-NextRowKey");
            let row = row.map_or(String::new(), |row| format!("&NextRowKey={row}"));
            format!("&NextPartitionKey={partition}{row}")
        });
        (keys, next)
    }
}

#[test]
fn a_token_is_valid_after_kills_splits_and_merges() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut world = World::on(&data);
    world.run("table create people", "");
    let mut wanted = Vec::new();
    let mut rows = String::new();
    for partition in 0..20 {
        for row in 0..3 {
            wanted.push(format!("p{partition:02}/r{row}"));
            rows += &format!("{{\"PartitionKey\":\"p{partition:02}\",\"RowKey\":\"r{row}\"}}\n");
        }
    }
    world.run("entity insert people --stdin", &rows);

    // After each page, a split before or after the key of the token changes the range of that key.
    let changes = [
        "",
        "admin split 1 --table people --at p02",
        "admin split 3 --table people --at p06",
        "admin merge 2 --with 4",
    ];
    let (mut seen, mut token, mut changes) = (Vec::new(), String::new(), changes.into_iter());
    loop {
        let (keys, next) = world.page(&token);
        seen.extend(keys);
        let Some(next) = next else { break };
        token = next;
        if let Some(change) = changes.next() {
            world.server.kill();
            world = World::on(&data);
            if !change.is_empty() {
                world.run(change, "");
            }
        }
    }
    assert_eq!(seen, wanted, "each row once, in order");
    assert_eq!(
        changes.next(),
        None,
        "the scan had enough pages for all changes"
    );
}
