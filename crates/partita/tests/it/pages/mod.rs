//! Tests pages of `docs`: runs every command of their `console` blocks, and compares the output with the page.
//!
//! `PARTITA_REWRITE_DOCS=1` writes the output into the pages instead. Read the change before it is committed.
//!
//! A block is a list of commands: lines that begin with `$ `, and `> ` where a command goes on. Under each are its stdout and its stderr; an exit code
//! other than 0 is the line `[exit 1]`. The commands of a page run in one directory against one server. Times, sizes,
//! waits and resume tokens differ between runs, and are not compared. Commands that start a job of a fleet print its id,
//! which differs too; the page's id stands for it in the commands that follow.
//!
//! In a block `console figures`, neither numbers with their units nor the ends of lines are compared, because they depend
//! on the load of the machine. In a block `console varies`, only the first line under a command is, in the same way, and
//! its exit code.

mod jobs;
mod plain;
mod terminal;
mod walk;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Server, command_at};
use jobs::Jobs;
use plain::compared;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
/// The directory that pages call `$EXAMPLES`.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
/// The admin port in pages.
const ADMIN: &str = "http://127.0.0.1:10010";
/// The directory of the commands in pages.
const HOME: &str = "/home/obrien";

/// The shell in which commands run, with the environment of a user of the server.
struct Shell {
    server: Server,
    connection: String,
    home: tempfile::TempDir,
    jobs: Jobs,
}

impl Shell {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let backups = home.path().join("backups");
        let backups = backups.to_str().unwrap();
        let mut server = Server::start_with_admin(&["--in-memory", "--backup-place", backups]);
        let connection = server.line();
        Self {
            server,
            connection,
            home,
            jobs: Jobs::default(),
        }
    }

    /// The output of a command, and its exit code if it is not 0. `shown` is the first line of its output in the page.
    fn run(&self, line: &str, shown: Option<&str>) -> String {
        let bin = Path::new(env!("CARGO_BIN_EXE_partita")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let script = line.replace(ADMIN, &self.server.admin());
        let script = self.jobs.of_this_run(&script);
        let mut command: Command = command_at(Path::new("sh"));
        let output = command
            .args(["-c", &script])
            .current_dir(self.home.path())
            .env("PATH", path)
            .env("EXAMPLES", EXAMPLES)
            .env("USER", "obrien")
            .env("HOSTNAME", "ds9")
            .env("AZURE_STORAGE_CONNECTION_STRING", &self.connection)
            .env("PARTITA_ADMIN", self.server.admin())
            .env("XDG_STATE_HOME", self.home.path().join("state"))
            .env("XDG_CONFIG_HOME", self.home.path().join("config"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        // Programs in a pipe write in any order, so the page shows stdout before stderr.
        let mut text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        text = text.replace(&self.server.admin(), ADMIN);
        text = text.replace(self.home.path().to_str().unwrap(), HOME);
        text = self.jobs.of_the_page(line, &text, shown);
        if !output.status.success() {
            writeln!(text, "[exit {}]", output.status.code().unwrap()).unwrap();
        }
        text
    }
}

/// The page with the current output of its commands.
fn rewritten(page: &str, mut run: impl FnMut(&str, Option<&str>) -> String) -> String {
    let mut out = String::new();
    let mut in_block = false;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let is_command = in_block && line.starts_with("$ ");
        if line.starts_with("```") {
            in_block = line.starts_with("```console");
        } else if in_block && !is_command {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if is_command {
            let mut command = line[2..].to_owned();
            while command.ends_with('\\')
                && let Some(rest) = lines.next()
            {
                out.push_str(rest);
                out.push('\n');
                command.push('\n');
                command.push_str(rest.trim_start_matches("> "));
            }
            out.push_str(&run(&command, lines.peek().copied()));
        }
    }
    out
}

/// Compares the output of a page's commands, of which it has at least `commands`.
fn check(page: &str, commands: usize) {
    let shell = Shell::new();
    let text = read(page);
    let now = rewritten(&text, |line, shown| shell.run(line, shown));
    compare(page, (&text, &now), commands);
}

/// A page of `docs`.
fn read(page: &str) -> String {
    std::fs::read_to_string(Path::new(DOCS).join(page)).unwrap()
}

/// Compares a page with the same page with the current output, or replaces it.
fn compare(page: &str, (text, now): (&str, &str), commands: usize) {
    if std::env::var_os("PARTITA_REWRITE_DOCS").is_some() {
        std::fs::write(Path::new(DOCS).join(page), now).unwrap();
        return;
    }
    let (expected, now) = (compared(text), compared(now));
    for (at, (expected, now)) in expected.iter().zip(&now).enumerate() {
        assert_eq!(expected, now, "docs/{page}, about line {}", at + 1);
    }
    assert_eq!(
        expected.len(),
        now.len(),
        "docs/{page} has more or fewer lines"
    );
    let found = text.lines().filter(|line| line.starts_with("$ ")).count();
    assert!(found >= commands, "the page has {found} commands");
}

#[test]
fn the_toolbox_prints_the_output_of_its_page() {
    check("tools.md", 100);
}

#[test]
fn fleets_print_the_output_of_their_page() {
    check("fleets.md", 8);
}

#[test]
fn queues_print_the_output_of_their_page() {
    check("queues.md", 4);
}
