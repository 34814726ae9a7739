//! Tests pages of `docs`: runs every command of their `console` blocks, and compares the output with the page.
//!
//! `PARTITA_REWRITE_DOCS=1` writes the output into the pages instead. Read the change before it is committed.
//!
//! A block is a list of commands: lines that begin with `$ `. Under each are its stdout and its stderr; an exit code
//! other than 0 is the line `[exit 1]`. The commands of a page run in one directory against one server. Times, sizes,
//! waits and resume tokens differ between runs, and are not compared. Commands that start a job of a fleet print its id,
//! which differs too; the page's id stands for it in the commands that follow.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Server, command_at};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
/// The directory that pages call `$EXAMPLES`.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
/// The admin port in pages.
const ADMIN: &str = "http://127.0.0.1:10010";
/// The directory of the commands in pages.
const HOME: &str = "/home/obrien";

/// The start of a command that prints the id of a job.
const STARTS_JOB: &str = "partita fleet run ";

/// The shell in which commands run, with the environment of a user of the server.
struct Shell {
    server: Server,
    connection: String,
    home: tempfile::TempDir,
    /// Ids of jobs: in the page, and here.
    jobs: RefCell<Vec<(String, String)>>,
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
            jobs: RefCell::default(),
        }
    }

    /// The output of a command, and its exit code if it is not 0. `shown` is the first line of its output in the page.
    fn run(&self, line: &str, shown: Option<&str>) -> String {
        let bin = Path::new(env!("CARGO_BIN_EXE_partita")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut script = line.replace(ADMIN, &self.server.admin());
        for (shown, job) in &*self.jobs.borrow() {
            script = script.replace(shown, job);
        }
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
            .stdin(Stdio::null())
            .output()
            .unwrap();
        // Programs in a pipe write in any order, so the page shows stdout before stderr.
        let mut text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        text = text.replace(&self.server.admin(), ADMIN);
        text = text.replace(self.home.path().to_str().unwrap(), HOME);
        if let (true, Some(shown)) = (line.starts_with(STARTS_JOB), shown) {
            let job = text.lines().next().unwrap_or_default().to_owned();
            self.jobs.borrow_mut().push((shown.to_owned(), job));
        }
        for (shown, job) in &*self.jobs.borrow() {
            text = text.replace(job, shown);
        }
        if !output.status.success() {
            writeln!(text, "[exit {}]", output.status.code().unwrap()).unwrap();
        }
        text
    }
}

/// The page with the current output of its commands.
fn rewritten(page: &str, shell: &Shell) -> String {
    let mut out = String::new();
    let mut in_block = false;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let is_command = in_block && line.starts_with("$ ");
        if line.starts_with("```") {
            in_block = line == "```console";
        } else if in_block && !is_command {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if is_command {
            out.push_str(&shell.run(&line[2..], lines.peek().copied()));
        }
    }
    out
}

/// A line without the parts that differ between runs.
fn plain(line: &str) -> String {
    if let Some((before, _)) = line.split_once("--resume ") {
        return format!("{before}--resume TOKEN");
    }
    // The last line ends with bytes and seconds, which differ. The number of requests also differs, for a command that
    // polls a job of the server, and for a worker of a fleet.
    let mut line = line.to_owned();
    if line.ends_with(" s") && line.contains(" request") {
        let polls = line.contains("snapshot") || line.contains("job");
        let varying = if polls { 3 } else { 2 };
        let mut parts: Vec<_> = line.split(", ").collect();
        parts.truncate(parts.len().saturating_sub(varying));
        line = parts.join(", ");
    }
    // The time that writes waited differs, and sizes of packed rows depend on the Timestamps.
    let line = without_numbers(
        &line,
        &[
            "transit_ms",
            "pause_ms",
            "bytes",
            "row_bytes",
            "expected",
            "rows_per_second",
        ],
    );
    // A date-time whose last digits are zeros is shorter, and so is its column.
    let words: Vec<_> = line.split_whitespace().collect();
    let words = without_sizes(&words);
    without_process(&without_log_keys(&without_times(&words)))
}

/// The line with the number of each of these JSON fields replaced.
fn without_numbers(line: &str, fields: &[&str]) -> String {
    let mut line = line.to_owned();
    for field in fields {
        let start = format!("\"{field}\":");
        if let Some((before, rest)) = line.split_once(&start) {
            let is_number = |c: char| c == ' ' || c == '.' || c.is_ascii_digit();
            let rest = rest.trim_start_matches(is_number);
            line = format!("{before}{start}NUMBER{rest}");
        }
    }
    line
}

/// The words as a line, each size with a unit replaced: packed rows and files differ with their Timestamps.
fn without_sizes(words: &[&str]) -> String {
    let end = [',', ';', ':', ')'];
    let is_unit = |word: &str| matches!(word.trim_end_matches(end), "B" | "KiB" | "MiB" | "bytes");
    let units = words.iter().skip(1).map(|word| is_unit(word));
    let before_unit = units.chain([false]);
    let line = words.iter().zip(before_unit).map(|(word, unit)| {
        let is_size = unit && word.parse::<f64>().is_ok();
        if is_size { "SIZE" } else { *word }
    });
    line.collect::<Vec<_>>().join(" ")
}

/// The line without the number of a process.
fn without_process(line: &str) -> String {
    let Some((before, rest)) = line.split_once(", process ") else {
        return line.to_owned();
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}, process ID{rest}")
}

/// The line with each key of a log replaced: 19 digits, for times of this century and the next.
fn without_log_keys(line: &str) -> String {
    let is_key = |text: &str| text.len() == 19 && text.starts_with("25");
    let pieces = line.split_inclusive(|c: char| !c.is_ascii_digit());
    let piece = |piece: &str| {
        let digits = piece.trim_end_matches(|c: char| !c.is_ascii_digit());
        match is_key(digits) {
            true => piece.replace(digits, "KEY"),
            false => piece.to_owned(),
        }
    };
    pieces.map(piece).collect()
}

/// The line with each date-time replaced, percent-encoded ones included.
fn without_times(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("20") {
        let shape = rest
            .as_bytes()
            .get(at..at + 11)
            .is_some_and(|text| (text[4], text[7], text[10]) == (b'-', b'-', b'T'));
        let end = rest[at..].find('Z').filter(|_| shape);
        let (taken, skipped) = match end {
            Some(end) => (at, at + end + 1),
            None => (at + 2, at + 2),
        };
        out.push_str(&rest[..taken]);
        if end.is_some() {
            out.push_str("TIME");
        }
        rest = &rest[skipped..];
    }
    out + rest
}

/// Compares the output of a page's commands, of which it has at least `commands`.
fn check(page: &str, commands: usize) {
    let path = Path::new(DOCS).join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let now = rewritten(&text, &Shell::new());
    if std::env::var_os("PARTITA_REWRITE_DOCS").is_some() {
        std::fs::write(path, now).unwrap();
        return;
    }
    let lines = |text: &str| text.lines().map(plain).collect::<Vec<_>>();
    let (expected, now) = (lines(&text), lines(&now));
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

#[test]
fn parts_that_differ_between_runs_are_removed() {
    assert_eq!(
        plain("2 rows, 1 request, 10 B, 0.01 s"),
        "2 rows, 1 request"
    );
    let etag = "W/\"datetime'2026-11-21T20%3A32%3A11.123Z'\" and 2026";
    assert_eq!(plain(etag), "W/\"datetime'TIME'\" and 2026");
    assert_eq!(
        plain("2026-11-21T20:32:11Z   5"),
        plain("2026-11-21T20:32:11.5Z  5")
    );
    assert_eq!(
        plain("{\"into\":4,\"transit_ms\":0.1}"),
        "{\"into\":4,\"transit_ms\":NUMBER}"
    );
    assert_eq!(plain("with --resume scan1.abc"), "with --resume TOKEN");
    assert_eq!(
        plain("read 3 files, 12.5 KiB, 2 B"),
        "read 3 files, SIZE KiB, SIZE B"
    );
    assert_eq!(
        plain("web-1,2516209262999999999,x 2516"),
        "web-1,KEY,x 2516"
    );
}
