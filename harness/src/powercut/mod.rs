//! `cargo harness powercut`: simulated power cuts of the real server.
//!
//! The library of `harness/preload` records each change and each sync of the server's files. When the server is killed, the
//! test rebuilds its data directory as a disk could have left it: [`disk`] drops or tears what was not synced, by a random
//! [`Style`]. All rounds use the same data directory. In each round:
//!
//! 1. in some rounds the server first starts and loses power while starting;
//! 2. the server starts, everything is read back and compared with the clients' models, as in `cargo harness crash`;
//! 3. six writers and a reader load the server, and the nemesis of `cargo harness pressure` splits, merges and flushes,
//!    until the power is cut.
//!
//! At the end the server is stopped, not killed. Then the files must be those that the journal describes, byte for
//! byte. Otherwise the library missed a change, and the simulated cuts are not valid.
//!
//! The seed determines operations and cuts, but not what the server is doing at a cut.

mod content;
mod disk;
mod journal;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, ensure};
use partita_bench::{ServerProcess, open_admin_port, park_for, partita_command};
use partita_load::Random;

use self::disk::Disk;
pub(crate) use self::disk::Style;
use crate::checkers::fail_with_log;
use crate::kill_test::KillTest;
use crate::preload::Preload;
use crate::pressure::nemesis::{self, NemesisActions};
use crate::setup::{self, SeededTest};

/// How long unused files are kept: short, so that files are deleted during the test.
const GARBAGE_AGE: &str = "4s";

/// Longest load of one round, milliseconds.
const LOAD_MS_MAX: u64 = 1_200;

/// Longest time from a start to a power cut while starting, milliseconds.
const STARTING_MS_MAX: u64 = 120;

/// Cut the simulated power of the server's disk and compare the stored rows with the acknowledged ones
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of power cuts under load
    #[arg(long, default_value_t = 25)]
    rounds: u64,
    #[command(flatten)]
    test: SeededTest,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    KillTest::run(&arguments.test, "powercut", |test| {
        let disk = CutDisk::new(&test)?;
        let run = Run {
            test,
            disk,
            actions: NemesisActions::default(),
        };
        run.rounds(arguments.rounds)
    })
}

/// The state that outlives the power cuts.
struct Run {
    test: KillTest,
    disk: CutDisk,
    actions: NemesisActions,
}

impl Run {
    fn rounds(mut self, rounds: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        for round in 0..rounds {
            if self.test.random.chance(25) {
                self.cut_while_starting()
                    .with_context(|| format!("starting before round {round}"))?;
            }
            let (mut server, admin) = self.start_and_compare()?;
            self.load(&mut server, admin, true)
                .with_context(|| format!("in round {round}"))?;
            self.disk.cut(&mut self.test.random, None)?;
        }
        let (mut server, admin) = self.start_and_compare()?;
        self.load(&mut server, admin, false)?;
        self.disk.explain_every_byte()?;
        self.disk.cut(&mut self.test.random, Some(Style::Nothing))?;
        let (server, _) = self.start_and_compare()?;
        drop(server);
        println!(
            "powercut: {}; {} acknowledged writes, nothing lost; {}; slowest start {} ms, {:.1} s in all",
            self.disk.summary(),
            self.test.checkers.acknowledged(),
            self.actions.changes,
            self.test.slowest_start().as_millis(),
            began.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Starts the server and cuts the power, usually before it is ready.
    fn cut_while_starting(&mut self) -> anyhow::Result<()> {
        let mut command = partita_command(&self.test.program, &self.disk.data());
        self.disk.load_into(&mut command)?;
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let time = self.test.load_time(0, STARTING_MS_MAX);
        park_for(time);
        child.kill()?;
        child.wait()?;
        self.disk.cut(&mut self.test.random, None)
    }

    /// Starts the server, reads everything back and compares.
    fn start_and_compare(&mut self) -> anyhow::Result<(ServerProcess, SocketAddr)> {
        let start = || {
            let mut command = partita_command(&self.test.program, &self.disk.data());
            let admin = open_admin_port(&mut command)?;
            command.args(["--garbage-age", GARBAGE_AGE]);
            self.disk.load_into(&mut command)?;
            Ok::<_, anyhow::Error>((setup::start_command(command)?, admin))
        };
        let (server, admin) = start().with_context(|| self.disk.last_cut())?;
        let server = self.test.started(server);
        let mut client = self.test.connect(&server)?;
        let compared = self.test.checkers.compare(&mut client);
        compared
            .with_context(|| format!("comparing, {}", self.disk.last_cut()))
            .with_context(|| format!("the server's log:\n{}", server.log()))?;
        Ok((server, admin))
    }

    /// Loads the server for a while, and kills it or asks it to stop.
    fn load(
        &mut self,
        server: &mut ServerProcess,
        admin: SocketAddr,
        kills: bool,
    ) -> anyhow::Result<()> {
        let addr = server.addr();
        let load = self.test.load_time(20, LOAD_MS_MAX);
        let mut of_nemesis = Random::new(self.test.random.next_u64());
        let (checkers, actions) = (&mut self.test.checkers, &mut self.actions);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stop_load = checkers.load(scope, addr, None);
            scope.spawn(|| nemesis::run(admin, &mut of_nemesis, &stop, actions));
            park_for(load);
            stop.store(true, Ordering::Relaxed);
            if kills {
                return server.kill();
            }
            stop_load.store(true, Ordering::Relaxed);
            Ok(())
        })?;
        if !kills {
            server.terminate()?;
        }
        let mut faults = self.test.checkers.take_faults();
        faults.append(&mut self.actions.faults);
        fail_with_log(&faults, server)
    }
}

/// The server's data directory on a simulated disk.
pub(crate) struct CutDisk {
    pub(crate) preload: Preload,
    disk: Disk,
    cuts: BTreeMap<Style, u64>,
    last: Option<Style>,
    /// Changes of names, and of data, that were not synced at a cut.
    names: usize,
    writes: usize,
}

impl CutDisk {
    pub(crate) fn new(test: &KillTest) -> anyhow::Result<Self> {
        let preload = Preload::new(&test.directory, &test.directory.join("disk"))?;
        Ok(Self {
            disk: Disk::new(preload.root())?,
            preload,
            cuts: BTreeMap::new(),
            last: None,
            names: 0,
            writes: 0,
        })
    }

    /// The server's data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.preload.root().join("data")
    }

    /// Makes a server use this disk.
    pub(crate) fn load_into(&self, command: &mut Command) -> anyhow::Result<()> {
        self.preload.load_into(command)
    }

    /// Applies the journal of the last server to the disk.
    pub(crate) fn read_journal(&mut self) -> anyhow::Result<()> {
        for record in journal::read(&self.preload.journal()?)? {
            self.disk.apply(record)?;
        }
        Ok(())
    }

    /// Rebuilds the data directory as a power cut could have left it, after the server was killed. The style is random
    /// unless it is given.
    pub(crate) fn cut(&mut self, random: &mut Random, style: Option<Style>) -> anyhow::Result<()> {
        let style = style.unwrap_or_else(|| match random.below(100) {
            0..25 => Style::Nothing,
            25..30 => Style::Everything,
            30..50 => Style::Moment,
            50..70 => Style::Ordered,
            _ => Style::Mixed,
        });
        self.read_journal()?;
        let (names, writes) = self.disk.pending();
        self.names += names;
        self.writes += writes;
        self.disk = self.disk.cut(style, random);
        std::fs::remove_dir_all(self.preload.root())?;
        std::fs::create_dir(self.preload.root())?;
        self.disk.store()?;
        *self.cuts.entry(style).or_default() += 1;
        self.last = Some(style);
        Ok(())
    }

    /// Checks that the journal describes every byte of the files, after the server has stopped without a kill.
    fn explain_every_byte(&mut self) -> anyhow::Result<()> {
        self.read_journal()?;
        std::fs::write(self.preload.root().with_file_name("journal"), "")?;
        let differences = self.disk.differences()?;
        ensure!(
            differences.is_empty(),
            "the journal does not describe all changes of the files: {}",
            differences.join("; ")
        );
        Ok(())
    }

    /// The number and the style of the last cut, for messages.
    pub(crate) fn last_cut(&self) -> String {
        let cuts: u64 = self.cuts.values().sum();
        match self.last {
            Some(style) => format!("after power cut {cuts} ({style:?})"),
            None => "before the first power cut".to_owned(),
        }
    }

    pub(crate) fn summary(&self) -> String {
        let styles = self.cuts.iter();
        let styles: Vec<_> = styles
            .map(|(style, cuts)| format!("{style:?} {cuts}"))
            .collect();
        format!(
            "{} power cuts ({}), {} names and {} writes were not synced",
            self.cuts.values().sum::<u64>(),
            styles.join(", "),
            self.names,
            self.writes
        )
    }
}
