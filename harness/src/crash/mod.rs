//! `cargo harness crash`: kills the server at random moments and compares the stored rows with the acknowledged ones.
//!
//! All rounds use the same data directory. In each round:
//! 1. the server starts (in some rounds it is first killed while starting) and is ready within a second, except for less than half of the starts, which a busy machine may delay;
//! 2. everything is read back and compared with the clients' models;
//! 3. six writers, a reader, and producers and consumers of a queue load the server, each over its own connection,
//!    until it is killed (`SIGKILL`) a random time later.
//!
//! With `--store` the data is in an object store, a shared folder. Then in half of the rounds the next server starts
//! while this one is loaded: it takes over, and this one must end by itself, with an error. No client writes to the new
//! server before that.
//!
//! [`crate::checkers`] lists the invariants. The seed does not determine what the server is doing when it is killed.

mod sustained;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use partita_bench::{ServerProcess, partita_command};

use crate::checkers::fail_with_log;
use crate::kill_test::KillTest;
use crate::setup::{self, SeededTest, scratch};

/// Maximum of the median time from start to ready after a kill.
const READY_MAX: Duration = Duration::from_secs(1);

/// The same over an object store, where a server first seals and reads the log of the one before, which may be alive.
const TAKEN_OVER_MAX: Duration = Duration::from_secs(3);

/// Longest time until a server that was taken over has noticed it and ended.
const FENCED_MAX: Duration = Duration::from_secs(20);

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
    /// Keep the data in an object store, and let servers take over from running ones
    #[arg(long, conflicts_with = "load_seconds")]
    store: bool,
    #[command(flatten)]
    test: SeededTest,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(seconds) = arguments.load_seconds {
        let program = arguments.test.server.path()?;
        let directory = scratch("crash")?;
        return sustained::run(&program, directory.path(), Duration::from_secs(seconds));
    }
    KillTest::run(&arguments.test, "crash", |mut test| {
        if arguments.store {
            // The flag for a directory takes the URL of a store, too.
            test.directory = PathBuf::from(format!("file://{}", test.directory.display()));
            test.checkers.expect_a_failing_disk();
        } else {
            test.checkers.add_queue();
        }
        test.rounds(arguments.rounds, arguments.store)
    })
}

impl KillTest {
    fn rounds(&mut self, rounds: u64, in_store: bool) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut taken_over = 0;
        for round in 0..rounds {
            if self.random.chance(20) {
                self.kill_while_starting()?;
            }
            let mut server = self.start_and_compare(round)?;
            let loaded = if in_store && self.random.chance(50) {
                taken_over += 1;
                self.load_and_take_over(server)
            } else {
                self.load_and_kill(&mut server)
            };
            loaded.with_context(|| format!("in round {round}"))?;
        }
        let server = self.start_and_compare(rounds)?;
        let drained = self.checkers.drain_queue(&server);
        drained.context("receiving all messages of the queue")?;
        println!(
            "crash: {rounds} kills, {taken_over} of a server that had taken over, {} acknowledged writes, {} of messages, \
             nothing lost; median start {} ms, slowest {} ms, {:.1} s in all",
            self.checkers.acknowledged(),
            self.checkers.acknowledged_messages(),
            self.median_start().as_millis(),
            self.slowest_start().as_millis(),
            began.elapsed().as_secs_f64()
        );
        let ready_max = match in_store {
            true => TAKEN_OVER_MAX,
            false => READY_MAX,
        };
        ensure!(
            self.median_start() <= ready_max,
            "half of the starts took more than {ready_max:?}: {:?}",
            self.starts
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
        let server = setup::start(&self.program, &self.directory)?;
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

    /// Starts the next server while this one is loaded, waits until this one has ended, and kills the next one.
    fn load_and_take_over(&mut self, mut server: ServerProcess) -> anyhow::Result<()> {
        let addr = server.addr();
        let load = self.load_time(10, LOAD_MS_MAX);
        let (program, directory) = (&self.program, &self.directory);
        let checkers = &mut self.checkers;
        let next = std::thread::scope(|scope| {
            let stop = checkers.load(scope, addr, None);
            std::thread::park_timeout(load);
            let next = setup::start(program, directory).and_then(|next| {
                if server.wait(FENCED_MAX)? {
                    bail!("a server that was taken over did not end with an error");
                }
                Ok(next)
            });
            stop.store(true, Ordering::Relaxed);
            next
        });
        let next = next.with_context(|| server.log())?;
        ensure!(
            server.log().contains("another server has taken over"),
            "the server does not say why it ended:\n{}",
            server.log()
        );
        fail_with_log(&self.checkers.take_faults(), &server)?;
        self.started(next).kill()
    }
}
