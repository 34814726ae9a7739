//! `cargo harness clocks`: the real server under a wall clock that is wrong.
//!
//! The library of `harness/preload` shifts the server's wall clock, and the times of the files that it writes. All rounds
//! use the same data directory. In each round:
//!
//! 1. the server starts with a shifted clock, a minute to 74 years from the true time, or, in every other round, with
//!    the true time; so a server whose clock was ahead is killed and then starts with the true time;
//! 2. the server must be ready, and accept a write, as fast as always; everything is read back and compared with the
//!    clients' models, as in `cargo harness crash`;
//! 3. under load, with splits, merges, compactions and garbage collection, the clock jumps back and forth by minutes;
//! 4. without load it jumps once more, far, and the load continues;
//! 5. the server is killed.
//!
//! The Timestamps of one row, which is written all the time, must increase strictly, whatever the clock does. The
//! checkers see an ETag that occurs twice. At the end the garbage collection runs while the clock is days ahead, and no
//! row may be missing after it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::Client;
use partita_bench::{
    ServerProcess, admin, open_admin_port, park_for, partita_command, shift_dates,
};
use partita_load::Random;
use serde_json::Value;

use crate::checkers::{TABLE, fail_with_log};
use crate::kill_test::KillTest;
use crate::preload::Preload;
use crate::pressure::nemesis::{self, NemesisActions};
use crate::setup::{self, SeededTest};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Shifts of the clock from the true time, in seconds.
const SHIFTS: [i64; 7] = [MINUTE, HOUR, 2 * DAY, -MINUTE, -HOUR, -DAY, 74 * YEAR];

/// Maximum jump of the clock under load, in seconds. The server refuses requests whose date is more than 15 minutes
/// from its clock.
const JUMP_MAX: u64 = 14 * 60;

/// How long unused files are kept: short, so that files are deleted during the test.
const GARBAGE_AGE: &str = "4s";

/// Maximum of the median time from start to ready, and maximum time of a write.
const SERVED_MAX: Duration = Duration::from_secs(2);

/// Maximum time of each start: much less than the smallest shift, and more than a busy machine needs.
const READY_MAX: Duration = Duration::from_secs(15);

/// Row whose Timestamps must increase.
const PROBE: &str = "(PartitionKey='probe',RowKey='probe')";

/// Shift the server's clock and compare the stored rows with the acknowledged ones
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of starts, with different shifts of the clock
    #[arg(long, default_value_t = 14)]
    rounds: u64,
    #[command(flatten)]
    test: SeededTest,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    KillTest::run(&arguments.test, "clocks", |test| {
        let preload = Preload::new(&test.directory, &test.directory.join("disk"))?;
        let run = Run {
            test,
            preload,
            actions: NemesisActions::default(),
            timestamp: String::new(),
            jumps: 0,
            slowest_write: Duration::ZERO,
        };
        run.rounds(arguments.rounds)
    })
}

/// The state that outlives the kills.
struct Run {
    test: KillTest,
    preload: Preload,
    actions: NemesisActions,
    /// The newest Timestamp of the probed row.
    timestamp: String,
    jumps: u64,
    slowest_write: Duration,
}

impl Run {
    fn rounds(mut self, rounds: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        for round in 0..rounds {
            // Every other start has the true time.
            let shift = match round % 2 {
                0 => SHIFTS[(round / 2) as usize % SHIFTS.len()],
                _ => 0,
            };
            self.round(shift).with_context(|| {
                format!("in round {round}, started {shift} s from the true time")
            })?;
        }
        self.collect_ahead()
            .context("collecting garbage while the clock is ahead")?;
        ensure!(
            self.test.median_start() <= SERVED_MAX,
            "half of the starts took more than {SERVED_MAX:?}: {:?}",
            self.test.starts
        );
        println!(
            "clocks: {rounds} starts and {} jumps while running, {} acknowledged writes, nothing lost; {}; slowest start {} ms, \
             slowest first write {} ms; last Timestamp {}; {:.1} s in all",
            self.jumps,
            self.test.checkers.acknowledged(),
            self.actions.changes,
            self.test.slowest_start().as_millis(),
            self.slowest_write.as_millis(),
            self.timestamp,
            began.elapsed().as_secs_f64()
        );
        Ok(())
    }

    fn round(&mut self, shift: i64) -> anyhow::Result<()> {
        let (mut server, admin) = self.start_and_compare(shift)?;
        self.load(&server, admin, shift)?;
        let far = SHIFTS[self.test.random.below(SHIFTS.len() as u64) as usize];
        // A jump by decades would put the store's clock ahead of all later shifts. Only the start of one round shifts
        // that far, the last of a cycle of `SHIFTS`.
        let far = if far > YEAR { 3 * DAY } else { far };
        let log = || format!("the server's log:\n{}", server.log());
        let mut client = self.jump(&server, shift + far)?;
        self.probe(&mut client).with_context(log)?;
        self.load(&server, admin, shift + far)?;
        server.kill()
    }

    /// Sets the server's clock, and that of the requests.
    fn jump(&mut self, server: &ServerProcess, shift: i64) -> anyhow::Result<Client> {
        self.preload.set(shift, &[])?;
        shift_dates(shift);
        self.jumps += 1;
        Client::connect(server.addr(), self.test.account.clone())
    }

    /// Starts the server, reads everything back and compares.
    fn start_and_compare(&mut self, shift: i64) -> anyhow::Result<(ServerProcess, SocketAddr)> {
        self.preload.set(shift, &[])?;
        shift_dates(shift);
        let data = self.preload.root().join("data");
        let mut command = partita_command(&self.test.program, &data);
        let admin = open_admin_port(&mut command)?;
        command.args(["--garbage-age", GARBAGE_AGE]);
        self.preload.load_without_journal(&mut command);
        let server = self.test.started(setup::start_command(command)?);
        let log = || format!("the server's log:\n{}", server.log());
        let ready_after = server.ready_after();
        ensure!(ready_after <= READY_MAX, "ready after {ready_after:?}");
        let mut client = self.test.connect(&server).with_context(log)?;
        self.probe(&mut client).with_context(log)?;
        let compared = self.test.checkers.compare(&mut client);
        compared.context("comparing").with_context(log)?;
        self.probe(&mut client).with_context(log)?;
        Ok((server, admin))
    }

    /// Writes the row `PROBE`, and checks that the write is fast and its Timestamp newer than the last one.
    fn probe(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let began = Instant::now();
        let path = format!("/{TABLE}{PROBE}");
        client.put(&path, &[], b"{}")?.expect(204)?;
        let took = began.elapsed();
        ensure!(took <= SERVED_MAX, "a write took {took:?}");
        self.slowest_write = self.slowest_write.max(took);
        let row = client.get(&path)?.expect(200)?;
        let row: Value = serde_json::from_slice(&row.body)?;
        let timestamp = row["Timestamp"].as_str().unwrap_or_default();
        let timestamp = timestamp.trim_end_matches('Z').to_owned();
        ensure!(
            timestamp > self.timestamp,
            "the Timestamp {timestamp} follows {}",
            self.timestamp
        );
        self.timestamp = timestamp;
        Ok(())
    }

    /// Loads the server for a while, with small jumps of its clock.
    fn load(
        &mut self,
        server: &ServerProcess,
        admin: SocketAddr,
        shift: i64,
    ) -> anyhow::Result<()> {
        let addr = server.addr();
        let mut random = Random::new(self.test.random.next_u64());
        let mut of_nemesis = Random::new(random.next_u64());
        let (checkers, actions, preload) =
            (&mut self.test.checkers, &mut self.actions, &self.preload);
        let stop = AtomicBool::new(false);
        let jumped = std::thread::scope(|scope| {
            let stop_load = checkers.load(scope, addr, None);
            scope.spawn(|| nemesis::run(admin, &mut of_nemesis, &stop, actions));
            let count = 3 + random.below(8);
            let jumps = (0..count).try_for_each(|_| {
                park_for(Duration::from_millis(20 + random.below(120)));
                let jump = random.below(2 * JUMP_MAX).cast_signed() - JUMP_MAX.cast_signed();
                preload.set(shift + jump, &[])
            });
            stop.store(true, Ordering::Relaxed);
            stop_load.store(true, Ordering::Relaxed);
            jumps.map(|()| count)
        })?;
        self.jumps += jumped;
        self.preload.set(shift, &[])?;
        let mut faults = self.test.checkers.take_faults();
        faults.append(&mut self.actions.faults);
        fail_with_log(&faults, server)
    }

    /// Collects garbage while the clock is days ahead, then restarts with the true time.
    fn collect_ahead(&mut self) -> anyhow::Result<()> {
        let (server, admin) = self.start_and_compare(0)?;
        for shift in [3 * DAY, 0, 4 * DAY] {
            let mut client = self.jump(&server, shift)?;
            for range in admin::ranges(admin)?.ranges {
                for action in ["flush", "collect"] {
                    // The result is ignored: a range that is being replaced refuses the action.
                    admin::act(admin, range.id, action, "")?;
                }
            }
            self.test.checkers.compare(&mut client)?;
        }
        drop(server);
        let (server, _) = self.start_and_compare(0)?;
        drop(server);
        Ok(())
    }
}
