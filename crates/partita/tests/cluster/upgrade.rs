//! A rolling upgrade: the servers are replaced by those of a program that supports the next cluster version, one after the
//! other, while rows are written. The program is the same; it pretends to support other versions.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::process::{Server, command, command_on, read, run};
use super::{free_ports, until_done, until_rows};

/// The variable by which a program with debug assertions pretends to support other versions.
const PRETENDED: &str = "TEST_PARTITA_CLUSTER_VERSIONS";

/// The programs of three releases, by the versions that they support.
const OLD: &str = "1-1";
const NEW: &str = "1-2";
const NEWER: &str = "2-3";

/// Longer than anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Three servers, each with a program of its own, and etcd.
struct Cluster {
    servers: [Option<Server>; 3],
    /// Their connection strings.
    connections: [String; 3],
    etcd: Etcd,
    /// The table port of the first.
    table_port: u16,
    folder: TempDir,
}

/// It ends with the value.
struct Etcd {
    child: Child,
    port: u16,
}

impl Etcd {
    fn start(folder: &Path) -> Self {
        let (port, peer_port) = (free_port(), free_port());
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.deps/etcd/etcd");
        let url = |port| format!("http://127.0.0.1:{port}");
        let (clients, peers) = (url(port), url(peer_port));
        let mut child = Command::new(program)
            .arg("--data-dir")
            .arg(folder.join("etcd"))
            .args(["--listen-client-urls", &clients])
            .args(["--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers])
            .args(["--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .args(["--logger", "zap", "--log-level", "error"])
            .stdin(Stdio::null())
            .spawn()
            .expect("etcd is missing: run crates/coordinator/setup");
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "etcd ended");
            assert!(began.elapsed() < PATIENCE, "etcd does not listen");
        }
        Self { child, port }
    }
}

/// A port that no program uses now.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Cluster {
    /// Starts three servers of a program on a new store.
    fn start(versions: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let table_port = free_ports();
        let key = folder.path().join("cluster.key");
        let (code, _, talk) = run(&["cluster", "key", "-o", key.to_str().unwrap()]);
        assert_eq!(code, 0, "{talk}");
        let mut cluster = Self {
            servers: [None, None, None],
            connections: Default::default(),
            etcd: Etcd::start(folder.path()),
            table_port,
            folder,
        };
        for server in 0..3 {
            cluster.begin(server, versions);
        }
        cluster
    }

    fn port(&self, server: usize, offset: i16) -> u16 {
        let first = self.table_port + 100 * u16::try_from(server).unwrap();
        first.saturating_add_signed(offset)
    }

    /// The command that serves as one of the three, with a program that supports these versions.
    fn command(&self, server: usize, versions: &str) -> Command {
        let name = format!("server-{}", server + 1);
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let flags = [
            ("store", format!("file://{}", path("store"))),
            (
                "coordinator",
                format!("etcd://127.0.0.1:{}", self.etcd.port),
            ),
            ("cluster-key", path("cluster.key")),
            ("state-dir", path(&name)),
            ("server-name", name),
            ("table-port", self.port(server, 0).to_string()),
            ("queue-port", self.port(server, -1).to_string()),
            ("admin-port", self.port(server, 8).to_string()),
            ("peer-port", self.port(server, 9).to_string()),
        ];
        let mut command = command();
        command.arg("serve").env(PRETENDED, versions);
        command.args(flags.map(|(flag, value)| format!("--{flag}={value}")));
        command
    }

    fn begin(&mut self, server: usize, versions: &str) {
        let mut started = Server::start_command(&mut self.command(server, versions));
        self.connections[server] = started.line();
        self.servers[server] = Some(started);
    }

    /// Stops a server, and starts another program in its place.
    fn replace(&mut self, server: usize, versions: &str) {
        self.stop(server);
        self.begin(server, versions);
        // It is a member, and has the map.
        until_done(&self.connections[server], "entity get people a first");
    }

    fn stop(&mut self, server: usize) {
        let (code, _, talk) = self.servers[server].take().unwrap().end("-TERM");
        assert_eq!(code, 0, "{talk}");
    }

    /// Starts a program that must be refused. Returns why.
    fn refused(&self, server: usize, versions: &str) -> String {
        let (code, _, talk) = read(self.command(server, versions).output().unwrap());
        assert_eq!(code, 2, "{talk}");
        talk
    }

    /// Runs a command on the admin port of a server.
    fn ask(&self, server: usize, arguments: &[&str]) -> (i32, String, String) {
        let admin = format!("http://127.0.0.1:{}", self.port(server, 8));
        run(&[arguments, &["--output", "json", "--admin", &admin]].concat())
    }

    /// Repeats it until its answer satisfies a condition.
    fn until(
        &self,
        server: usize,
        arguments: &[&str],
        is_met: impl Fn(&serde_json::Value) -> bool,
    ) -> serde_json::Value {
        let began = Instant::now();
        loop {
            let (code, data, talk) = self.ask(server, arguments);
            let answer = serde_json::from_str(&data).unwrap_or_default();
            if code == 0 && is_met(&answer) {
                return answer;
            }
            assert!(began.elapsed() < PATIENCE, "{arguments:?}: {data} {talk}");
        }
    }

    /// Why the next version is not finalized.
    fn not_finalized(&self, server: usize) -> String {
        let (code, data, talk) = self.ask(server, &["admin", "finalize"]);
        assert_eq!(code, 2, "{data}");
        talk
    }

    /// Writes rows through the servers other than `without` while `change` runs. No write may fail.
    fn while_writing(&mut self, without: usize, change: impl FnOnce(&mut Self)) -> Vec<String> {
        let stop = Arc::new(AtomicBool::new(false));
        let began = Instant::now();
        let writers: Vec<_> = (0..3)
            .filter(|server| *server != without)
            .map(|server| {
                let (connection, stop) = (self.connections[server].clone(), Arc::clone(&stop));
                let name = format!("{server}-{}", began.elapsed().as_nanos());
                thread::spawn(move || write(&connection, &name, &stop))
            })
            .collect();
        change(self);
        stop.store(true, Ordering::Relaxed);
        let written = writers.into_iter().map(|writer| writer.join().unwrap());
        let written: Vec<String> = written.flatten().collect();
        eprintln!("{} rows in {:?}", written.len(), began.elapsed());
        written
    }
}

/// Writes rows of three ranges until it is told to stop and each range has one more. Every write succeeds.
fn write(connection: &str, name: &str, stop: &AtomicBool) -> Vec<String> {
    let mut written = Vec::new();
    while !stop.load(Ordering::Relaxed) || written.len() % 3 != 0 || written.is_empty() {
        let first = ["a", "k", "z"][written.len() % 3];
        let row = format!("{first}-{name}-{}", written.len());
        // Can be repeated: the client does so when it does not know the outcome.
        let line = format!("entity upsert people {row} r");
        let (code, _, talk) = read(command_on(connection, &line).output().unwrap());
        assert_eq!(code, 0, "{line}: {talk}");
        written.push(row);
    }
    written
}

#[test]
fn a_cluster_is_upgraded_without_an_error() {
    let mut cluster = Cluster::start(OLD);
    until_done(&cluster.connections[0], "table create people");
    until_done(&cluster.connections[0], "entity insert people a first");
    for key in ["h", "p"] {
        let ranges = cluster.until(0, &["ranges"], |_| true);
        let last = ranges["ranges"].as_array().unwrap().last().unwrap()["id"].to_string();
        let split = ["admin", "split", &last, "--table", "people", "--at", key];
        cluster.until(1, &split, |_| true);
    }
    let has_version = |version: u32, next: Option<u32>| {
        move |cluster: &serde_json::Value| {
            let is_next = cluster["finalizable"].as_u64() == next.map(u64::from);
            cluster["active_version"] == version && is_next
        }
    };
    cluster.until(2, &["servers"], has_version(1, None));
    let why = cluster.not_finalized(1);
    assert!(why.contains("there is nothing to finalize"), "{why}");

    // A program that is two steps ahead is refused.
    let mut written = cluster.while_writing(2, |cluster| {
        cluster.stop(2);
        let why = cluster.refused(2, NEWER);
        assert!(why.contains("supports cluster versions 2 to 3"), "{why}");
        assert!(why.contains("cluster has version 1"), "{why}");
        assert!(why.contains("`partita admin finalize`"), "{why}");
        cluster.begin(2, NEW);
    });
    let why = cluster.not_finalized(0);
    assert!(
        why.contains("server-1 (partita") && why.contains("server-2 (partita"),
        "{why}"
    );
    assert!(!why.contains("server-3"), "{why}");

    // Back, and forth again.
    for (server, versions) in [(2, OLD), (0, NEW), (1, NEW), (1, OLD), (1, NEW), (2, NEW)] {
        let rows = cluster.while_writing(server, |cluster| cluster.replace(server, versions));
        written.extend(rows);
    }
    for server in 0..3 {
        cluster.until(server, &["servers"], has_version(1, Some(2)));
    }

    let rows = cluster.while_writing(1, |cluster| {
        let (code, data, talk) = cluster.ask(1, &["admin", "finalize"]);
        assert_eq!(code, 0, "{talk}");
        let answer: serde_json::Value = serde_json::from_str(&data).unwrap();
        assert_eq!(answer["active_version"], 2);
        for server in 0..3 {
            cluster.until(server, &["servers"], has_version(2, None));
        }
        cluster.stop(1);
        let why = cluster.refused(1, OLD);
        assert!(why.contains("supports cluster version 1, but"), "{why}");
        assert!(why.contains("cluster has version 2"), "{why}");
        // The next upgrade.
        cluster.begin(1, NEWER);
    });
    written.extend(rows);
    let why = cluster.not_finalized(2);
    assert!(
        why.contains("server-1 (partita") && !why.contains("server-2"),
        "{why}"
    );

    for server in 0..3 {
        let found = until_rows(&cluster.connections[server]);
        let lost: Vec<_> = written.iter().filter(|row| !found.contains(row)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}
