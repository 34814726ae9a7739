//! `cargo harness diskfaults`: the real server on a disk whose calls fail.
//!
//! The library of `harness/preload` makes calls of the server fail, for some files and for a while. All rounds use the
//! same data directory. In each round:
//!
//! 1. in some rounds calls fail while the server starts: it must become ready, or end with a message;
//! 2. the server starts, everything is read back and compared with the clients' models, as in `cargo harness crash`;
//! 3. under load, with flushes, compactions, splits and merges, calls fail for up to 1.2 s, by one of the [`scenarios`];
//! 4. the server must become ready again without a restart, accept a write, and still have every acknowledged row;
//! 5. the server loses power: what was not synced, or was written before a failed sync, is dropped or torn.
//!
//! While calls fail, a write may be refused (503), or have an unknown outcome (500), and a read may fail, each with a
//! documented reason. Any other answer is a fault.

mod scenarios;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use partita_bench::client::Client;
use partita_bench::{ServerProcess, admin, open_admin_port, park_for, partita_command};
use partita_load::Random;

use self::scenarios::Scenario;
use crate::checkers::{TABLE, fail_with_log};
use crate::kill_test::KillTest;
use crate::powercut::CutDisk;
use crate::setup::{self, SeededTest};

/// How long unused files are kept: short, so that files are deleted during the test.
const GARBAGE_AGE: &str = "4s";

/// Longest time until the server is ready again and accepts writes.
const READY_MAX: Duration = Duration::from_secs(60);

/// Time between two attempts to write.
const LOOK: Duration = Duration::from_millis(20);

/// Make the server's calls to the file system fail and compare the stored rows with the acknowledged ones
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of rounds, each with the next scenario of failing calls
    #[arg(long, default_value_t = 22)]
    rounds: u64,
    #[command(flatten)]
    test: SeededTest,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    KillTest::run(&arguments.test, "diskfaults", |mut test| {
        test.checkers.expect_a_failing_disk();
        let disk = CutDisk::new(&test)?;
        let run = Run {
            test,
            disk,
            hits_while_starting: 0,
            refused_starts: 0,
            slowest_return: Duration::ZERO,
            faults: Vec::new(),
        };
        run.rounds(arguments.rounds)
    })
}

/// The state that outlives the server's processes.
struct Run {
    test: KillTest,
    disk: CutDisk,
    hits_while_starting: u64,
    /// Starts that ended with a message.
    refused_starts: u64,
    /// Longest time from the end of the faults until a write was accepted.
    slowest_return: Duration,
    /// Undocumented answers of the server's admin port.
    faults: Vec<String>,
}

impl Run {
    fn rounds(mut self, rounds: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        let first = self.test.random.below(scenarios::ALL.len() as u64);
        for round in 0..rounds {
            let number = (first + round) as usize % scenarios::ALL.len();
            let scenario = &scenarios::ALL[number];
            let in_round = || format!("in round {round}: {}", scenario.name);
            if self.test.random.chance(20) {
                self.fail_while_starting(scenario).with_context(in_round)?;
            }
            let (mut server, admin) = self.start_and_compare()?;
            let failed = self.fail_under_load(scenario, &server, admin);
            let log = || format!("the server's log:\n{}", server.log());
            failed.with_context(log).with_context(in_round)?;
            server.kill()?;
            self.disk.cut(&mut self.test.random, None)?;
        }
        let (server, _) = self.start_and_compare()?;
        drop(server);
        println!(
            "diskfaults: {} calls failed in {rounds} rounds, {} of them while starting ({} starts refused); {}",
            self.disk.preload.hits(),
            self.hits_while_starting,
            self.refused_starts,
            self.disk.summary()
        );
        println!(
            "diskfaults: {} acknowledged writes, nothing lost; writing again at most {} ms after the faults; {:.1} s in all",
            self.test.checkers.acknowledged(),
            self.slowest_return.as_millis(),
            began.elapsed().as_secs_f64()
        );
        Ok(())
    }

    fn start(&self) -> anyhow::Result<(ServerProcess, SocketAddr)> {
        let mut command = partita_command(&self.test.program, &self.disk.data());
        let admin = open_admin_port(&mut command)?;
        command.args(["--garbage-age", GARBAGE_AGE]);
        self.disk.load_into(&mut command)?;
        Ok((setup::start_command(command)?, admin))
    }

    /// Starts the server while calls fail: it may refuse to start. Then it loses power.
    fn fail_while_starting(&mut self, scenario: &Scenario) -> anyhow::Result<()> {
        let fault = scenario.fault(&mut self.test.random);
        let hits = self.disk.preload.hits();
        self.disk.preload.set(0, &[fault])?;
        let started = self.start();
        self.disk.preload.set(0, &[])?;
        match started {
            Ok((mut server, _)) => server.kill()?,
            Err(refused) => {
                let refused = format!("{refused:#}");
                ensure!(self.disk.preload.hits() > hits, "refused: {refused}");
                ensure!(
                    !refused.contains("panicked"),
                    "panicked while starting: {refused}"
                );
                self.refused_starts += 1;
            }
        }
        self.hits_while_starting += self.disk.preload.hits() - hits;
        self.disk.cut(&mut self.test.random, None)
    }

    /// Starts the server, reads everything back and compares.
    fn start_and_compare(&mut self) -> anyhow::Result<(ServerProcess, SocketAddr)> {
        let (server, admin) = self.start().with_context(|| self.disk.last_cut())?;
        let server = self.test.started(server);
        self.compare(&server)
            .with_context(|| self.disk.last_cut())?;
        Ok((server, admin))
    }

    fn compare(&mut self, server: &ServerProcess) -> anyhow::Result<()> {
        let mut client = self.test.connect(server)?;
        let compared = self.test.checkers.compare(&mut client);
        compared.with_context(|| format!("comparing; the server's log:\n{}", server.log()))
    }

    fn fail_under_load(
        &mut self,
        scenario: &Scenario,
        server: &ServerProcess,
        admin: SocketAddr,
    ) -> anyhow::Result<()> {
        let addr = server.addr();
        let random = &mut self.test.random;
        let before = Duration::from_millis(20 + random.below(150));
        let during = Duration::from_millis(30 + random.below(1_200));
        let fault = scenario.fault(random);
        let mut of_actions = Random::new(random.next_u64());
        let (checkers, faults) = (&mut self.test.checkers, &mut self.faults);
        let (disk, account) = (&self.disk, &self.test.account);
        let ended = AtomicBool::new(false);
        let returned = std::thread::scope(|scope| {
            let stop = checkers.load(scope, addr, None);
            scope.spawn(|| change_ranges(admin, &mut of_actions, &ended, faults));
            park_for(before);
            let failing = disk.preload.set(0, &[fault]);
            park_for(during);
            let returned = failing
                .and_then(|()| disk.preload.set(0, &[]))
                .and_then(|()| {
                    await_writes(addr, admin, || Client::connect(addr, account.clone()))
                });
            park_for(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
            ended.store(true, Ordering::Relaxed);
            returned
        })?;
        self.slowest_return = self.slowest_return.max(returned);
        let mut faults = self.test.checkers.take_faults();
        faults.append(&mut self.faults);
        fail_with_log(&faults, server)?;
        self.compare(server).context("after the faults")
    }
}

/// Waits until the server says that it is ready and accepts a write. Returns how long that took.
fn await_writes(
    addr: SocketAddr,
    admin: SocketAddr,
    connect: impl Fn() -> anyhow::Result<Client>,
) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let path = format!("/{TABLE}(PartitionKey='probe',RowKey='probe')");
    loop {
        let write = connect().and_then(|mut client| client.put(&path, &[], b"{}"));
        let status = write.as_ref().map_or(0, |answer| answer.status);
        let ready = ready(admin);
        if status == 204 && matches!(ready, Ok(200)) {
            return Ok(began.elapsed());
        }
        if began.elapsed() > READY_MAX {
            let answer = write.map_or_else(|error| format!("{error:#}"), |answer| answer.text());
            bail!(
                "{addr} accepts no writes {READY_MAX:?} after the faults: {status} {answer}; /readyz {ready:?}"
            );
        }
        park_for(LOOK);
    }
}

/// The status of `/readyz`.
fn ready(admin: SocketAddr) -> anyhow::Result<u16> {
    let mut stream = TcpStream::connect(admin)?;
    stream.set_read_timeout(Some(READY_MAX))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer
        .split(' ')
        .nth(1)
        .context("the answer has no status")?;
    Ok(status.parse()?)
}

/// Flushes, compacts, splits and merges, so that the databases write files. Any documented answer is fine.
fn change_ranges(
    admin: SocketAddr,
    random: &mut Random,
    ended: &AtomicBool,
    faults: &mut Vec<String>,
) {
    while !ended.load(Ordering::Relaxed) {
        if let Ok(listed) = admin::ranges(admin)
            && !listed.ranges.is_empty()
        {
            let count = listed.ranges.len() as u64;
            let range = listed.ranges[random.below(count) as usize].id;
            let action = match random.below(10) {
                0..4 => "flush",
                4..6 => "compact",
                6 => "collect",
                7 => "merge",
                _ if count < 6 => "split",
                _ => "merge",
            };
            match admin::act(admin, range, action, "") {
                Ok((200 | 404 | 409 | 500 | 503, _)) | Err(_) => {}
                Ok((status, answer)) => {
                    faults.push(format!("{action} of range {range}: {status} {answer}"));
                }
            }
        }
        park_for(Duration::from_millis(random.below(60)));
    }
}
