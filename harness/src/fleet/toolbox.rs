//! The commands of the toolbox on the test's server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use partita_bench::Account;
use serde_json::Value;

/// How long the message of a running step is hidden: short, because killed workers are replaced at once.
const VISIBILITY_SECONDS: &str = "2";

/// Rows of a page: so few that steps are cut in many ways, depending on the length of the queue.
const PAGE_ROWS: &str = "100";

/// The program and its connection.
#[derive(Debug)]
pub(super) struct Toolbox {
    program: PathBuf,
    connection: [String; 4],
    logs: PathBuf,
}

impl Toolbox {
    pub(super) fn new(
        program: PathBuf,
        account: &Account,
        [tables, queues]: [SocketAddr; 2],
        logs: &Path,
    ) -> Self {
        let url = |addr| format!("http://{addr}/{}", account.name());
        let flags = ["--endpoint", "--queue-endpoint"].map(str::to_owned);
        let [endpoint, queue_endpoint] = flags;
        Self {
            program,
            connection: [endpoint, url(tables), queue_endpoint, url(queues)],
            logs: logs.to_owned(),
        }
    }

    /// The program.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    fn fleet(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("fleet").args(words).args(&self.connection);
        command.stdin(Stdio::null());
        command
    }

    /// Starts a job and returns its id. Its steps are never dead, because they are repeated after every kill.
    pub(super) fn begin(&self, job: &[&str], step_rows: u64) -> anyhow::Result<String> {
        let step_rows = step_rows.to_string();
        let mut words = vec!["run"];
        words.extend(job);
        words.extend(["--visibility", VISIBILITY_SECONDS, "--tries", "1000"]);
        words.extend(["--step-rows", &step_rows, "--page-rows", PAGE_ROWS]);
        Ok(succeeded(self.fleet(&words))?.trim().to_owned())
    }

    /// A worker on a job. Its messages are appended to a file.
    pub(super) fn worker(&self, job: &str, number: u64) -> anyhow::Result<Command> {
        let mut log = std::fs::File::options();
        let log = log.create(true).append(true).open(self.log(number))?;
        let mut command = self.fleet(&["work", job, "--jobs", "2"]);
        command.stdout(Stdio::null()).stderr(log);
        Ok(command)
    }

    /// The last error of a worker.
    pub(super) fn last_error(&self, number: u64) -> anyhow::Result<String> {
        let log = std::fs::read_to_string(self.log(number))?;
        let mut lines = log.lines().rev();
        let error = lines.find(|line| line.starts_with("error: "));
        Ok(error.unwrap_or("no error").to_owned())
    }

    fn log(&self, number: u64) -> PathBuf {
        self.logs.join(format!("worker-{number}.log"))
    }

    /// The status of a job that is done and whose result equals a serial scan.
    pub(super) fn verified(&self, job: &str) -> anyhow::Result<Value> {
        let text = succeeded(self.fleet(&["status", job, "--verify", "-o", "json"]))?;
        let status: Value = serde_json::from_str(&text).context("reading the status")?;
        ensure!(status["state"] == "done", "{status}");
        Ok(status)
    }
}

/// The stdout of a command that must succeed.
fn succeeded(mut command: Command) -> anyhow::Result<String> {
    let output = command.output().context("starting partita")?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{stdout}\n{stderr}",
        output.status
    );
    Ok(stdout.into_owned())
}
