//! Measures how a fleet scales: `cargo xtask bench --fleet`.
//!
//! A table of the shape of a package index ([`crate::packages`]) is copied by 1, 2, 4 and 8 worker processes with one step
//! at a time each: first near the server, then through a proxy with a round trip as within a cloud region. Near the
//! server, the processors limit a copy; from afar, the round trips do, so that more workers copy faster.

mod options;
mod proxy;

pub use options::FleetOptions;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_load::thousands;
use serde::Serialize;

use self::proxy::DelayProxy;
use crate::client::{Client, Request};
use crate::options::{Options, TargetKind};
use crate::packages::Packages;
use crate::target::Target;
use crate::{Account, park_for, process};

/// The table that is copied.
const SOURCE: &str = "packages";

/// Time between two looks at the workers.
const LOOK: Duration = Duration::from_millis(10);

/// A server whose processor time grows by less than this share of a core over [`IDLE_FOR`] is idle.
const IDLE_CORES: f64 = 0.05;

/// See [`IDLE_CORES`].
const IDLE_FOR: Duration = Duration::from_secs(2);

/// How long the server may take to remove the rows of a dropped copy.
const IDLE_WITHIN: Duration = Duration::from_secs(900);

/// One copy.
#[derive(Clone, Debug, Serialize)]
pub struct FleetFigures {
    /// The round trip to the server, milliseconds; 0 near it.
    pub round_trip_ms: u64,
    /// Worker processes.
    pub workers: u32,
    /// From the start of the workers to the end of the job.
    pub seconds: f64,
    /// Rows copied each second.
    pub rows_per_s: f64,
    /// The rate of each worker, as a share of the rate of one worker alone.
    pub scaling: f64,
    /// Steps of the job.
    pub steps: u64,
    /// Processor time of the server, as a share of one core.
    pub server_cores: f64,
    /// Processor time of the workers, as a share of one core.
    pub worker_cores: f64,
}

impl FleetFigures {
    /// The heads of [`Self::line`].
    pub const HEAD: &str = "round trip  workers   seconds    rows/s  scaling  steps  cores of the server, of the workers";

    /// The figures as one line of text.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{:>7} ms  {:>7}  {:>8.1}  {:>8}  {:>7.2}  {:>5}  {:.2}, {:.2}",
            self.round_trip_ms,
            self.workers,
            self.seconds,
            thousands(self.rows_per_s.round()),
            self.scaling,
            self.steps,
            self.server_cores,
            self.worker_cores,
        )
    }
}

/// Runs the measurement. `say` receives a line for each copy.
///
/// # Errors
/// When the server or a worker fails, or a copy has another number of rows.
pub fn run(options: &Options, mut say: impl FnMut(&str)) -> anyhow::Result<Vec<FleetFigures>> {
    let target = Target::start(TargetKind::Partita, options)?;
    // Once: to look whether it is built takes longer than a worker's start.
    let program = options.partita()?;
    let account = Account::well_known();
    let packages = Packages::new(options.fleet.rows);
    let begun = Instant::now();
    packages.fill(target.process.addr(), &account, SOURCE)?;
    say(&format!(
        "{} rows in {} partitions, filled in {:.0} s",
        thousands(packages.rows() as f64),
        thousands(packages.partitions() as f64),
        begun.elapsed().as_secs_f64()
    ));
    say(FleetFigures::HEAD);
    let near = [target.process.addr(), target.process.queue_addr()?];
    let mut all = Vec::new();
    for round_trip_ms in [0, options.fleet.delay_ms] {
        let proxy = DelayProxy::new(Duration::from_millis(round_trip_ms))?;
        let place = match round_trip_ms {
            0 => near,
            _ => [proxy.forward(near[0])?, proxy.forward(near[1])?],
        };
        let mut of_one = None;
        for &workers in &options.fleet.workers {
            let copy = Copy {
                program: &program,
                target: &target,
                near: connection(&account, near),
                place: connection(&account, place),
            };
            let mut figures = copy.run(packages.rows(), workers)?;
            figures.round_trip_ms = round_trip_ms;
            let rate = figures.rows_per_s / f64::from(workers);
            figures.scaling = rate / *of_one.get_or_insert(rate);
            say(&figures.line());
            all.push(figures);
        }
    }
    Ok(all)
}

/// The flags that connect a command to tables and queues.
fn connection(account: &Account, [tables, queues]: [SocketAddr; 2]) -> [String; 4] {
    let url = |addr| format!("http://{addr}/{}", account.name());
    let [tables_flag, queues_flag] = ["--endpoint", "--queue-endpoint"].map(str::to_owned);
    [tables_flag, url(tables), queues_flag, url(queues)]
}

/// A copy of the table.
struct Copy<'a> {
    program: &'a Path,
    target: &'a Target,
    /// The connection of the commands that start the job and show its state.
    near: [String; 4],
    /// The connection of the workers.
    place: [String; 4],
}

impl Copy<'_> {
    fn run(&self, rows: u64, workers: u32) -> anyhow::Result<FleetFigures> {
        let table = "copied";
        self.wait_until_idle()?;
        let job = self.succeeded(&["run", "copy", SOURCE, table])?;
        let job = job.trim();
        let server_s = self.target.process.cpu_s()?;
        let (seconds, workers_s) = self.work(job, workers)?;
        let server_s = self.target.process.cpu_s()? - server_s;
        let status = self.succeeded(&["status", job, "-o", "json"])?;
        let status: serde_json::Value =
            serde_json::from_str(&status).context("reading the status")?;
        ensure!(
            status["state"] == "done" && status["rows"] == rows,
            "{status}, but there are {rows} rows"
        );
        let mut client = Client::connect(self.target.process.addr(), Account::well_known())?;
        let dropped = client.send(&Request::new("DELETE", &format!("/Tables('{table}')")))?;
        dropped.expect(204)?;
        Ok(FleetFigures {
            round_trip_ms: 0,
            workers,
            seconds,
            rows_per_s: rows as f64 / seconds,
            scaling: 1.0,
            steps: status["steps_done"].as_u64().unwrap_or_default(),
            server_cores: server_s / seconds,
            worker_cores: workers_s / seconds,
        })
    }

    /// Waits until the server does nothing more: after the drop of the last copy it removes the rows, and then compacts
    /// them, which would slow the next copy.
    fn wait_until_idle(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let before_s = self.target.process.cpu_s()?;
            park_for(IDLE_FOR);
            let cores = (self.target.process.cpu_s()? - before_s) / IDLE_FOR.as_secs_f64();
            if cores < IDLE_CORES {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < IDLE_WITHIN,
                "the server still uses {cores:.2} cores, {} s after a copy was dropped",
                IDLE_WITHIN.as_secs()
            );
        }
    }

    /// Works on a job with this many processes. Returns the seconds until the first of them has seen the end of the job,
    /// and the processor time of all of them.
    fn work(&self, job: &str, workers: u32) -> anyhow::Result<(f64, f64)> {
        let begun = Instant::now();
        let mut processes = Vec::new();
        for _ in 0..workers {
            let mut command = self.fleet(&["work", job, "--jobs", "1"], &self.place);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            processes.push(Worker {
                process: command.spawn().context("starting partita")?,
                cpu_s: 0.0,
            });
        }
        let (mut ended_at, mut cpu_s) = (None, 0.0);
        while !processes.is_empty() {
            for index in (0..processes.len()).rev() {
                let ended = processes.get_mut(index).map(Worker::look).transpose()?;
                if ended == Some(true) {
                    ended_at.get_or_insert_with(|| begun.elapsed());
                    cpu_s += processes.swap_remove(index).cpu_s;
                }
            }
            park_for(LOOK);
        }
        let ended_at = ended_at.context("a fleet without workers")?;
        Ok((ended_at.as_secs_f64(), cpu_s))
    }

    fn fleet(&self, words: &[&str], connection: &[String]) -> Command {
        let mut command = Command::new(self.program);
        command.arg("fleet").args(words).args(connection);
        command.stdin(Stdio::null());
        command
    }

    /// The stdout of a command that must succeed.
    fn succeeded(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut command = self.fleet(words, &self.near);
        let output = command.output().context("starting partita")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?}: {stderr}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A worker process. Killed when dropped, so that none outlives a failed measurement.
struct Worker {
    process: Child,
    /// Processor time as last seen, in seconds.
    cpu_s: f64,
}

impl Worker {
    /// Whether the worker has ended.
    fn look(&mut self) -> anyhow::Result<bool> {
        // After its end, the process has no figures any more.
        if let Ok(cpu_s) = process::cpu_s(&self.process.id().to_string()) {
            self.cpu_s = cpu_s;
        }
        let Some(status) = self.process.try_wait()? else {
            return Ok(false);
        };
        ensure!(status.success(), "a worker ended: {status}");
        Ok(true)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A failure means that the process has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
