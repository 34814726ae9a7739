//! Damaged files under a running server: the answer, and where an operator finds the file's name.

use std::path::{Path, PathBuf};

use crate::process::{Server, command, command_on, read};
use crate::request::{get, get_page};

/// Runs a command line on a server, which must succeed.
fn run(connection: &str, line: &str) {
    let (code, _, messages) = read(command_on(connection, line).output().unwrap());
    assert_eq!(code, 0, "{line}: {messages}");
}

fn start(directory: &Path) -> Server {
    Server::start_with_admin(&["--location", directory.to_str().unwrap()])
}

/// A server with an empty table, and a new data directory.
struct World {
    _home: tempfile::TempDir,
    data: PathBuf,
    server: Server,
    connection: String,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        let mut server = start(&data);
        let connection = server.line();
        run(&connection, "table create rows");
        Self {
            _home: home,
            data,
            server,
            connection,
        }
    }

    fn insert(&self) {
        run(&self.connection, "entity insert rows p r");
    }

    fn flush(&self) {
        let line = format!("admin flush 1 --admin {}", self.server.admin());
        run(&self.connection, &line);
    }
}

#[test]
fn a_cut_data_file_is_answered_at_once_and_named() {
    let world = World::new();
    world.insert();
    world.flush();
    assert_eq!(world.server.end("-TERM").0, 0);

    let mut names = Vec::new();
    for file in std::fs::read_dir(world.data.join("store/range-1/compacted")).unwrap() {
        let path = file.unwrap().path();
        let whole = std::fs::read(&path).unwrap();
        // Keeps a quarter of the file. The second half of so short a file is metadata that the manifest has too, so
        // losing only that half would not damage the rows.
        std::fs::write(&path, &whole[..whole.len() / 4]).unwrap();
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    let server = start(&world.data);
    let entity = "rows(PartitionKey='p',RowKey='r')";
    for _ in 0..3 {
        // Not 503 ServerBusy: clients would retry, and a retry cannot succeed.
        let (head, body) = get(&server.table(), entity, "");
        assert!(head.starts_with("HTTP/1.1 500 "), "{head}");
        assert!(body.contains("InternalError"), "{body}");
    }

    let admin = server.admin();
    let (head, body) = get_page(admin.strip_prefix("http://").unwrap(), "/readyz");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let named = |text: &str| {
        let mut paths = names
            .iter()
            .map(|name| format!("store/range-1/compacted/{name}"));
        paths.any(|path| text.contains(&path))
    };
    let expected = "degraded: range 1 cannot read store/";
    assert!(body.starts_with(expected) && named(&body), "{body}");
    let mut status = command();
    status.args(["status", "-o", "json", "--admin", &admin]);
    let (code, text, _) = read(status.output().unwrap());
    let status: serde_json::Value = serde_json::from_str(&text).unwrap();
    let damaged = &status["status"]["damaged_files"][0];
    assert_eq!((code, &damaged["range"]), (1, &1.into()), "{text}");
    assert!(named(damaged["file"].as_str().unwrap()), "{text}");

    let (_, _, log) = server.end("-TERM");
    assert!(named(&log), "{log}");
    let lines = log.matches("a file of the store is damaged").count();
    assert!((1..=names.len()).contains(&lines), "{log}");
}

/// The message of a server on this data directory, which must not start.
fn refusal(data: &Path) -> String {
    let mut server = command();
    server.args([
        "serve",
        "--table-port",
        "0",
        "--admin-port",
        "0",
        "--location",
    ]);
    let (code, _, messages) = read(server.arg(data).output().unwrap());
    assert_eq!(code, 2, "{messages}");
    messages
}

/// The head of the WAL lists its segments, so a start notices a removed segment. Otherwise its rows would be lost
/// without a message. The messages are those of `docs/check.md`.
#[test]
fn a_damaged_log_keeps_the_server_from_starting() {
    let mut world = World::new();
    world.flush();
    for row in ["1", "2", "3"] {
        run(&world.connection, &format!("entity insert rows p {row}"));
    }
    world.server.kill();
    let data = &world.data;
    let segment = "00000000000000000001.log";
    for name in [segment, "head"] {
        let path = data.join("log").join(name);
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let messages = refusal(data);
        let missing = format!("log/{name} is missing: ");
        assert!(
            messages.contains(&missing) && messages.contains("restore"),
            "{messages}"
        );
        std::fs::write(&path, whole).unwrap();
    }
    // A record takes at least one sector, so the second sector of records is before the last record.
    let path = data.join("log").join(segment);
    let whole = std::fs::read(&path).unwrap();
    let mut zeroed = whole.clone();
    zeroed[1024..1536].fill(0);
    std::fs::write(&path, zeroed).unwrap();
    let messages = refusal(data);
    let damaged = format!("log/{segment} is damaged: an acknowledged record is damaged");
    assert!(messages.contains(&damaged), "{messages}");
    std::fs::write(&path, whole).unwrap();
    let server = start(data);
    for row in ["1", "2", "3"] {
        let entity = format!("rows(PartitionKey='p',RowKey='{row}')");
        let (head, body) = get(&server.table(), &entity, "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head} {body}");
    }
}
