//! Three servers and etcd as real processes. Started by `partita cluster try`: one after the other is killed while three
//! ranges are written, and snapshots of all three are taken. Started one by one: they are upgraded, have few roles, and are
//! lost.
//! `./test cluster` runs it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test panics, and the pauses that it measured are worth a line"
)]

mod members;
#[path = "../it/process.rs"]
#[allow(dead_code, reason = "the tests of single servers use the rest")]
mod process;
mod recovery;
mod roles;
mod snapshots;
mod start;
mod upgrade;
mod whole_cluster;

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use process::{command, command_on, read, rest_of_stderr, run};
use tempfile::TempDir;

/// The cluster. It ends with the value.
struct Trial {
    child: Child,
    /// The connection strings of the servers.
    connections: Vec<String>,
    /// The table port of the first.
    table_port: u16,
    folder: TempDir,
}

/// Whether the ports that `cluster try` derives from this one are free.
fn are_free(table_port: u16) -> bool {
    let offsets = [-1, 0, 8, 9].into_iter();
    let ports = offsets.flat_map(|offset| [0, 100, 200].map(|step| offset + step));
    let listeners: Result<Vec<_>, _> = ports
        .map(|offset| TcpListener::bind(("127.0.0.1", table_port.saturating_add_signed(offset))))
        .collect();
    listeners.is_ok()
}

/// A table port from which the free ports of three servers are derived. Below the ports that the system gives to programs
/// that want any.
fn free_ports() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let mut ports = (first..).step_by(20);
    ports.find(|port| are_free(*port)).unwrap()
}

impl Trial {
    fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts servers whose leases are long, so that one that stands still is not given up.
    fn start_with_lease(lease: &str) -> Self {
        Self::start_with(&[("PARTITA_LEASE", lease)])
    }

    /// Starts the servers with settings as variables. They may write backups into the folder `out`.
    fn start_with(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.deps/etcd");
        let etcd = programs.join("etcd");
        assert!(
            etcd.exists(),
            "etcd is missing: run crates/coordinator/setup"
        );
        let port = free_ports();
        let mut child = command()
            .args([
                "cluster",
                "try",
                "--table-port",
                &port.to_string(),
                "--etcd",
            ])
            .arg(etcd)
            .arg("--folder")
            .arg(folder.path().join("cluster"))
            .env("PARTITA_BACKUP_PLACE", folder.path().join("out"))
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let connections: Vec<String> = lines.by_ref().take(3).map(Result::unwrap).collect();
        if connections.len() < 3 {
            panic!("{}", rest_of_stderr(&mut child));
        }
        // A full pipe would stop the servers.
        let mut talk = child.stderr.take().unwrap();
        thread::spawn(move || std::io::copy(&mut talk, &mut std::io::stderr()));
        Self {
            child,
            connections,
            table_port: port,
            folder,
        }
    }

    /// The admin port of a server, counted from 0.
    fn admin(&self, server: usize) -> String {
        let port = usize::from(self.table_port) + 8 + 100 * server;
        format!("http://127.0.0.1:{port}")
    }

    /// Repeats a command on the admin port of a server until it succeeds. Returns what it printed.
    fn until_acted(&self, server: usize, arguments: &[&str]) -> serde_json::Value {
        let (began, admin) = (Instant::now(), self.admin(server));
        let arguments = [arguments, &["--output", "json", "--admin", &admin]].concat();
        loop {
            let (code, data, talk) = run(&arguments);
            if code == 0 {
                return serde_json::from_str(&data).unwrap();
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{talk}");
        }
    }

    /// Divides the table, so that three ranges have rows.
    fn split(&self) {
        for key in ["h", "p"] {
            let ranges = self.until_acted(0, &["ranges"]);
            let last = ranges["ranges"].as_array().unwrap().last().unwrap()["id"].to_string();
            let split = ["admin", "split", &last, "--table", "people", "--at", key];
            self.until_acted(1, &split);
        }
    }

    /// A server that serves a range, counted from 0. All ranges are served when it returns.
    fn serving(&self) -> usize {
        let began = Instant::now();
        loop {
            for server in 0..3 {
                let admin = self.admin(server);
                let arguments = ["status", "--output", "json", "--admin", &admin];
                let (_, data, _) = run(&arguments);
                let status: Result<serde_json::Value, _> = serde_json::from_str(&data);
                let is_serving = |status: serde_json::Value| {
                    let cluster = &status["status"]["cluster"];
                    cluster["serves"] == true && cluster["unserved"] == 0
                };
                if status.is_ok_and(is_serving) {
                    return server;
                }
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "no server serves"
            );
        }
    }

    /// Gives each server one of the ranges that have rows, by a server that may have none of them.
    fn spread(&self) {
        self.until_acted(2, &["admin", "balance", "off"]);
        self.until_balancing_is(false);
        for (range, server) in [(2, "server-1"), (4, "server-2"), (5, "server-3")] {
            self.until_acted(0, &["admin", "move", &range.to_string(), "--to", server]);
            let ranges = self.until_acted(1, &["ranges"]);
            let ranges = ranges["ranges"].as_array().unwrap();
            let moved = ranges.iter().find(|found| found["id"] == range);
            assert_eq!(moved.unwrap()["server"], server, "{ranges:?}");
        }
        let servers = self.until_acted(2, &["servers"]);
        let servers = servers["servers"].as_array().unwrap();
        assert!(
            servers.iter().all(|server| server["ranges"] == 1),
            "{servers:?}"
        );
        self.until_acted(0, &["admin", "balance", "on"]);
        self.until_balancing_is(true);
    }

    /// Waits until all servers show whether the manager balances.
    fn until_balancing_is(&self, on: bool) {
        let began = Instant::now();
        let shows =
            |server| self.until_acted(server, &["status"])["status"]["cluster"]["balances"] == on;
        while !(0..3).all(shows) {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "balancing is not {on}"
            );
        }
    }

    /// Waits until a server, counted from 0, has another process than this one.
    fn until_started_again(&self, server: usize, process: &str) {
        let began = Instant::now();
        while self
            .process_of(server)
            .is_none_or(|running| running == process)
        {
            assert!(began.elapsed() < Duration::from_secs(60), "{process} runs");
        }
    }

    /// The process of a server, counted from 0.
    fn process_of(&self, server: usize) -> Option<String> {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        let others = std::fs::read_dir(format!("/proc/{id}/task")).ok()?;
        let of_threads = others.filter_map(|thread| {
            std::fs::read_to_string(thread.ok()?.path().join("children")).ok()
        });
        let all = of_threads.chain([children]).collect::<Vec<_>>().join(" ");
        let flag = format!("--server-name=server-{}", server + 1);
        let found = all.split_whitespace().find(|process| {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0)
                .any(|word| word == flag.as_bytes())
        });
        found.map(str::to_owned)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let process = self.child.id().to_string();
        // A failed test may have stopped it.
        signal(&process, "-CONT");
        signal(&process, "-TERM");
        self.child.wait().unwrap();
    }
}

fn signal(process: &str, signal: &str) {
    let sent = Command::new("kill").args([signal, process]).status();
    assert!(sent.unwrap().success(), "{process} is gone");
}

/// Whether a command on the account succeeds.
fn does(connection: &str, line: &str) -> bool {
    read(command_on(connection, line).output().unwrap()).0 == 0
}

/// Repeats a command until it succeeds.
fn until_done(connection: &str, line: &str) {
    let began = Instant::now();
    while !does(connection, line) {
        assert!(began.elapsed() < Duration::from_secs(60), "{line}");
    }
}

/// The rows that a server shows, once it answers.
fn until_rows(connection: &str) -> Vec<String> {
    let began = Instant::now();
    let data = loop {
        let (code, data, talk) = read(command_on(connection, "export people -").output().unwrap());
        if code == 0 {
            break data;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{talk}");
    };
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["PartitionKey"].as_str().unwrap().to_owned()
    };
    data.lines().map(row).collect()
}

/// Inserts rows through one server, one after the other, until it is told to stop and one was acknowledged. Returns those
/// that were acknowledged, and the longest time between two.
fn write(connection: String, name: String, stop: Arc<AtomicBool>) -> (Vec<String>, Duration) {
    let (mut acknowledged, mut longest) = (Vec::new(), Duration::ZERO);
    let mut last = Instant::now();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) || acknowledged.is_empty() {
        // The three ranges in turn.
        let first = ["a", "k", "z"][number % 3];
        let row = format!("{first}-{name}-{number}");
        number += 1;
        if does(&connection, &format!("entity insert people {row} r")) {
            acknowledged.push(row);
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
    }
    (acknowledged, longest)
}

/// Writes through the servers other than `without`, counted from 0, while `disturb` runs. Returns the acknowledged rows
/// and the longest time without one.
fn while_writing(
    trial: &Trial,
    name: &str,
    without: usize,
    disturb: impl FnOnce(),
) -> (Vec<String>, Duration) {
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .filter(|front| *front != without)
        .map(|front| {
            let (connection, stop) = (trial.connections[front].clone(), Arc::clone(&stop));
            let name = format!("{name}-{front}");
            thread::spawn(move || write(connection, name, stop))
        })
        .collect();
    disturb();
    stop.store(true, Ordering::Relaxed);
    let (mut acknowledged, mut longest) = (Vec::new(), Duration::ZERO);
    for writer in writers {
        let (rows, pause) = writer.join().unwrap();
        acknowledged.extend(rows);
        longest = longest.max(pause);
    }
    eprintln!(
        "{name}: {} rows, longest pause {longest:?}",
        acknowledged.len()
    );
    (acknowledged, longest)
}

/// Servers are killed and stopped while rows are written through the others. No acknowledged row is lost, and every front
/// shows the same rows.
#[test]
fn nothing_is_lost_when_servers_are_killed_and_stopped() {
    let trial = Trial::start();
    until_done(&trial.connections[0], "table create people");
    trial.split();
    until_done(&trial.connections[1], "queue create jobs");
    until_done(&trial.connections[2], "queue put jobs hello");
    let mut acknowledged = Vec::new();

    // Each one is killed, and started again at once.
    for killed in 0..3 {
        let name = format!("kill-{killed}");
        let (rows, _) = while_writing(&trial, &name, killed, || {
            signal(&trial.process_of(killed).expect("the server runs"), "-KILL");
            until_done(
                &trial.connections[killed],
                &format!("entity insert people again-{killed} r"),
            );
        });
        acknowledged.extend(rows);
        acknowledged.push(format!("again-{killed}"));
    }

    // A server that is told to stop hands its ranges over first.
    trial.spread();
    let serving = trial.serving();
    let (rows, _) = while_writing(&trial, "stop", serving, || {
        let process = trial.process_of(serving).expect("the server runs");
        signal(&process, "-TERM");
        trial.until_started_again(serving, &process);
        until_done(
            &trial.connections[serving],
            "entity insert people stopped r",
        );
    });
    acknowledged.extend(rows);
    acknowledged.push("stopped".to_owned());

    // The one that serves is killed, and not started again before another serves.
    let serving = trial.serving();
    let (rows, _) = while_writing(&trial, "lost", serving, || {
        let parent = trial.child.id().to_string();
        let process = trial.process_of(serving).expect("the server runs");
        signal(&parent, "-STOP");
        signal(&process, "-KILL");
        until_done(
            &trial.connections[(serving + 1) % 3],
            "entity insert people after-loss r",
        );
        signal(&parent, "-CONT");
    });
    acknowledged.extend(rows);
    acknowledged.push("after-loss".to_owned());
    until_done(&trial.connections[serving], "entity insert people back r");

    // One that serves stands still until others serve its ranges. When it goes on, it has lost them: what it answers
    // then, it got from the others.
    let serving = trial.serving();
    let process = trial.process_of(serving).expect("the server runs");
    let (rows, _) = while_writing(&trial, "still", serving, || {
        signal(&process, "-STOP");
        until_done(
            &trial.connections[(serving + 1) % 3],
            "entity insert people meanwhile r",
        );
        signal(&process, "-CONT");
        let found = until_rows(&trial.connections[serving]);
        assert!(
            found.contains(&"meanwhile".to_owned()),
            "an old row was read"
        );
    });
    acknowledged.extend(rows);

    for connection in &trial.connections {
        let found = until_rows(connection);
        let lost: Vec<_> = acknowledged
            .iter()
            .filter(|row| !found.contains(row))
            .collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
    let (code, message, talk) = read(
        command_on(&trial.connections[0], "queue get jobs")
            .output()
            .unwrap(),
    );
    assert_eq!(code, 0, "{talk}");
    assert!(message.contains("hello"), "{message}");
}
