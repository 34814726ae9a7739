//! `cargo harness crash`: kills the server at random moments and compares the stored rows with the acknowledged ones.
//!
//! All rounds use the same data directory. In each round:
//! 1. the server starts (in some rounds it is first killed while starting) and must be ready within a second;
//! 2. everything is read back and compared with the clients' models;
//! 3. six writers, a reader, and producers and consumers of a queue load the server, each over its own connection,
//!    until it is killed (`SIGKILL`) a random time later.
//!
//! [`crate::checkers`] lists the invariants. The seed does not determine what the server is doing when it is killed.

mod sustained;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::{ServerProcess, partita_command};

use crate::checkers::fail_with_log;
use crate::kill_test::KillTest;
use crate::setup::{self, SeededTest, scratch};

/// Longest time from start to ready after a kill.
const READY_MAX: Duration = Duration::from_secs(1);

/// Maximum duration of the load of one round, in milliseconds.
const LOAD_MS_MAX: u64 = 500;

/// Kill the server at random moments and compare the stored rows with the acknowledged ones
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of kills
    #[arg(long, default_value_t = 25)]
    rounds: u64,
    /// Instead of rounds, load the server with writes for this long, then kill it once
    #[arg(long, value_name = "SECONDS")]
    load_seconds: Option<u64>,
    #[command(flatten)]
    test: SeededTest,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(seconds) = arguments.load_seconds {
        let program = arguments.test.server.path()?;
        let directory = scratch("crash")?;
        return sustained::run(&program, directory.path(), Duration::from_secs(seconds));
    }
    let rounds = |mut test: KillTest| test.rounds(arguments.rounds);
    KillTest::run(&arguments.test, "crash", rounds)
}

impl KillTest {
    fn rounds(&mut self, rounds: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        self.checkers.add_queue();
        for round in 0..rounds {
            if self.random.chance(20) {
                self.kill_while_starting()?;
            }
            let mut server = self.start_and_compare(round)?;
            self.load_and_kill(&mut server)
                .with_context(|| format!("in round {round}"))?;
        }
        let server = self.start_and_compare(rounds)?;
        let drained = self.checkers.drain_queue(&server);
        drained.context("receiving all messages of the queue")?;
        println!(
            "crash: {rounds} kills, {} acknowledged writes, {} of messages, nothing lost; slowest start {} ms, {:.1} s in all",
            self.checkers.acknowledged(),
            self.checkers.acknowledged_messages(),
            self.slowest_start.as_millis(),
            began.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Starts the server and kills it, usually before it is ready.
    fn kill_while_starting(&mut self) -> anyhow::Result<()> {
        let mut child = partita_command(&self.program, &self.directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::park_timeout(Duration::from_millis(self.random.below(60)));
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Starts the server, reads everything back and compares.
    fn start_and_compare(&mut self, kills: u64) -> anyhow::Result<ServerProcess> {
        let server = start(&self.program, &self.directory)?;
        let server = self.started(server);
        let mut client = self.connect(&server)?;
        let compared = self.checkers.compare(&mut client);
        compared.with_context(|| format!("comparing rows with the model after {kills} kills"))?;
        let compared = self.checkers.compare_queue(&server);
        compared.with_context(|| format!("comparing the queue after {kills} kills"))?;
        Ok(server)
    }

    fn load_and_kill(&mut self, server: &mut ServerProcess) -> anyhow::Result<()> {
        let (addr, queue_addr) = (server.addr(), server.queue_addr().ok());
        let load = self.load_time(10, LOAD_MS_MAX);
        let checkers = &mut self.checkers;
        std::thread::scope(|scope| {
            checkers.load(scope, addr, queue_addr);
            std::thread::park_timeout(load);
            server.kill()
        })?;
        fail_with_log(&self.checkers.take_faults(), server)
    }
}

fn start(program: &Path, directory: &Path) -> anyhow::Result<ServerProcess> {
    let server = setup::start(program, directory)?;
    let ready_after = server.ready_after();
    ensure!(
        ready_after <= READY_MAX,
        "the server was ready after {} ms, not within {} ms",
        ready_after.as_millis(),
        READY_MAX.as_millis()
    );
    Ok(server)
}
