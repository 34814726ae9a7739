//! Programs that use the cluster through the official clients, in `compat/outages`, as a user would write them: each has
//! one connection string and the default retries.
//!
//! Behind each connection string is a balancer, which connects to another server when the first one does not accept.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::{WELL_KNOWN_KEY, admin, park_for, project};
use serde_json::Value;

use super::proxy::Link;
use super::servers::Cluster;

/// The programs: their names, and whether they are in Python.
const PROGRAMS: [(&str, bool); 3] = [("python1", true), ("node1", false), ("python2", true)];

/// How long a program may take until it is ready.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// How long it may take until it has read everything back. The client of queues waits 15 s and more after a failure.
const END_PATIENCE: Duration = Duration::from_secs(300);

/// A program that was given a connection string.
#[derive(Debug)]
struct User {
    name: &'static str,
    child: Child,
    /// Closed to end it.
    stdin: Option<ChildStdin>,
    said: Arc<Mutex<Vec<Value>>>,
}

/// What reached a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Complaint {
    /// It read something wrong, or lost something.
    Wrong(String),
    /// A request failed after all retries.
    Failed(String),
}

/// All programs.
#[derive(Debug)]
pub(super) struct Users(Vec<User>);

impl Users {
    /// Starts the programs, each with a server of its own as the first one, and waits until they are ready.
    pub(super) fn start(cluster: &Cluster, folder: &Path) -> anyhow::Result<Self> {
        let users = PROGRAMS.into_iter().enumerate();
        let users = users.map(|(first, (name, is_python))| {
            let fronts = |of: fn(&partita_bench::cluster::Server) -> SocketAddr| {
                let mut fronts: Vec<SocketAddr> = cluster
                    .servers
                    .iter()
                    .map(|server| of(&server.own))
                    .collect();
                fronts.rotate_left(first);
                fronts
            };
            let tables = balancer(fronts(|server| server.table))?;
            let queues = balancer(fronts(|server| server.queue))?;
            User::start(name, is_python, [tables, queues], folder)
        });
        let mut users = Self(users.collect::<anyhow::Result<_>>()?);
        let began = Instant::now();
        for user in &mut users.0 {
            user.until("ready", began + START_PATIENCE)?;
        }
        Ok(users)
    }

    /// Takes what reached the programs since the last call.
    pub(super) fn take_complaints(&mut self) -> anyhow::Result<Vec<Complaint>> {
        let mut complaints = Vec::new();
        for user in &mut self.0 {
            let ended = user.child.try_wait()?;
            ensure!(ended.is_none(), "{} ended: {ended:?}", user.name);
            complaints.extend(user.take_complaints());
        }
        Ok(complaints)
    }

    /// Ends the programs. Returns the rest of what reached them, and their counts.
    pub(super) fn finish(mut self) -> anyhow::Result<(Vec<Complaint>, Vec<String>)> {
        for user in &mut self.0 {
            user.stdin = None;
        }
        let (began, mut complaints, mut counts) = (Instant::now(), Vec::new(), Vec::new());
        for user in &mut self.0 {
            let done = user.until("done", began + END_PATIENCE)?;
            counts.push(format!("{} {done}", user.name));
            complaints.extend(user.take_complaints());
            let has_work = ["rows", "messages"]
                .iter()
                .all(|what| done[*what].as_u64() > Some(0));
            ensure!(has_work, "{} did nothing: {done}", user.name);
        }
        Ok((complaints, counts))
    }
}

/// A balancer at an address of its own.
fn balancer(fronts: Vec<SocketAddr>) -> anyhow::Result<SocketAddr> {
    let listen = admin::free_port()?;
    Link::start_to_any(listen, fronts)?;
    Ok(listen)
}

impl User {
    fn start(
        name: &'static str,
        is_python: bool,
        [tables, queues]: [SocketAddr; 2],
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let root = project::root();
        let program = match is_python {
            true => ".deps/venv/bin/python",
            false => ".deps/node/node_modules/node/bin/node",
        };
        let program = root.join(program);
        let file = if is_python { "client.py" } else { "client.mjs" };
        ensure!(
            program.exists(),
            "the official clients are missing: run compat/setup"
        );
        let log = File::create(folder.join(format!("{name}.log")))?;
        let account = "devstoreaccount1";
        let connection = format!(
            "DefaultEndpointsProtocol=http;AccountName={account};AccountKey={WELL_KNOWN_KEY};\
             TableEndpoint=http://{tables}/{account};QueueEndpoint=http://{queues}/{account};"
        );
        let mut child = Command::new(&program)
            .arg(root.join("compat/outages").join(file))
            .arg(name)
            .env("STORAGE_CONNECTION", connection)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NODE_NO_WARNINGS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let stdout = child.stdout.take().context("the child has no stdout")?;
        let saying = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                lock(&saying).push(line);
            }
        });
        Ok(Self {
            name,
            stdin: child.stdin.take(),
            child,
            said,
        })
    }

    /// Waits until the program says something, and returns it.
    fn until(&mut self, what: &str, deadline: Instant) -> anyhow::Result<Value> {
        loop {
            let ended = self.child.try_wait()?;
            let said = lock(&self.said);
            if let Some(line) = said.iter().find(|line| line.get(what).is_some()) {
                return Ok(line[what].clone());
            }
            ensure!(
                ended.is_none_or(|status| status.success()) && Instant::now() < deadline,
                "{} is not {what}: {said:?}",
                self.name
            );
            drop(said);
            park_for(Duration::from_millis(50));
        }
    }

    fn take_complaints(&self) -> Vec<Complaint> {
        let said = std::mem::take(&mut *lock(&self.said));
        let lines = said.iter();
        lines
            .filter_map(|line| complaint(self.name, line))
            .collect()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Fails only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a line of a program says that is not expected.
fn complaint(name: &str, line: &Value) -> Option<Complaint> {
    match line {
        Value::Object(members) if members.contains_key("ready") || members.contains_key("done") => {
            None
        }
        Value::Object(members) if members.contains_key("error") => {
            Some(Complaint::Failed(format!("{name}: {line}")))
        }
        _ => Some(Complaint::Wrong(format!("{name}: {line}"))),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_wrong_content_are_told_apart() {
        let told = |text: &str| {
            let line = serde_json::from_str(text).unwrap_or(Value::String(text.to_owned()));
            complaint("one", &line)
        };
        assert_eq!(told(r#"{"ready": true}"#), None);
        assert_eq!(told(r#"{"done": {"rows": 3}}"#), None);
        let failed = told(r#"{"error": "get_entity: 500", "seconds": 9}"#);
        assert!(
            matches!(failed, Some(Complaint::Failed(text)) if text.contains("get_entity: 500"))
        );
        for wrong in [r#"{"wrong": "s001 is missing"}"#, "Traceback"] {
            assert!(matches!(told(wrong), Some(Complaint::Wrong(_))), "{wrong}");
        }
    }
}
