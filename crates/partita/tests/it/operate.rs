//! Tests of commands on the admin port: output in every format, actions on ranges, and errors when no server answers.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::process::{Server, command, command_on, read};

/// A server with an admin port, and a table of 40 partitions.
struct World {
    server: Server,
    connection: String,
}

impl World {
    fn new() -> Self {
        let mut server = Server::start_with_admin(&["--in-memory"]);
        let connection = server.line();
        let world = Self { server, connection };
        assert_eq!(world.run("table create people").0, 0);
        for partition in 0..40 {
            let line = format!("entity insert people p{partition:02} r");
            assert_eq!(world.run(&line).0, 0);
        }
        world
    }

    fn command(&self, line: &str) -> std::process::Command {
        let mut command = command_on(&self.connection, line);
        command.env("PARTITA_ADMIN", self.server.admin());
        command
    }

    /// Exit code, stdout, stderr.
    fn run(&self, line: &str) -> (i32, String, String) {
        read(self.command(line).output().unwrap())
    }

    /// The stdout of a command, which must succeed.
    fn data(&self, line: &str) -> String {
        let (code, data, talk) = self.run(line);
        assert_eq!(code, 0, "{line}: {talk}");
        data
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.data(line)).unwrap()
    }
}

fn start(command: &mut std::process::Command) -> Child {
    command.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn ranges_are_split_and_merged_by_command() {
    let world = World::new();
    let split = world.json("admin split 1 --table people --at p20 -o json");
    assert_eq!(split["at"]["partition_key"], "p20");
    let whole = world.json("ranges -o json");
    assert_eq!(whole["ranges"][1]["start"]["partition_key"], "p20");
    let csv = world.data("ranges -o csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("range,from,before,bytes,requests,p99_us,state,"),
        "{csv}"
    );
    assert!(lines[1].starts_with("2,,people 'p20',"), "{csv}");
    assert!(lines[2].starts_with("3,people 'p20',,"), "{csv}");
    for action in [
        "flush",
        "compact",
        "collect",
        "freeze --for 1ms",
        "checkpoint --for 1s",
    ] {
        let (name, flags) = action.split_once(' ').unwrap_or((action, ""));
        let (code, data, talk) = world.run(&format!("admin {name} 3 {flags}"));
        assert!(code == 0 && data.starts_with('{'), "{action}: {talk}");
        assert!(
            talk.starts_with(&format!("{name} of range 3 done, 1 request, ")),
            "{talk}"
        );
    }
    assert!(
        world
            .data("admin merge 3 --with 2 -o table")
            .starts_with("into        4\n")
    );
    let (code, data, talk) = world.run("admin merge 4");
    assert_eq!((code, &*data), (2, ""));
    assert_eq!(
        talk,
        "error: NoNeighbour: the last range has no next range\n"
    );
    let (code, _, talk) = world.run("admin split 4 --table people");
    assert!(code == 2 && talk.contains("--at"), "{talk}");
}

#[test]
fn the_hottest_partition_is_shown_with_advice() {
    let world = World::new();
    for _ in 0..10 {
        // Each scan reads one row. p07 is read twice as often as p30, so it is the hottest even if a measuring window
        // ends during the loop: the load of older windows counts half.
        world.data("scan people --from p07 --before p08 --page-rows 1");
        world.data("scan people --from p07 --before p08 --page-rows 1");
        world.data("scan people --from p30 --before p31 --page-rows 1");
    }
    let whole = world.json("hot -o json");
    let partitions = whole["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), 20);
    let csv = world.data("hot --limit 2 -o csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("table,PartitionKey,range,share_percent,reads,writes,p99_us,split,"),
        "{csv}"
    );
    let keys: Vec<&str> = lines[1..]
        .iter()
        .map(|line| line.split(',').nth(1).unwrap())
        .collect();
    assert_eq!(keys, ["p07", "p30"]);
    assert_eq!(world.data("hot -n 3").lines().count(), 3);
    assert_eq!(world.run("hot --limit 0").0, 2);
}

#[test]
fn the_heat_map_needs_a_known_table_and_time() {
    let world = World::new();
    for (line, expected) in [
        (
            "heat --table pets",
            "TableNotFound: table pets does not exist",
        ),
        ("heat --to yesterday", "InvalidQuery: to must be a time"),
        ("heat --last 25h", "from 10s to 24h"),
        ("heat --metric joy", "joy"),
    ] {
        let (code, _, talk) = world.run(line);
        assert!(code == 2 && talk.contains(expected), "{line}: {talk}");
    }
    let (code, data, _) = world.run("heat --to 2020-01-01T00:00:00Z --last 1h --width 80 -o json");
    let whole: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(code, 1);
    // No data for that time is an outcome, not a failure. The document of the port is printed.
    assert_eq!(
        (&whole["to"], &whole["rows"]),
        (&"2020-01-01T00:00:00Z".into(), &Value::Array(Vec::new()))
    );
    assert_eq!(whole["step_seconds"], 120);
    let (code, data, talk) = world.run("heat --partitions --to 2020-01-01T00:00:00Z -o table");
    assert_eq!((code, &*data), (1, ""));
    assert!(talk.starts_with("no data for that time, "), "{talk}");
}

/// B1: `status` also says what the table endpoint answers. B12: JSON and JSON lines have the same document.
#[test]
fn the_status_is_shown_on_a_screen_and_in_every_format() {
    let world = World::new();
    let screen = world.data("status -o table");
    let admin = world.server.admin();
    assert!(
        screen.starts_with("healthy: partita ") && screen.contains(&admin),
        "{screen}"
    );
    for word in [
        "tables", "requests", "ranges", "limited", "store", "hottest",
    ] {
        assert!(
            screen.lines().any(|line| line.starts_with(word)),
            "{word}: {screen}"
        );
    }
    let whole = world.json("status -o json");
    assert_eq!(whole["status"]["state"], "ready");
    let tables = whole["status"]["listening"]["table"].as_str().unwrap();
    assert!(
        screen.contains(&format!("tables    answer at {tables}\n")),
        "{screen}"
    );
    assert_eq!(whole["ranges"]["map_version"], 1);
    assert!(whole["hot"]["partitions"].is_array());
    assert_eq!(world.json("status")["status"]["state"], "ready");

    let mut child = start(&mut world.command("status --watch"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["status"]["ranges"]["count"], 1);
    }
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn without_an_answer_the_error_names_the_port_and_the_flags() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", taken.local_addr().unwrap());
    // No process listens at that port after this.
    drop(taken);
    for verb in ["hot", "ranges", "heat", "status", "admin flush 1"] {
        let mut asking = command();
        asking.args(verb.split_whitespace()).args(["--admin", &url]);
        let (code, data, talk) = read(asking.output().unwrap());
        assert_eq!((code, &*data), (2, ""), "{verb}");
        assert!(
            talk.starts_with(&format!("error: no admin port answers at {url}; ")),
            "{talk}"
        );
        assert!(
            talk.contains("--admin-port") && talk.contains("PARTITA_ADMIN"),
            "{talk}"
        );
    }
    let mut asking = command();
    asking
        .args(["ranges"])
        .env("PARTITA_ADMIN", "localhost:10010");
    let (code, _, talk) = read(asking.output().unwrap());
    assert!(
        code == 2 && talk.contains("expected http://host:port"),
        "{talk}"
    );
    // The table port is not an admin port.
    let world = World::new();
    let table = format!("http://{}", world.server.table());
    let (code, _, talk) = world.run(&format!("ranges --admin {table}"));
    assert!(
        code == 2 && talk.contains("check that this is Partita's admin port"),
        "{talk}"
    );
}
