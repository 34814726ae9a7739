//! A server as a child process: started, awaited until it prints its ready line, measured, killed.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

/// The words before the address in the ready line. The first is the line of Azurite with all services, for which test
/// helpers of several languages wait; the servers of this project print it too. The second is the line of Azurite with
/// tables alone.
const READY_WORDS: [&str; 2] = [
    "Table service is successfully listening at http://",
    "Table service successfully started on ",
];

/// The words before the address of the queues, which is printed before the ready line.
const QUEUE_WORDS: &str = "Queue service is successfully listening at http://";

/// How long the last lines of a process that has ended are awaited.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Lines of output kept for messages.
const LOG_LINES_MAX: usize = 60;

/// Ticks a second of the times in `/proc/PID/stat`; 100 on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// A running server. Killed when dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    addr: SocketAddr,
    queue_addr: Option<SocketAddr>,
    ready_after: Duration,
    log: Arc<Mutex<VecDeque<String>>>,
}

/// The addresses that a server printed.
#[derive(Debug, Clone, Copy)]
struct Announced {
    table: SocketAddr,
    queue: Option<SocketAddr>,
}

impl ServerProcess {
    /// Starts `command` and waits until it prints its ready line.
    ///
    /// # Errors
    /// When it cannot start, exits, or prints no ready line before the deadline; its last output is in the error.
    pub fn start(mut command: Command, deadline: Duration) -> anyhow::Result<Self> {
        let started = Instant::now();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("starting {command:?}"))?;
        let log = Arc::new(Mutex::new(VecDeque::new()));
        // Only the ready line is sent.
        let (sender, receiver) = mpsc::sync_channel(1);
        let stdout = child.stdout.take().context("the child has no stdout")?;
        let stderr = child.stderr.take().context("the child has no stderr")?;
        let draining = [
            drain(stdout, Arc::clone(&log), Some(sender)),
            drain(stderr, Arc::clone(&log), None),
        ];
        let mut server = Self {
            child,
            addr: SocketAddr::from(([127, 0, 0, 1], 0)),
            queue_addr: None,
            ready_after: Duration::ZERO,
            log,
        };
        // The sender is dropped at the end of stdout, so an exit is seen at once.
        match receiver.recv_timeout(deadline) {
            Ok(announced) => {
                server.addr = announced.table;
                server.queue_addr = announced.queue;
                server.ready_after = started.elapsed();
                Ok(server)
            }
            Err(_) => {
                server.kill()?;
                // The reason is in the last lines. A child of the child may keep the stream open.
                let deadline = Instant::now() + LAST_LINES;
                while !draining.iter().all(JoinHandle::is_finished) && Instant::now() < deadline {
                    crate::park_for(Duration::from_millis(1));
                }
                bail!(
                    "{command:?} printed no ready line; its last output:\n{}",
                    server.log()
                )
            }
        }
    }

    /// The address at which the server listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address at which the server serves queues.
    ///
    /// # Errors
    /// When it serves none.
    pub fn queue_addr(&self) -> anyhow::Result<SocketAddr> {
        self.queue_addr.context("the server serves no queues")
    }

    /// Time from the start of the process to its ready line.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The last lines of the server's output.
    pub fn log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter()
            .fold(String::new(), |text, line| text + line + "\n")
    }

    /// Processor time of the process so far, in seconds.
    ///
    /// # Errors
    /// When the process is gone.
    pub(crate) fn cpu_s(&self) -> anyhow::Result<f64> {
        cpu_s(&self.child.id().to_string())
    }

    /// Memory of the process, MiB.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn rss_mib(&self) -> anyhow::Result<f64> {
        self.status_mib("VmRSS:")
    }

    /// Maximum memory of the process so far, MiB.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn peak_rss_mib(&self) -> anyhow::Result<f64> {
        self.status_mib("VmHWM:")
    }

    fn status_mib(&self, name: &str) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.trim().strip_suffix(" kB"))
            .with_context(|| format!("/proc/PID/status has no {name}"))?;
        Ok(kib.trim().parse::<f64>()? / 1_024.0)
    }

    /// Sends SIGTERM to the process, and waits until it has ended.
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn terminate(&mut self) -> anyhow::Result<()> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status()?;
        ensure!(sent.success(), "kill -TERM {pid}: {sent}");
        self.child.wait()?;
        Ok(())
    }

    /// Waits until the process has ended by itself, and returns whether it succeeded.
    ///
    /// # Errors
    /// When it still runs at the deadline.
    pub fn wait(&mut self, deadline: Duration) -> anyhow::Result<bool> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.success());
            }
            ensure!(
                started.elapsed() < deadline,
                "the server still runs after {deadline:?}; its last output:\n{}",
                self.log()
            );
            crate::park_for(Duration::from_millis(1));
        }
    }

    /// Kills the process as `kill -9` does, and waits until it has ended.
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // A failure means that the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time that a process has used since its start, in seconds. `pid` is its name in `/proc`; `self` is this
/// process.
///
/// # Errors
/// When the process does not exist.
pub(crate) fn cpu_s(pid: &str) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The command name may hold blanks; the fields are counted from its closing parenthesis (proc(5)).
    let (_, fields) = stat
        .rsplit_once(')')
        .context("/proc/PID/stat has no command name")?;
    // Time in user mode and in the kernel.
    let ticks: Vec<&str> = fields.split_ascii_whitespace().skip(11).take(2).collect();
    let [user, system] = ticks[..] else {
        bail!("/proc/PID/stat has too few fields");
    };
    Ok((user.parse::<f64>()? + system.parse::<f64>()?) / TICKS_PER_SECOND)
}

/// Reads a stream to its end on its own thread, so that the child never blocks on a full pipe.
fn drain(
    stream: impl std::io::Read + Send + 'static,
    log: Arc<Mutex<VecDeque<String>>>,
    ready: Option<mpsc::SyncSender<Announced>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut queue = None;
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            queue = queue.or_else(|| address_after(&line, QUEUE_WORDS));
            let mut words = READY_WORDS.iter();
            let table = words.find_map(|words| address_after(&line, words));
            if let (Some(table), Some(sender)) = (table, &ready) {
                // Sending a second ready line fails, which is harmless.
                let _ = sender.try_send(Announced { table, queue });
            }
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() == LOG_LINES_MAX {
                log.pop_front();
            }
            log.push_back(line);
        }
    })
}

/// The address in a line, after these words.
fn address_after(line: &str, words: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(words)?;
    rest.trim().trim_end_matches('/').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn waits_for_the_ready_line_and_measures() {
        let script = "echo 'Azurite Queue service is successfully listening at http://127.0.0.1:4320'; \
                      echo 'Azurite Table service is successfully listening at \
                      http://127.0.0.1:4321'; exec sleep 60";
        let mut server = ServerProcess::start(shell(script), Duration::from_secs(10)).unwrap();
        assert_eq!(server.addr(), SocketAddr::from(([127, 0, 0, 1], 4321)));
        let queues = SocketAddr::from(([127, 0, 0, 1], 4320));
        assert_eq!(server.queue_addr().unwrap(), queues);
        assert!(server.rss_mib().unwrap() > 0.0);
        assert!(server.cpu_s().unwrap() < 5.0);
        assert!(server.child.try_wait().unwrap().is_none());
        server.kill().unwrap();
        assert!(server.child.try_wait().unwrap().is_some());
    }

    #[test]
    fn the_end_of_a_process_is_awaited() {
        let ready = "echo 'Table service is successfully listening at http://127.0.0.1:4321'";
        for (end, succeeded) in [("exit 0", true), ("exit 3", false)] {
            let script = format!("{ready}; {end}");
            let mut server = ServerProcess::start(shell(&script), Duration::from_secs(10)).unwrap();
            assert_eq!(server.wait(Duration::from_secs(10)).unwrap(), succeeded);
        }
        let script = format!("{ready}; exec sleep 60");
        let mut server = ServerProcess::start(shell(&script), Duration::from_secs(10)).unwrap();
        assert!(server.wait(Duration::ZERO).is_err());
    }

    #[test]
    fn an_early_exit_shows_the_output() {
        let error = ServerProcess::start(
            shell("echo no such flag >&2; exit 2"),
            Duration::from_secs(10),
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("printed no ready line"), "{error}");
    }
}
