//! `cargo harness fleet`: fleets of worker processes, of which each is killed again and again, as is the server.
//!
//! A table has the shape of a package index ([`partita_bench::packages`]). Four jobs work on it, one after the other, each
//! by four processes `partita fleet work`: a copy, an export, a count, and a purge of a third of the copied rows. While a
//! job runs, each worker is killed (`SIGKILL`) at random moments and replaced at once, and so is the server. Half of the
//! workers are also stopped for a while, so that others execute their steps too.
//!
//! After each job, its result is compared with the rows that the table is known to have: each of them once, unchanged,
//! and no other row. The job must also pass `partita fleet status --verify`.
//!
//! The seed determines the pauses between the kills, not what a process is doing when it is killed.

mod inventory;
mod toolbox;
mod worker;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::Client;
use partita_bench::packages::{Packages, is_listed};
use partita_bench::{Account, ServerProcess, admin, park_for, partita_command};
use partita_load::{Random, thousands};
use serde_json::Value;

use self::inventory::Inventory;
use self::toolbox::Toolbox;
use self::worker::{WorkerLife, Workers};
use crate::checkers::fail_with_log;
use crate::setup::{self, SeededTest};

/// The table with all rows.
const SOURCE: &str = "packages";
/// The table to which they are copied.
const COPY: &str = "copied";
/// The rows that the purge deletes: one of three.
const PURGED: &str = "Listed eq false";

/// Worker processes of a job.
const WORKERS: u64 = 4;

/// Kill the workers of fleets and their server at random moments and compare every result with the known rows
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Rows of the table
    #[arg(long, default_value_t = 40_000)]
    rows: u64,
    /// Kills of each worker in each job
    #[arg(long, default_value_t = 3)]
    worker_kills: u64,
    /// Kills of the server in each job
    #[arg(long, default_value_t = 2)]
    server_kills: u64,
    #[command(flatten)]
    test: SeededTest,
}

/// A kind of job.
#[derive(Debug, Clone, Copy)]
enum Job {
    Copy,
    Export,
    Count,
    Purge,
}

impl Job {
    /// More rows than a fleet works off each second while its workers are killed: the kills are spread over this time, so
    /// that they end before the job.
    fn rows_per_second(self) -> f64 {
        match self {
            Self::Copy | Self::Purge => 60_000.0,
            Self::Export => 100_000.0,
            Self::Count => 150_000.0,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.test.server.path()?;
    arguments.test.in_scratch("fleet", |directory, random| {
        let began = Instant::now();
        let mut run = Run::start(arguments, program, directory, random)?;
        for job in [Job::Copy, Job::Export, Job::Count, Job::Purge] {
            let fault = run.job(job).err();
            let fault = fault.map(|error| format!("{job:?}: {error:#}"));
            fail_with_log(&fault.into_iter().collect::<Vec<_>>(), &run.server)?;
        }
        println!(
            "fleet: all exact, {:.0} s in all",
            began.elapsed().as_secs_f64()
        );
        Ok(())
    })
}

struct Run<'a> {
    arguments: &'a Arguments,
    directory: &'a Path,
    random: Random,
    packages: Packages,
    toolbox: Toolbox,
    server: ServerProcess,
    /// The ports of tables and queues, which every start of the server has.
    ports: [SocketAddr; 2],
}

impl<'a> Run<'a> {
    /// Starts the server and fills the table.
    fn start(
        arguments: &'a Arguments,
        program: PathBuf,
        directory: &'a Path,
        random: Random,
    ) -> anyhow::Result<Self> {
        let account = Account::well_known();
        let ports = [admin::free_port()?, admin::free_port()?];
        let toolbox = Toolbox::new(program, &account, ports, directory);
        let server = start(&toolbox, directory, ports)?;
        let packages = Packages::new(arguments.rows);
        let began = Instant::now();
        packages.fill(server.addr(), &account, SOURCE)?;
        println!(
            "fleet: {} rows in {} partitions, filled in {:.0} s",
            thousands(packages.rows() as f64),
            thousands(packages.partitions() as f64),
            began.elapsed().as_secs_f64()
        );
        Ok(Self {
            arguments,
            directory,
            random,
            packages,
            toolbox,
            server,
            ports,
        })
    }

    /// Runs a job under kills, and checks its result.
    fn job(&mut self, job: Job) -> anyhow::Result<()> {
        let id = self.begin(job)?;
        let began = Instant::now();
        let (lives, server_kills) = self.work(&id, job)?;
        let seconds = began.elapsed().as_secs_f64();
        let kills: u64 = lives.iter().map(|life| life.kills).sum();
        let status = self.toolbox.verified(&id)?;
        self.check(job, &status)?;
        println!(
            "fleet: {job:?}: exact after {kills} kills and {} stops of workers and {server_kills} kills of the server, {} workers \
             gave up; {} steps, {seconds:.1} s, checked in {:.1} s",
            lives.iter().map(|life| life.stops).sum::<u64>(),
            lives.iter().map(|life| life.gave_up).sum::<u64>(),
            status["steps_done"],
            began.elapsed().as_secs_f64() - seconds
        );
        let wanted = WORKERS * self.arguments.worker_kills;
        ensure!(
            kills * 2 >= wanted,
            "the job ended after {kills} of {wanted} kills, so the test shows little"
        );
        Ok(())
    }

    /// Starts a job and returns its id.
    fn begin(&self, job: Job) -> anyhow::Result<String> {
        let directory = self.export_directory();
        let directory = directory.to_str().context("the directory is not UTF-8")?;
        let job = match job {
            Job::Copy => vec!["copy", SOURCE, COPY],
            Job::Export => vec!["export", SOURCE, directory, "--format", "jsonl"],
            Job::Count => vec!["count", SOURCE],
            Job::Purge => vec!["purge", COPY, PURGED, "--yes"],
        };
        let step_rows = (self.packages.rows() / 50).clamp(1_000, 20_000);
        self.toolbox.begin(&job, step_rows)
    }

    /// Works on a job until it ends. Returns what happened to the workers, and the number of kills of the server.
    fn work(&mut self, id: &str, job: Job) -> anyhow::Result<(Vec<WorkerLife>, u64)> {
        let spread = self.packages.rows() as f64 / job.rows_per_second();
        let spread = Duration::from_secs_f64(spread);
        let workers = Workers::new(&self.toolbox, id, self.arguments.worker_kills, spread);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WORKERS)
                .map(|worker| {
                    let random = Random::of(self.random.next_u64(), worker);
                    let workers = &workers;
                    scope.spawn(move || workers.live(worker, random))
                })
                .collect();
            let mut kills = 0;
            while kills < self.arguments.server_kills && !workers.have_ended() {
                let pause = pause(&mut self.random, spread, self.arguments.server_kills);
                park_for(pause);
                self.server.kill()?;
                self.server = start(&self.toolbox, self.directory, self.ports)?;
                kills += 1;
            }
            let lives = threads.into_iter().map(|thread| {
                let ended = thread.join();
                ended.map_err(|_| anyhow::anyhow!("the thread of a worker panicked"))?
            });
            Ok((lives.collect::<anyhow::Result<Vec<_>>>()?, kills))
        })
    }

    /// Compares the result of a job with the known rows.
    fn check(&self, job: Job, status: &Value) -> anyhow::Result<()> {
        let all = self.packages.rows();
        match job {
            Job::Copy => {
                self.check_rows(status, all)?;
                self.inventory(COPY)?.expect(|_| true)
            }
            Job::Export => {
                self.check_rows(status, all)?;
                let mut inventory = Inventory::new(&self.packages);
                inventory.add_export(&self.export_directory())?;
                inventory.expect(|_| true)
            }
            Job::Count => self.check_rows(status, all),
            // A killed worker may have deleted rows that the repeated step no longer finds: the counts may be lower.
            Job::Purge => self.inventory(COPY)?.expect(is_listed),
        }
    }

    fn check_rows(&self, status: &Value, rows: u64) -> anyhow::Result<()> {
        ensure!(
            status["rows"] == rows,
            "{status}, but there are {rows} rows"
        );
        Ok(())
    }

    /// The rows of a table.
    fn inventory(&self, table: &str) -> anyhow::Result<Inventory<'_>> {
        let mut client = Client::connect(self.server.addr(), Account::well_known())?;
        let mut inventory = Inventory::new(&self.packages);
        client.pages(&format!("/{table}()"), "", |page| {
            for entity in page.entities()? {
                inventory.add(entity)?;
            }
            Ok(())
        })?;
        Ok(inventory)
    }

    fn export_directory(&self) -> PathBuf {
        self.directory.join("export")
    }
}

/// A random pause between two of `kills` kills that are spread over a time.
fn pause(random: &mut Random, spread: Duration, kills: u64) -> Duration {
    spread.mul_f64(2.0 * random.fraction() / kills.max(1) as f64)
}

/// Starts the server on the test's ports.
fn start(
    toolbox: &Toolbox,
    directory: &Path,
    [tables, queues]: [SocketAddr; 2],
) -> anyhow::Result<ServerProcess> {
    let mut command = partita_command(toolbox.program(), &directory.join("data"));
    command.args(["--table-port", &tables.port().to_string()]);
    command.args(["--queue-port", &queues.port().to_string()]);
    setup::start_command(command)
}
