//! etcd and the servers as processes, which are killed, stopped and started again.

use std::ffi::OsString;
use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::{park_for, process, project};

/// How long etcd may take to listen.
const ETCD_PATIENCE: Duration = Duration::from_secs(15);

/// How long a server may take to hand its ranges over and end.
const END_PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two looks at a process, and the time after which one that ended is started again: as systemd's
/// `RestartSec=100ms`.
const LOOK: Duration = Duration::from_millis(100);

/// A process whose lines go to a file. Killed when dropped.
#[derive(Debug)]
struct Process(Child);

impl Process {
    fn start(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command
            .spawn()
            .with_context(|| format!("starting {command:?}"))?;
        Ok(Self(child))
    }

    /// Sends a signal. Does nothing if the process has ended.
    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = id.map(|id| kill_process(id, signal));
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that is kept running, unless it is to be down.
#[derive(Debug)]
pub struct Program {
    /// Its name, and that of its log.
    pub name: String,
    file: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, OsString)>,
    log: PathBuf,
    process: Mutex<Option<Process>>,
    /// Whether it is not to be started again.
    is_down: AtomicBool,
    /// How often it ended by itself.
    ended: AtomicU64,
}

impl Program {
    /// A program that is not started yet, and whose log is in `folder`.
    pub(super) fn new(
        name: &str,
        file: &Path,
        arguments: Vec<String>,
        environment: &[(&'static str, OsString)],
        folder: &Path,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            file: file.to_owned(),
            arguments,
            environment: environment.to_vec(),
            log: folder.join(format!("{name}.log")),
            process: Mutex::new(None),
            is_down: AtomicBool::new(true),
            ended: AtomicU64::new(0),
        })
    }

    /// Starts it, and keeps it running from now on.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn up(&self) -> anyhow::Result<()> {
        let mut process = self.process();
        let variables = self.environment.iter().map(|(name, value)| (*name, value));
        *process = Some(Process::start(
            Command::new(&self.file)
                .args(&self.arguments)
                .envs(variables),
            &self.log,
        )?);
        self.is_down.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Kills it as `kill -9` does. It stays down.
    pub fn kill(&self) {
        let mut process = self.process();
        self.is_down.store(true, Ordering::Relaxed);
        *process = None;
    }

    /// Stops it, so that it stands still.
    pub fn stop(&self) {
        if let Some(process) = &*self.process() {
            process.signal(Signal::STOP);
        }
    }

    /// Continues it after [`Self::stop`].
    pub fn go_on(&self) {
        if let Some(process) = &*self.process() {
            process.signal(Signal::CONT);
        }
    }

    /// Ends it as a supervisor does, by SIGTERM, and waits until it has ended. It stays down.
    ///
    /// # Errors
    /// When it still runs after a minute.
    pub fn terminate(&self) -> anyhow::Result<()> {
        let mut process = self.process();
        self.is_down.store(true, Ordering::Relaxed);
        if let Some(process) = &mut *process {
            process.signal(Signal::TERM);
            let began = Instant::now();
            while !process.has_ended() {
                let waited = began.elapsed();
                ensure!(waited < END_PATIENCE, "{} still runs", self.name);
                park_for(Duration::from_millis(1));
            }
        }
        *process = None;
        Ok(())
    }

    /// The processor time of its present process, in seconds; 0 while it is down.
    ///
    /// # Errors
    /// When the process has ended by itself.
    pub fn cpu_s(&self) -> anyhow::Result<f64> {
        match &*self.process() {
            Some(process) => process::cpu_s(&process.0.id().to_string()),
            None => Ok(0.0),
        }
    }

    /// Whether it is to run.
    pub fn is_up(&self) -> bool {
        !self.is_down.load(Ordering::Relaxed)
    }

    /// Starts it again if it ended by itself, as a supervisor does.
    fn keep(&self) -> anyhow::Result<()> {
        let has_ended = self.process().as_mut().is_some_and(Process::has_ended);
        if has_ended && !self.is_down.load(Ordering::Relaxed) {
            self.ended.fetch_add(1, Ordering::Relaxed);
            self.up()?;
        }
        Ok(())
    }

    /// How often it ended by itself.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Lines of its log that report a panic. A program that was never started has no log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn panics(&self) -> anyhow::Result<Vec<String>> {
        if !self.log.exists() {
            return Ok(Vec::new());
        }
        let log = std::fs::read_to_string(&self.log)?;
        let panics = log.lines().filter(|line| line.contains("panicked"));
        Ok(panics
            .map(|line| format!("{}: {line}", self.name))
            .collect())
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps programs running until `stop` is set.
///
/// # Errors
/// When one cannot be started.
pub fn supervise(programs: &[Arc<Program>], stop: &AtomicBool) -> anyhow::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        for program in programs {
            program.keep()?;
        }
        park_for(LOOK);
    }
    Ok(())
}

/// A program of etcd.
///
/// # Errors
/// When it is missing.
pub fn etcd_file(name: &str) -> anyhow::Result<PathBuf> {
    let file = project::root().join(".deps/etcd").join(name);
    ensure!(
        file.exists(),
        "etcd is missing: run crates/coordinator/setup"
    );
    Ok(file)
}

/// An etcd with one member, and waits until it listens.
///
/// # Errors
/// When it does not listen.
pub fn etcd(folder: &Path, client: SocketAddr, peer: SocketAddr) -> anyhow::Result<Arc<Program>> {
    let file = etcd_file("etcd")?;
    let (client_url, peer_url) = (format!("http://{client}"), format!("http://{peer}"));
    let data = folder.join("etcd").display().to_string();
    let cluster = format!("default={peer_url}");
    let arguments = [
        ("data-dir", &data),
        ("listen-client-urls", &client_url),
        ("advertise-client-urls", &client_url),
        ("listen-peer-urls", &peer_url),
        ("initial-advertise-peer-urls", &peer_url),
        ("initial-cluster", &cluster),
    ];
    let program = Program::new("etcd", &file, flags(&arguments), &[], folder);
    program.up()?;
    let began = Instant::now();
    while TcpStream::connect(client).is_err() {
        ensure!(began.elapsed() < ETCD_PATIENCE, "etcd does not listen");
        park_for(LOOK);
    }
    Ok(program)
}

/// A server with these flags and environment variables, which is not started yet.
pub(super) fn server(
    file: &Path,
    name: &str,
    folder: &Path,
    arguments: &[(&str, &String)],
    environment: &[(&'static str, OsString)],
) -> Arc<Program> {
    let mut all = vec!["serve".to_owned()];
    all.extend(flags(arguments));
    Program::new(name, file, all, environment, folder)
}

fn flags(arguments: &[(&str, &String)]) -> Vec<String> {
    let flags = arguments.iter();
    flags
        .map(|(name, value)| format!("--{name}={value}"))
        .collect()
}
