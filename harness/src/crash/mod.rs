//! `cargo xtask crash`: kills the server at random moments and compares what it kept with what it promised.
//!
//! One data directory lives through all rounds. In each round:
//! 1. the server starts (in some rounds it is first killed while starting) and must be ready within a second;
//! 2. everything is read back and compared with what the clients know;
//! 3. six writers and a reader load it over connections of their own, until it is killed (`SIGKILL`) a random time
//!    later.
//!
//! What must hold is said in [`crate::checkers`]. The moment of the kill in the server's work does not follow from the seed.

mod sustained;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::Client;
use partita_bench::{Account, ServerProcess, create_table, partita_command};
use partita_load::Random;

use crate::checkers::{Checkers, TABLE, fail_with_log};
use crate::setup::{ServerProgram, scratch};

/// Time from start to ready after a kill (issue: "ready within 1 s").
const READY_MAX: Duration = Duration::from_secs(1);

/// Time the server is given to say that it is ready before the run is given up.
const START_DEADLINE: Duration = Duration::from_secs(30);

/// Longest load of one round, milliseconds.
const LOAD_MS_MAX: u64 = 500;

/// Kill the server at random moments and compare what it kept with what it promised.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Times to kill
    #[arg(long, default_value_t = 25)]
    rounds: u64,
    /// Seed of the operations; random without it, and printed
    #[arg(long)]
    seed: Option<u64>,
    /// Instead of rounds: full write load for so long, then one kill; ready within a second, nothing lost
    #[arg(long, value_name = "SECONDS")]
    load_seconds: Option<u64>,
    #[command(flatten)]
    server: ServerProgram,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let directory = scratch("crash")?;
    if let Some(seconds) = arguments.load_seconds {
        return sustained::run(&program, directory.path(), Duration::from_secs(seconds));
    }
    let seed = arguments
        .seed
        .unwrap_or_else(|| u64::from(std::process::id()));
    let outcome = Run::new(program, directory.path().to_owned(), seed).rounds(arguments.rounds);
    if outcome.is_err() {
        let kept = directory.keep();
        eprintln!("crash: the data is kept in {}", kept.display());
    }
    outcome.with_context(|| format!("--seed {seed}"))
}

/// Everything that lives through the crashes.
struct Run {
    program: PathBuf,
    directory: PathBuf,
    account: Account,
    random: Random,
    checkers: Checkers,
    slowest_start: Duration,
}

impl Run {
    fn new(program: PathBuf, directory: PathBuf, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let account = Account::well_known();
        Self {
            program,
            directory,
            checkers: Checkers::new(&account, &mut random),
            account,
            random,
            slowest_start: Duration::ZERO,
        }
    }

    fn rounds(mut self, rounds: u64) -> anyhow::Result<()> {
        let started = Instant::now();
        for round in 0..rounds {
            if self.random.chance(20) {
                self.kill_while_starting()?;
            }
            let mut server = self.start()?;
            self.compare(&server)
                .with_context(|| format!("after {round} kills"))?;
            self.load_and_kill(&mut server)
                .with_context(|| format!("in round {round}"))?;
        }
        let server = self.start()?;
        self.compare(&server)
            .with_context(|| format!("after {rounds} kills"))?;
        let acknowledged = self.checkers.acknowledged();
        println!(
            "crash: {rounds} kills, {acknowledged} acknowledged writes, nothing lost; slowest start {} ms, {:.1} s in all",
            self.slowest_start.as_millis(),
            started.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Starts the server and kills it before it may be ready.
    fn kill_while_starting(&mut self) -> anyhow::Result<()> {
        let mut child = partita_command(&self.program, &self.directory)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()?;
        std::thread::park_timeout(Duration::from_millis(self.random.below(60)));
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    fn start(&mut self) -> anyhow::Result<ServerProcess> {
        let server = start(&self.program, &self.directory)?;
        self.slowest_start = self.slowest_start.max(server.ready_after());
        Ok(server)
    }

    /// Reads everything back and compares.
    fn compare(&mut self, server: &ServerProcess) -> anyhow::Result<()> {
        let mut client = Client::connect(server.addr(), self.account.clone())?;
        create_table(&mut client, TABLE)?;
        self.checkers.compare(&mut client)
    }

    fn load_and_kill(&mut self, server: &mut ServerProcess) -> anyhow::Result<()> {
        let addr = server.addr();
        let load = Duration::from_millis(10 + self.random.below(LOAD_MS_MAX));
        let checkers = &mut self.checkers;
        std::thread::scope(|scope| {
            checkers.load(scope, addr);
            std::thread::park_timeout(load);
            server.kill()
        })?;
        fail_with_log(&self.checkers.take_faults(), server)
    }
}

fn start(program: &Path, directory: &Path) -> anyhow::Result<ServerProcess> {
    let server = ServerProcess::start(partita_command(program, directory), START_DEADLINE)?;
    let ready_after = server.ready_after();
    ensure!(
        ready_after <= READY_MAX,
        "the server was ready after {} ms, not within {} ms",
        ready_after.as_millis(),
        READY_MAX.as_millis()
    );
    Ok(server)
}
