//! Runs the binary under test, without the environment variables that are settings of the server.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// A command that runs the binary at `program`, which may be a link with another name.
pub(crate) fn command_at(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("PARTITA_") || name.starts_with("AZURITE_") {
            command.env_remove(name.as_ref());
        }
    }
    command.stdin(Stdio::null());
    command
}

/// A command that runs the binary.
pub(crate) fn command() -> Command {
    command_at(Path::new(env!("CARGO_BIN_EXE_partita")))
}

/// A command line, its words separated by spaces, on the account of a connection string.
pub(crate) fn command_on(connection: &str, line: &str) -> Command {
    let mut command = command();
    let arguments = line.split_whitespace();
    command
        .args(arguments)
        .env("AZURE_STORAGE_CONNECTION_STRING", connection);
    command
}

/// Runs the binary to its end. Returns exit code, stdout, stderr.
pub(crate) fn run<A: AsRef<OsStr>>(arguments: &[A]) -> (i32, String, String) {
    read(command().args(arguments).output().unwrap())
}

/// Exit code, stdout and stderr of a process that ended.
pub(crate) fn read(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The rest of a process's stderr. Waits until the process closes it.
pub(crate) fn rest_of_stderr(child: &mut Child) -> String {
    let mut text = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut text).unwrap();
    text
}

/// A running server. Dropping it kills the process.
pub(crate) struct Server {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    /// The first lines of stdout, up to the one that reports readiness.
    pub(crate) start: Vec<String>,
}

impl Server {
    /// Starts `serve` with free ports and waits until it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Server {
        let mut command = command();
        command
            .args(["serve", "--table-port", "0", "--admin-port", "0"])
            .args(arguments);
        Server::start_command(&mut command)
    }

    /// Starts `serve` with its admin port open. Port 0 would switch the admin port off, so this looks for a free port,
    /// and tries another if a second process takes it first.
    pub(crate) fn start_with_admin(arguments: &[&str]) -> Server {
        Server::start_command_with_admin(|| {
            let mut command = command();
            command.args(["serve", "--table-port", "0"]).args(arguments);
            command
        })
    }

    /// Starts a command that serves, with its admin port open as well.
    pub(crate) fn start_command_with_admin(command: impl Fn() -> Command) -> Server {
        loop {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let mut command = command();
            command.args(["--admin-port", &port.to_string()]);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut server = Server::of(child.spawn().unwrap());
            if server.wait_until_ready() {
                return server;
            }
            let (_, _, talk) = server.wait();
            assert!(talk.contains("--admin-port chooses another"), "{talk}");
        }
    }

    /// Starts a command that serves and waits until it is ready.
    pub(crate) fn start_command(command: &mut Command) -> Server {
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Server::of(child);
        if !server.wait_until_ready() {
            let (_, _, talk) = server.wait();
            panic!("the server ended early: {talk}");
        }
        server
    }

    fn of(mut child: Child) -> Server {
        let stdout = child.stdout.take().map(BufReader::new);
        Server {
            child,
            stdout,
            start: Vec::new(),
        }
    }

    /// Reads the first lines of stdout; false if the server ends instead.
    fn wait_until_ready(&mut self) -> bool {
        loop {
            let line = self.next_line();
            if line.is_empty() {
                return false;
            }
            let line = line.trim_end().to_owned();
            let ready = line.starts_with("partita ");
            self.start.push(line);
            if ready {
                return true;
            }
        }
    }

    /// The next line of stdout.
    pub(crate) fn line(&mut self) -> String {
        let line = self.next_line();
        if line.is_empty() {
            let talk = rest_of_stderr(&mut self.child);
            panic!("the server ended early: {talk}");
        }
        line.trim_end().to_owned()
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().unwrap();
        stdout.read_line(&mut line).unwrap();
        line
    }

    /// Closes the reading end of the server's stdout.
    pub(crate) fn stop_listening(&mut self) {
        self.stdout = None;
    }

    /// `host:port` of the table service, as printed.
    pub(crate) fn table(&self) -> String {
        self.listening("Table").unwrap()
    }

    /// `host:port` of the queue service, as printed.
    pub(crate) fn queue(&self) -> Option<String> {
        self.listening("Queue")
    }

    fn listening(&self, service: &str) -> Option<String> {
        let wanted = format!("Azurite {service} service is successfully listening at http");
        let mut lines = self.start.iter();
        let line = lines.find(|line| line.starts_with(&wanted))?;
        Some(line.rsplit_once("//").unwrap().1.to_owned())
    }

    /// The line that reports readiness.
    pub(crate) fn ready(&self) -> &str {
        self.start.last().unwrap()
    }

    /// The URL of the admin port, as printed.
    pub(crate) fn admin(&self) -> String {
        let (_, admin) = self.ready().split_once("admin at ").unwrap();
        admin.split(',').next().unwrap().to_owned()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Sends a signal and waits for the end. Returns exit code, the rest of stdout, and stderr.
    pub(crate) fn end(self, signal: &str) -> (i32, String, String) {
        self.signal(signal);
        self.wait()
    }

    /// Kills the process, and waits until it ended.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether the process has ended.
    #[allow(dead_code, reason = "only the tests of clusters watch servers")]
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until the process ends. Returns exit code, the rest of stdout, and stderr.
    pub(crate) fn wait(mut self) -> (i32, String, String) {
        let mut data = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_string(&mut data).unwrap();
        }
        let talk = rest_of_stderr(&mut self.child);
        (self.child.wait().unwrap().code().unwrap_or(-1), data, talk)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
