//! Tests of commands that the page `docs/tools.md` cannot show: signals, closed pipes, confirmation, split points, exit
//! codes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::gate::Gate;
use crate::process::{Server, command_on, read, rest_of_stderr};

/// A server, and the environment of commands on it.
pub(crate) struct World {
    pub(crate) server: Server,
    connection: String,
    /// The directory of progress files.
    state: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::on(Server::start(&["--in-memory"]))
    }

    fn on(mut server: Server) -> Self {
        let connection = server.line();
        Self {
            server,
            connection,
            state: tempfile::tempdir().unwrap(),
        }
    }

    /// The server's connection string.
    pub(crate) fn connection(&self) -> &str {
        &self.connection
    }

    /// A gate in front of the server, which lets `may_pass` requests pass.
    pub(crate) fn gate(&self, may_pass: usize) -> Gate {
        Gate::before(&self.server.table(), may_pass)
    }

    /// The connection string of the server through a gate.
    pub(crate) fn through(&self, gate: &Gate) -> String {
        let direct = self.server.table();
        self.connection.replace(&direct, gate.address())
    }

    /// The number of progress files.
    pub(crate) fn states(&self) -> usize {
        let states = self.state.path().join("partita").read_dir();
        states.map_or(0, Iterator::count)
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = command_on(&self.connection, arguments);
        command.env("XDG_STATE_HOME", self.state.path());
        command.env("XDG_CONFIG_HOME", self.config());
        command
    }

    /// The directory of the user's settings.
    pub(crate) fn config(&self) -> std::path::PathBuf {
        self.state.path().join("config")
    }

    /// Exit code, stdout, stderr.
    pub(crate) fn run(&self, arguments: &str) -> (i32, String, String) {
        read(self.command(arguments).output().unwrap())
    }

    /// Like [`Self::run`], with text on stdin.
    pub(crate) fn run_on(&self, arguments: &str, input: &str) -> (i32, String, String) {
        let mut child = self.start(self.command(arguments).stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        read(child.wait_with_output().unwrap())
    }

    pub(crate) fn start(&self, command: &mut Command) -> Child {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().unwrap()
    }

    /// Creates a table with this many rows in each partition, each of about a kilobyte.
    pub(crate) fn fill(&self, table: &str, partitions: &[(&str, usize)]) {
        assert_eq!(self.run(&format!("table create {table}")).0, 0);
        let filler = "x".repeat(1000);
        let rows = partitions.iter().flat_map(|(partition, rows)| {
            let filler = &filler;
            (0..*rows).map(move |row| {
                format!(
                    "{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row:05}\",\"N\":{row},\"Filler\":\"{filler}\"}}\n"
                )
            })
        });
        let input: String = rows.collect();
        let (code, _, talk) = self.run_on(&format!("entity insert {table} --stdin"), &input);
        assert_eq!(code, 0, "{talk}");
    }
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// The keys of JSON lines.
pub(crate) fn keys(data: &str) -> Vec<(String, String)> {
    let rows = data.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let key = |name: &str| row[name].as_str().unwrap().to_owned();
        (key("PartitionKey"), key("RowKey"))
    });
    rows.collect()
}

#[test]
fn an_interrupted_scan_resumes_where_it_stopped() {
    let world = World::new();
    world.fill("many", &[("a", 800), ("b", 800), ("c", 400)]);
    for (line, interrupt) in [
        ("scan many --page-rows 50 --jobs 3", "-INT"),
        ("scan many --page-rows 50 --jobs 3 --unordered", "-TERM"),
    ] {
        let mut child = world.start(&mut world.command(line));
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        // Two megabytes do not fit into the pipe: when the first row is read, the last is not written yet.
        let mut data = String::new();
        stdout.read_line(&mut data).unwrap();
        signal(&child, interrupt);
        stdout.read_to_string(&mut data).unwrap();
        let talk = rest_of_stderr(&mut child);
        assert_eq!(child.wait().unwrap().code(), Some(2), "{talk}");
        let before = keys(&data);
        assert!((1..2000).contains(&before.len()), "{}", before.len());
        let (_, token) = talk
            .lines()
            .next()
            .unwrap()
            .split_once("--resume ")
            .unwrap();
        assert!(talk.ends_with("error: interrupted\n"), "{talk}");

        let (code, data, talk) = world.run(&format!("{line} --resume {token}"));
        assert_eq!(code, 0, "{talk}");
        let mut all = before;
        all.extend(keys(&data));
        if line.contains("--unordered") {
            all.sort();
        }
        let whole = keys(&world.run("scan many --strategy serial").1);
        assert_eq!(all, whole);

        let other = world.run(&format!("scan other --resume {token}"));
        assert_eq!(other.0, 2);
        assert!(
            other
                .2
                .contains("is from table many of devstoreaccount1, not other"),
            "{}",
            other.2
        );
        let other = world.run(&format!("scan many --filter N --resume {token}"));
        assert!(other.2.contains("another filter"), "{}", other.2);
        let (.., talk) = world.run(&format!("count many --resume {token}"));
        let expected = "not a resume token of partita count";
        assert!(talk.contains(expected), "{talk}");
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let world = World::new();
    world.fill("many", &[("a", 1000)]);
    let mut child = world.start(&mut world.command("scan many --page-rows 10"));
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    assert_eq!(
        read(child.wait_with_output().unwrap()),
        (0, String::new(), String::new())
    );
}

#[test]
fn every_strategy_finds_the_same_rows() {
    let world = World::on(Server::start_with_admin(&["--in-memory"]));
    world.fill("many", &[("a", 30), ("b", 2), ("ba", 3), ("c", 1)]);
    let admin = world.server.admin();
    let address = admin.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = r#"{"account":"devstoreaccount1","table":"many","partition_key":"b"}"#;
    let request = format!(
        "POST /admin/v1/ranges/1/split HTTP/1.1\r\nHost: {address}\r\nx-partita-admin: 1\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    let (code, serial, talk) = world.run("scan many --strategy serial");
    assert_eq!((code, keys(&serial).len()), (0, 36));
    // A page ends at the end of a range.
    assert!(talk.starts_with("36 rows, 2 requests, "), "{talk}");
    for strategy in ["prefix", "ranges", "auto"] {
        let line = format!("scan many --admin {admin} --strategy {strategy} --page-rows 7");
        let (code, data, _) = world.run(&line);
        assert_eq!((code, data), (0, serial.clone()), "{strategy}");
    }
    let by_ranges = world.run(&format!("scan many --admin {admin} --strategy ranges"));
    assert!(
        by_ranges.2.starts_with("36 rows, 2 requests, "),
        "{}",
        by_ranges.2
    );

    for (line, expected) in [
        ("scan many --strategy ranges", "needs --admin"),
        (
            "scan many --strategy ranges --admin http://127.0.0.1:1",
            "no admin port answers",
        ),
        (
            "scan many --strategy auto --admin http://127.0.0.1:1",
            "no admin port answers",
        ),
    ] {
        let (code, data, talk) = world.run(line);
        assert_eq!((code, &*data), (2, ""));
        assert!(talk.contains(expected), "{talk}");
    }
}

#[test]
fn bounds_select_partitions() {
    let world = World::new();
    world.fill("many", &[("a", 1), ("b", 1), ("ba", 1), ("c", 1)]);
    for (bounds, expected) in [
        ("--prefix b", vec!["b", "ba"]),
        ("--from b", vec!["b", "ba", "c"]),
        ("--after b --before c", vec!["ba"]),
        ("--through b", vec!["a", "b"]),
        ("--from x", vec![]),
    ] {
        let (code, data, _) = world.run(&format!("scan many {bounds}"));
        let found: Vec<_> = keys(&data).into_iter().map(|(key, _)| key).collect();
        assert_eq!(found, expected, "{bounds}");
        assert_eq!(code, i32::from(expected.is_empty()), "{bounds}");
        let (_, data, _) = world.run(&format!("partitions many {bounds} -o csv"));
        let listed: Vec<_> = data.lines().skip(1).collect();
        assert_eq!(listed, expected, "{bounds}");
        let (_, data, _) = world.run(&format!("count many {bounds}"));
        assert_eq!(data.trim(), expected.len().to_string(), "{bounds}");
    }
    assert_eq!(world.run("scan many --prefix b --from b").0, 2);
}

#[test]
fn without_a_terminal_destructive_commands_need_yes() {
    let world = World::new();
    world.fill("many", &[("a", 2)]);
    for line in [
        "table delete many",
        "entity delete many a 00000",
        "purge many N(ge)0",
    ] {
        let mut command = world.command("");
        command.args(line.split(' ').map(|word| word.replace("N(ge)0", "N ge 0")));
        let (code, data, talk) = read(command.output().unwrap());
        assert_eq!((code, &*data), (2, ""));
        assert!(
            talk.contains(": cannot ask for confirmation, stdin or stderr is not a terminal"),
            "{talk}"
        );
    }
    assert_eq!(world.run("count many").1, "2\n");
}

#[test]
fn a_purge_deletes_the_rows_that_it_announced() {
    let world = World::new();
    world.fill("many", &[("a", 250), ("b", 100), ("c", 3)]);
    let purge = |flags: &str| {
        let mut command = world.command(&format!("purge many {flags}"));
        read(command.arg("--filter=N ge 1").output().unwrap())
    };
    let cost = "350 rows in 3 partitions match; deleting them takes 5 requests";
    let (code, data, talk) = purge("--dry-run");
    assert_eq!((code, &*data), (0, ""));
    assert!(talk.starts_with(cost), "{talk}");
    assert_eq!(world.run("count many").1, "353\n");
    let (code, data, talk) = purge("--yes --jobs 2");
    assert_eq!((code, &*data), (0, ""), "{talk}");
    // One request finds the rows for the cost, a second one finds them for the deletion.
    let (told, last) = talk.trim_end().split_once('\n').unwrap();
    assert!(
        told.starts_with(cost) && last.starts_with("350 rows deleted, 7 requests, "),
        "{talk}"
    );
    assert_eq!(world.run("count many").1, "3\n");
    let (code, _, talk) = purge("--yes");
    assert_eq!(code, 1);
    assert!(talk.starts_with("0 rows deleted, 1 request, "), "{talk}");
}

#[test]
fn nothing_found_and_failure_have_different_exit_codes() {
    let world = World::new();
    world.fill("many", &[("a", 1)]);
    for (line, expected) in [
        ("entity get many a 00000", 0),
        ("entity get many a 1", 1),
        ("entity get nothing a 1", 2),
        ("entity delete many a 1 --yes", 1),
        ("entity replace many a 1 N=1", 1),
        ("entity merge many a 00000 N=1 --if-match W/\"x\"", 2),
        ("entity insert many a 00000", 2),
        ("entity insert many a", 2),
        ("entity insert many", 2),
        ("entity query many --filter PartitionKey", 1),
        ("entity query many --filter )", 2),
        ("table show many", 0),
        ("table show nothing", 1),
        ("table delete nothing --yes", 1),
        ("table create many", 2),
        ("table create many --if-not-exists", 0),
        ("count many --filter Missing", 1),
        ("count nothing", 2),
        ("partitions many", 0),
        (
            "scan many --endpoint http://127.0.0.1:1/devstoreaccount1 --sas sv=1&sig=x --retries 0",
            2,
        ),
        ("scan many --account other", 2),
    ] {
        let (code, _, talk) = world.run(line);
        assert_eq!(code, expected, "{line}: {talk}");
        assert_eq!(
            // A filter and the mark under its wrong part are indented.
            talk.lines()
                .rfind(|line| !line.starts_with("  "))
                .unwrap_or_default()
                .starts_with("error: "),
            code == 2 && !talk.contains("Usage:"),
            "{talk}"
        );
    }
}

#[test]
fn rows_of_a_scan_can_be_inserted_unchanged() {
    let world = World::new();
    let input = r#"{"PartitionKey":"é \"","RowKey":"","A@odata.type":"Edm.Int64","A":"5","B@odata.type":"Edm.Double","B":5.0,"C@odata.type":"Edm.Binary","C":"AAE=","D@odata.type":"Edm.DateTime","D":"1999-12-31T23:59:59.1234567Z","E@odata.type":"Edm.Guid","E":"01010101-0101-0101-0101-010101010101","F":true,"G":5,"H":"text\n"}"#;
    for table in ["one", "two", "three"] {
        assert_eq!(world.run(&format!("table create {table}")).0, 0);
    }
    assert_eq!(world.run_on("entity insert one --stdin", input).0, 0);
    let without_times = |data: &str| {
        let rows = data.lines().map(|line| {
            let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().remove("Timestamp").unwrap();
            row
        });
        rows.collect::<Vec<_>>()
    };
    let (_, first, _) = world.run("scan one");
    let original: serde_json::Value = serde_json::from_str(input).unwrap();
    let mut row = without_times(&first).remove(0);
    row.as_object_mut().unwrap().remove("Timestamp@odata.type");
    assert_eq!(row, original);
    assert_eq!(world.run_on("entity insert two --stdin", &first).0, 0);
    let (_, array, _) = world.run("entity query two -o json --etag");
    assert_eq!(
        world
            .run_on("entity upsert three --stdin --replace", &array)
            .0,
        0
    );
    let (_, third, _) = world.run("scan three");
    assert_eq!(without_times(&third), without_times(&first));
    let (code, _, talk) = world.run_on("entity insert two --stdin", &first);
    assert!(code == 2 && talk.contains("EntityAlreadyExists"), "{talk}");
}

/// The service says only that a name or a key is refused; the rule follows.
#[test]
fn refused_names_and_keys_are_followed_by_the_rule() {
    let world = World::new();
    assert_eq!(world.run("table create people").0, 0);
    for (line, refusal, rule) in [
        (
            "table create a",
            "OutOfRangeInput",
            "3 to 63 letters and digits",
        ),
        (
            "table create 1abc",
            "InvalidResourceName",
            "begins with a letter",
        ),
        (
            "queue create Bad",
            "InvalidResourceName",
            "lower-case letters",
        ),
        (
            "entity insert people a/b c",
            "OutOfRangeInput",
            "none of / \\ # ?",
        ),
    ] {
        let (code, _, talk) = world.run(line);
        assert_eq!(code, 2, "{line}");
        assert!(
            talk.contains(refusal) && talk.contains(rule),
            "{line}: {talk}"
        );
    }
}

#[test]
fn manual_pages_have_every_command() {
    let world = World::new();
    let home = tempfile::tempdir().unwrap();
    let pages = home.path().join("man/man1");
    let (code, data, _) = world.run(&format!("man {}", pages.display()));
    assert_eq!((code, &*data), (0, ""));
    for page in [
        "partita.1",
        "partita-scan.1",
        "partita-table-delete.1",
        "partita-entity-insert.1",
        "partita-table-policy-set.1",
        "partita-service-cors-add.1",
    ] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
}
