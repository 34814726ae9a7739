//! `cargo harness pressure`: splits, merges, freezes, compacts and kills while clients check every answer.
//!
//! All rounds use the same data directory. In each round the server starts, everything is read back and compared with
//! the clients' models (as `cargo harness crash` does), and then, until the kill:
//! - six writers change their own rows and race for shared rows, checking every answer;
//! - producers and consumers put, receive, update and delete the messages of a queue;
//! - a reader records the rows that it reads, and a watcher scans everything repeatedly, in pages of random length; a
//!   scan interrupted by the kill continues with its token in the next round;
//! - the nemesis fires the actions of the admin port in random order.
//!
//! In every second round the server reads through both of its readers and compares the rows (`--reader compared`); a
//! difference fails the test. The other rounds show the reader at its full speed.
//!
//! In addition to the crash test, it checks that no scan misses a row, repeats one or returns rows out of order; that
//! no answer is wrong because a range changed; and that in the end, when the ranges have released all shared files, the
//! files take at most 1.3 times the bytes of a fresh copy.
//!
//! The seed determines the operations and actions, but not their interleaving.

mod canary_rows;
mod comparisons;
pub(crate) mod nemesis;
mod quiesce;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::{ServerProcess, open_admin_port, partita_command};
use partita_load::Random;

use self::nemesis::NemesisActions;
use crate::checkers::fail_with_log;
use crate::kill_test::KillTest;
use crate::setup::{self, SeededTest};

/// How long unused files are kept: longer than the server takes for a page of a scan on a busy machine.
const GARBAGE_AGE: &str = "4s";

/// The setting with which the server reads through both readers.
const COMPARED: &str = "compared";

/// Longest load of one round, milliseconds.
const LOAD_MS_MAX: u64 = 6_000;

/// Limit of the 99th percentile of the times that writes wait for a change, in milliseconds.
pub(crate) const TRANSIT_P99_MS: f64 = 300.0;
/// Limit of the longest time that writes wait for a change, in milliseconds.
pub(crate) const TRANSIT_MAX_MS: f64 = 1_000.0;

/// Split, merge, freeze, compact and kill while clients check every answer
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Length of the test, minutes
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// Fail if writes wait for changes longer than 300 ms (p99) or 1 s (maximum); needs an idle machine
    #[arg(long)]
    check_times: bool,
    #[command(flatten)]
    test: SeededTest,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let time = Duration::from_secs_f64(arguments.minutes * 60.0);
    KillTest::run(&arguments.test, "pressure", |mut test| {
        test.checkers.add_queue();
        let run = Run {
            test,
            is_planted: false,
            actions: NemesisActions::default(),
            scans: 0,
            comparisons: 0,
            unfinished: None,
        };
        run.rounds(time, arguments.check_times)
    })
}

/// The state that outlives the kills.
struct Run {
    test: KillTest,
    /// Whether the canary rows are stored.
    is_planted: bool,
    actions: NemesisActions,
    scans: u64,
    /// Gets and pages for which both readers of the server returned the same rows.
    comparisons: u64,
    /// The scan that the last kill interrupted.
    unfinished: Option<canary_rows::Scan>,
}

impl Run {
    fn rounds(mut self, time: Duration, check_times: bool) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut kills = 0;
        while began.elapsed() < time {
            let (mut server, admin) = self.start_and_compare(kills)?;
            self.load_and_kill(&mut server, admin)
                .with_context(|| format!("in round {kills}"))?;
            kills += 1;
        }
        let (server, admin) = self.start_and_compare(kills)?;
        // Before the files are measured, because the fresh copy has no messages.
        let drained = self.test.checkers.drain_queue(&server);
        drained.context("receiving all messages of the queue")?;
        let usage = quiesce::await_usage(&server, admin, &self.test.program, &self.test.directory)?;
        let compared = self.compare(&server);
        compared.context("after all ranges released their shared files")?;
        self.report(kills, began.elapsed(), &usage, check_times)
    }

    fn report(
        &self,
        kills: u64,
        elapsed: Duration,
        usage: &quiesce::DiskUsage,
        check_times: bool,
    ) -> anyhow::Result<()> {
        let NemesisActions {
            changes, others, ..
        } = &self.actions;
        println!(
            "pressure: {changes}, {others} other actions, {kills} kills in {:.0} s",
            elapsed.as_secs_f64()
        );
        let [p50, p99, max] = changes.waits_ms();
        println!(
            "pressure: writes waited p50 {p50:.0} ms, p99 {p99:.0} ms, at most {max:.0} ms; slowest start {} ms",
            self.test.slowest_start().as_millis()
        );
        println!(
            "pressure: {} acknowledged writes, {} of messages, {} complete scans, {} comparisons of both readers, nothing lost; {usage}",
            self.test.checkers.acknowledged(),
            self.test.checkers.acknowledged_messages(),
            self.scans,
            self.comparisons
        );
        ensure!(self.comparisons > 0, "no read was compared");
        ensure!(
            !check_times || p99 <= TRANSIT_P99_MS && max <= TRANSIT_MAX_MS,
            "writes waited longer than {TRANSIT_P99_MS} ms (p99) or {TRANSIT_MAX_MS} ms"
        );
        Ok(())
    }

    /// Starts the server, reads everything back and compares.
    fn start_and_compare(&mut self, kills: u64) -> anyhow::Result<(ServerProcess, SocketAddr)> {
        let reader = match kills % 2 {
            0 => COMPARED,
            _ => "partita",
        };
        let (server, admin) = start(&self.test.program, &self.test.directory, reader)?;
        let server = self.test.started(server);
        if let Err(fault) = self.compare(&server) {
            let mut faults: Vec<String> = comparisons::logged(&server.log()).into_iter().collect();
            let compared = "comparing rows with the model";
            faults.push(format!("{compared} after {kills} kills: {fault:#}"));
            fail_with_log(&faults, &server)?;
        }
        Ok((server, admin))
    }

    fn compare(&mut self, server: &ServerProcess) -> anyhow::Result<()> {
        let mut client = self.test.connect(server)?;
        if !self.is_planted {
            canary_rows::plant(&mut client, &mut self.test.random)?;
            self.is_planted = true;
        }
        self.test.checkers.compare(&mut client)?;
        let compared = self.test.checkers.compare_queue(server);
        compared.context("comparing the queue")
    }

    fn load_and_kill(
        &mut self,
        server: &mut ServerProcess,
        admin: SocketAddr,
    ) -> anyhow::Result<()> {
        let (addr, queue_addr) = (server.addr(), server.queue_addr().ok());
        let load = self.test.load_time(50, LOAD_MS_MAX);
        let mut random = || Random::new(self.test.random.next_u64());
        let (mut of_nemesis, mut of_watcher) = (random(), random());
        let stop = AtomicBool::new(false);
        let Self {
            test,
            actions,
            scans,
            unfinished,
            ..
        } = self;
        let account = &test.account;
        let (scan_faults, compared) = std::thread::scope(|scope| {
            test.checkers.load(scope, addr, queue_addr);
            scope.spawn(|| nemesis::run(admin, &mut of_nemesis, &stop, actions));
            let watcher = scope.spawn(|| {
                canary_rows::watch(addr, account, &mut of_watcher, &stop, unfinished, scans)
            });
            std::thread::park_timeout(load);
            let compared = comparisons::count(admin);
            stop.store(true, Ordering::Relaxed);
            server.kill()?;
            let ended = watcher.join();
            let scan_faults = ended.map_err(|_| anyhow::anyhow!("the watcher panicked"))?;
            anyhow::Ok((scan_faults, compared))
        })?;
        let mut faults: Vec<String> = comparisons::logged(&server.log()).into_iter().collect();
        faults.append(&mut self.test.checkers.take_faults());
        faults.extend(scan_faults.err().map(|fault| format!("{fault:#}")));
        faults.append(&mut self.actions.faults);
        match compared {
            Ok(compared) => self.comparisons += compared,
            Err(fault) => faults.push(format!("{fault:#}")),
        }
        fail_with_log(&faults, server)
    }
}

/// Starts the server with an admin port and quick garbage collection.
fn start(
    program: &Path,
    directory: &Path,
    reader: &str,
) -> anyhow::Result<(ServerProcess, SocketAddr)> {
    let mut command = partita_command(program, directory);
    let admin = open_admin_port(&mut command)?;
    command.args(["--garbage-age", GARBAGE_AGE, "--reader", reader]);
    Ok((setup::start_command(command)?, admin))
}
