//! Three servers and etcd that a test starts one by one, each server with settings of its own.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::free_ports;
use super::process::{Server, command, read, run};

/// Longer than anything that is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Settings of a server in addition to those that all have, as variables.
pub(super) type Variables<'a> = &'a [(&'a str, &'a str)];

/// Up to three servers, and etcd. They end with the value.
pub(super) struct Cluster {
    pub(super) servers: [Option<Server>; 3],
    /// The connection strings of the servers that have ports for clients.
    pub(super) connections: [String; 3],
    pub(super) etcd: Etcd,
    /// The URL of the store.
    pub(super) store: String,
    /// The table port of the first.
    table_port: u16,
    pub(super) folder: TempDir,
}

impl Cluster {
    /// Starts etcd, and creates the key of the cluster.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("cluster.key");
        let (code, _, talk) = run(&["cluster", "key", "-o", key.to_str().unwrap()]);
        assert_eq!(code, 0, "{talk}");
        Self {
            servers: [None, None, None],
            connections: Default::default(),
            etcd: Etcd::start(folder.path()),
            store: format!("file://{}", folder.path().join("store").display()),
            table_port: free_ports(),
            folder,
        }
    }

    /// Starts three servers with these settings on a new store.
    pub(super) fn start(variables: Variables<'_>) -> Self {
        let mut cluster = Self::new();
        for server in 0..3 {
            cluster.begin(server, variables);
        }
        cluster
    }

    fn port(&self, server: usize, offset: i16) -> u16 {
        let first = self.table_port + 100 * u16::try_from(server).unwrap();
        first.saturating_add_signed(offset)
    }

    /// What a server keeps on its own disk.
    pub(super) fn state_dir(&self, server: usize) -> PathBuf {
        self.folder.path().join(name(server))
    }

    /// The command that serves as one of the three.
    pub(super) fn command(&self, server: usize, variables: Variables<'_>) -> Command {
        let mut command = self.serve(server, variables);
        for flag in ["--store", "--coordinator", "--cluster-key"] {
            command.arg(flag).arg(self.value(flag));
        }
        command
    }

    /// The command of a document that serves, with the store, the etcd, the key and the address of this test.
    fn typed(&self, server: usize, line: &str, variables: Variables<'_>) -> Command {
        let mut words = line.split(' ');
        assert_eq!(
            [words.next(), words.next()],
            [Some("partita"), Some("serve")]
        );
        let mut command = self.serve(server, variables);
        while let Some(flag) = words.next() {
            assert!(
                words.next().is_some_and(|value| !value.starts_with('-')),
                "{line}"
            );
            command.arg(flag).arg(self.value(flag));
        }
        command
    }

    /// The value of a flag of all servers.
    fn value(&self, flag: &str) -> String {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        match flag {
            "--store" => self.store.clone(),
            "--coordinator" => format!("etcd://127.0.0.1:{}", self.etcd.port),
            "--cluster-key" => path("cluster.key"),
            "--backup-place" => path("out"),
            "--peer-host" | "--table-host" | "--queue-host" | "--advertise" => {
                "127.0.0.1".to_owned()
            }
            _ => panic!("{flag} is not expected"),
        }
    }

    /// The command that serves, with what is of this server only.
    fn serve(&self, server: usize, variables: Variables<'_>) -> Command {
        let flags = [
            ("state-dir", self.state_dir(server).display().to_string()),
            ("server-name", name(server)),
            ("table-port", self.port(server, 0).to_string()),
            ("queue-port", self.port(server, -1).to_string()),
            ("admin-port", self.port(server, 8).to_string()),
            ("peer-port", self.port(server, 9).to_string()),
        ];
        let mut command = command();
        command.arg("serve").envs(variables.iter().copied());
        command.args(flags.map(|(flag, value)| format!("--{flag}={value}")));
        command
    }

    /// Starts a server, and waits until it is ready.
    pub(super) fn begin(&mut self, server: usize, variables: Variables<'_>) {
        let command = self.command(server, variables);
        self.launch(server, command);
    }

    /// Starts a server with a command of a document, and waits until it is ready.
    pub(super) fn begin_typed(&mut self, server: usize, line: &str, variables: Variables<'_>) {
        let command = self.typed(server, line, variables);
        self.launch(server, command);
    }

    fn launch(&mut self, server: usize, mut command: Command) {
        let mut started = Server::start_command(&mut command);
        if started.ready().contains("tables at") {
            self.connections[server] = started.line();
        }
        self.servers[server] = Some(started);
    }

    /// Ends a server by SIGTERM.
    pub(super) fn stop(&mut self, server: usize) {
        let (code, _, talk) = self.servers[server].take().unwrap().end("-TERM");
        assert_eq!(code, 0, "{talk}");
    }

    /// Starts a server that must be refused. Returns why.
    pub(super) fn refused(&self, server: usize, variables: Variables<'_>) -> String {
        let (code, _, talk) = read(self.command(server, variables).output().unwrap());
        assert_eq!(code, 2, "{talk}");
        talk
    }

    /// Runs a command on the admin port of a server.
    pub(super) fn ask(&self, server: usize, arguments: &[&str]) -> (i32, String, String) {
        let admin = format!("http://127.0.0.1:{}", self.port(server, 8));
        run(&[arguments, &["--output", "json", "--admin", &admin]].concat())
    }

    /// Repeats it until its answer satisfies a condition.
    pub(super) fn until(
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

    /// Waits until `command`, which shows the servers, shows that all are members and all ranges are served.
    pub(super) fn until_whole(&self, asked: usize, command: &str) {
        assert_eq!(command, "partita servers");
        self.until(asked, &["servers"], |seen| {
            let servers = seen["servers"].as_array();
            seen["unserved"] == 0 && servers.is_some_and(|servers| servers.len() == 3)
        });
    }

    /// Divides the table `people`, so that three ranges have rows.
    pub(super) fn split(&self) {
        for key in ["h", "p"] {
            let ranges = self.until(0, &["ranges"], |_| true);
            let last = ranges["ranges"].as_array().unwrap().last().unwrap()["id"].to_string();
            let split = ["admin", "split", &last, "--table", "people", "--at", key];
            self.until(1, &split, |_| true);
        }
    }
}

/// The name of a server, counted from 0.
pub(super) fn name(server: usize) -> String {
    format!("server-{}", server + 1)
}

/// A program that ends with the value.
pub(super) struct Etcd {
    child: Child,
    data: PathBuf,
    port: u16,
    peer_port: u16,
}

impl Etcd {
    fn start(folder: &Path) -> Self {
        let (data, port, peer_port) = (folder.join("etcd"), free_port(), free_port());
        let url = format!("http://127.0.0.1:{port}");
        let mut command = etcd();
        command.arg("--data-dir").arg(&data);
        command.args([
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
        ]);
        Self {
            child: launch(command, port, peer_port),
            data,
            port,
            peer_port,
        }
    }

    /// Kills it, and deletes its data.
    pub(super) fn lose(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::remove_dir_all(&self.data).unwrap();
    }

    /// Starts it again with a command of a document, in its folder and at its port.
    pub(super) fn begin_typed(&mut self, line: &str) {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("etcd"));
        let mut command = etcd();
        for word in words {
            let word = word.replace("0.0.0.0:2379", "10.0.0.9:2379");
            let word = word.replace("10.0.0.9:2379", &format!("127.0.0.1:{}", self.port));
            match word.as_str() {
                "/var/lib/etcd" => command.arg(&self.data),
                word => command.arg(word),
            };
        }
        self.child = launch(command, self.port, self.peer_port);
    }
}

fn etcd() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.deps/etcd/etcd"))
}

/// Starts etcd with a port for members that is free, and waits until it listens.
fn launch(mut command: Command, port: u16, peer_port: u16) -> Child {
    let peers = format!("http://127.0.0.1:{peer_port}");
    let mut child = command
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
    child
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
