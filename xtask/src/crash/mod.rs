//! `cargo xtask crash`: kills the server at random moments and compares what it kept with what it promised.
//!
//! One data directory lives through all rounds. In each round:
//! 1. the server starts (in some rounds it is first killed while starting) and must be ready within a second;
//! 2. everything is read back and compared with what the clients know;
//! 3. six writers and a reader load it over connections of their own, until it is killed (`SIGKILL`) a random time
//!    later.
//!
//! What must hold:
//! - every acknowledged write is there, with the tag that was answered;
//! - a request under way at the kill happened wholly or not at all, also a batch;
//! - no value is there that nobody wrote, or that is cut short;
//! - a 409, a 412 or a row shown to a reader rests on what is still there.
//!
//! The choice of operations follows from the seed; the moment of the kill in the server's work does not.

pub(crate) mod model;
pub(crate) mod race;
pub(crate) mod reader;
pub(crate) mod stored;
mod sustained;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use partita_bench::client::Client;
use partita_bench::rng::Rng;
use partita_bench::{Account, ServerProcess, create_table, partita_command};

use self::model::Key;
use self::race::Races;
use self::reader::Reader;
use self::writer::Writer;
use crate::cargo;

/// The table everything happens in.
pub(crate) const TABLE: &str = "crash";

/// Connections that write.
pub(crate) const WRITERS: u64 = 6;

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
    /// The server, when it is not the one built from this tree
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => {
            cargo::build("partita", "partita")?;
            cargo::root().join("target/release/partita")
        }
    };
    let scratch = cargo::root().join("target/crash");
    std::fs::create_dir_all(&scratch)?;
    let directory = tempfile::Builder::new()
        .prefix("crash-")
        .tempdir_in(&scratch)?;
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
    rng: Rng,
    writers: Vec<Writer>,
    races: Races,
    reader: Reader,
    slowest_start: Duration,
}

impl Run {
    fn new(program: PathBuf, directory: PathBuf, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let writers: Vec<Writer> = (0..WRITERS)
            .map(|index| Writer::new(index, rng.next_u64()))
            .collect();
        let reader = Reader::new(writers.iter().map(|writer| &writer.ledger), rng.next_u64());
        Self {
            program,
            directory,
            account: Account::well_known(),
            rng,
            writers,
            races: Races::default(),
            reader,
            slowest_start: Duration::ZERO,
        }
    }

    fn rounds(mut self, rounds: u64) -> anyhow::Result<()> {
        let started = Instant::now();
        for round in 0..rounds {
            if self.rng.chance(20) {
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
        let acknowledged: u64 = self.writers.iter().map(|writer| writer.acknowledged).sum();
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
        std::thread::park_timeout(Duration::from_millis(self.rng.below(60)));
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
        let stored = stored::scan(&mut client)?;
        let mut faults = Vec::new();
        for writer in &mut self.writers {
            faults.extend(self.reader.settle(&writer.ledger, &stored));
            faults.extend(writer.ledger.settle(&stored));
            let keys = &writer.ledger.keys;
            let key = &keys[self.rng.below(keys.len() as u64) as usize];
            let by_get = stored::get(&mut client, key)?;
            if by_get.as_ref() != stored.get(key) {
                faults.push(format!("{key:?}: get and scan differ: {by_get:?}"));
            }
        }
        faults.extend(self.races.settle(&stored));
        fail_on(&faults)
    }

    fn load_and_kill(&mut self, server: &mut ServerProcess) -> anyhow::Result<()> {
        let addr = server.addr();
        let load = Duration::from_millis(10 + self.rng.below(LOAD_MS_MAX));
        let (account, races, reader) = (&self.account, &self.races, &mut self.reader);
        std::thread::scope(|scope| {
            for writer in &mut self.writers {
                scope.spawn(move || writer.run(addr, account, races));
            }
            scope.spawn(move || reader.run(addr, account));
            std::thread::park_timeout(load);
            server.kill()
        })?;
        let mut faults: Vec<String> = self.reader.faults.drain(..).collect();
        for writer in &mut self.writers {
            faults.append(&mut writer.faults);
        }
        fail_on(&faults)
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

pub(crate) fn fail_on(faults: &[String]) -> anyhow::Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    for fault in faults.iter().take(20) {
        eprintln!("crash: {fault}");
    }
    bail!("{} faults", faults.len());
}

/// The JSON of an entity with one property.
pub(crate) fn entity_json(key: &Key, property: &str, value: &str) -> String {
    format!(
        r#"{{"PartitionKey":"{}","RowKey":"{}","{property}":"{value}"}}"#,
        key.partition, key.row
    )
}
