//! Tests `docs/first-hour.md`, a walk of a new user: runs its commands one after the other, from an empty directory, in
//! a terminal of 80 columns, and compares what the terminal then shows with the page.
//!
//! `partita serve` starts the server, as in a terminal of its own, and stops the one before, as Ctrl-C does. The other
//! commands share their environment, as in one shell.

use super::jobs::Jobs;
use super::{HOME, compare, read, rewritten, terminal};
use crate::process::{Server, command_at};
use std::fmt::Write as _;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = "first-hour.md";

/// The columns of the terminal.
const COLUMNS: usize = 80;

/// The variable of each port, and the default, which the page shows.
const PORTS: [(&str, &str); 3] = [
    ("PARTITA_TABLE_PORT", "10002"),
    ("PARTITA_QUEUE_PORT", "10001"),
    ("PARTITA_ADMIN_PORT", "10010"),
];

/// A user with two terminals.
struct Walk {
    home: tempfile::TempDir,
    /// The environment and the command of the shell.
    shell: tempfile::TempDir,
    /// The ports in place of the default ones, which other programs may use.
    ports: [String; 3],
    server: Option<Server>,
    jobs: Jobs,
}

impl Walk {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            shell: tempfile::tempdir().unwrap(),
            ports: free_ports().map(|port| port.to_string()),
            server: None,
            jobs: Jobs::default(),
        }
    }

    /// What the terminal shows of a command, and its exit code if it is not 0.
    fn run(&mut self, line: &str, shown: Option<&str>) -> String {
        let script = self.jobs.of_this_run(line);
        let mut text = if line.starts_with("partita serve") {
            self.serve(&script)
        } else {
            self.enter(&script)
        };
        text = text.replace(self.home.path().to_str().unwrap(), HOME);
        for (port, (_, default)) in self.ports.iter().zip(PORTS) {
            text = text.replace(port, default);
        }
        self.jobs.of_the_page(line, &text, shown)
    }

    /// Starts the server, after the end of the one before. Returns what it prints until clients can use it.
    fn serve(&mut self, script: &str) -> String {
        if let Some(server) = self.server.take() {
            let (code, _, talk) = server.end("-INT");
            assert_eq!(code, 0, "{talk}");
        }
        let mut command = self.command("sh");
        command.args(["-c", &format!("exec {script}")]);
        let mut server = Server::start_command(&mut command);
        let connection = server.line();
        let text = format!("{}\n{connection}\n", server.start.join("\n"));
        self.server = Some(server);
        text
    }

    /// Runs a command in the shell.
    fn enter(&self, line: &str) -> String {
        let [script, environment] = ["script", "environment"].map(|file| {
            let path = self.shell.path().join(file);
            path.to_str().unwrap().to_owned()
        });
        let text = format!(
            "stty cols {COLUMNS} rows 24\n[ -e {environment} ] && . {environment}\n{line}\n\
             code=$?\nexport -p > {environment}\nexit $code\n"
        );
        std::fs::write(&script, text).unwrap();
        let mut command = self.command("script");
        let shell = format!("bash {script}");
        let mut child = command
            .args(["--quiet", "--return", "--command", &shell, "/dev/null"])
            // Its end would arrive in the terminal as Ctrl-D, so it stays open until the command has ended.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = String::new();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_to_string(&mut output).unwrap();
        let stdin = child.stdin.take();
        let status = child.wait().unwrap();
        drop(stdin);
        let mut text = terminal::shown(&output);
        if !status.success() {
            writeln!(text, "[exit {}]", status.code().unwrap()).unwrap();
        }
        text
    }

    /// A program with the environment of the user.
    fn command(&self, program: &str) -> Command {
        let bin = Path::new(env!("CARGO_BIN_EXE_partita")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut command = command_at(Path::new(program));
        command
            .current_dir(self.home.path())
            .env("PATH", path)
            .env("HOME", self.home.path())
            .env("USER", "obrien")
            .env("HOSTNAME", "ds9")
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("AZURE_STORAGE_CONNECTION_STRING")
            .env(
                "PARTITA_ADMIN",
                format!("http://127.0.0.1:{}", self.ports[2]),
            );
        for (port, (variable, _)) in self.ports.iter().zip(PORTS) {
            command.env(variable, port);
        }
        command
    }
}

/// Three free ports of five digits, below those that the system gives to programs that want any port. So no other test
/// takes one before the server does.
fn free_ports() -> [u16; 3] {
    let first = 20_000 + u16::try_from(std::process::id() % 4_000).unwrap();
    let triples = (first..32_000)
        .step_by(3)
        .map(|port| [port, port + 1, port + 2]);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut triples = triples.filter(|ports| ports.iter().all(is_free));
    triples.next().unwrap()
}

#[test]
fn the_first_hour_is_as_its_page_says() {
    let page = read(PAGE);
    let mut walk = Walk::new();
    let now = rewritten(&page, |line, shown| walk.run(line, shown));
    compare(PAGE, (&page, &now), 25);
}

/// A terminal wraps a sentence anywhere. But a wrapped row of a table cannot be read, nor a command be copied.
#[test]
fn the_first_hour_fits_into_a_terminal() {
    let page = read(PAGE);
    let mut in_block = false;
    for (line, number) in page.lines().zip(1..) {
        if line.starts_with("```") {
            in_block = line.starts_with("```console");
        }
        let must_fit = line.starts_with("$ ") || line.contains("  ");
        if in_block && must_fit && line.chars().count() > COLUMNS {
            panic!("docs/{PAGE}:{number} is wider than {COLUMNS} columns: {line}");
        }
    }
}
