//! Three servers and etcd as real processes, over a folder: faults by seed strike them and their links, while clients of all
//! servers record what they asked and were answered.
//!
//! Meanwhile ranges are split, merged, moved, flushed and compacted, snapshots are created, and programs use the official
//! clients over all rounds. Checked at the end of each round:
//! - the history of each entity is linearizable ([`partita_load::history`]); a request without an answer may happen at any later time;
//! - so is that of each group of entities that batches change, and no batch is executed in part;
//! - a scan over the failures is in order, and has every row that nothing changes;
//! - the queue, as in [`crate::checkers::queue`];
//! - a snapshot has the rows of one instant;
//! - no error reached the programs, and they read what they had written;
//! - every server answers again when the fault is over, and none panicked; Timestamps increased.
//!
//! At the end, a backup of a snapshot that was taken while a server was dead is restored into a new store, and compared.
//!
//! The seed determines the faults and the requests, but not their timing.

mod changes;
mod faults;
mod load;
mod members;
mod proxy;
mod report;
mod servers;
mod snapshots;
mod users;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::Request;
use partita_bench::cluster::{self, Connection, Probe};
use partita_bench::{Account, park_for};
use partita_load::Random;
use partita_load::history::stable_partition;

use self::changes::Snapshot;
use self::faults::{Deck, Fault};
use self::load::{Load, STABLE_ROWS, TABLE, json};
use self::report::{Report, Tried};
use self::servers::Cluster;
use self::snapshots::Copies;
use self::users::{Complaint, Users};
use crate::checkers::fail_on;
use crate::checkers::queue::QueueCheckers;
use crate::setup::SeededTest;

/// The load before a fault and after it.
const CALM: Duration = Duration::from_secs(1);

/// The pause of a probe between two writes, and so the resolution of what it measures.
const PROBE_PAUSE: Duration = Duration::from_millis(10);

/// The percentage of rounds with two faults.
const SECOND_FAULT: u64 = 25;

/// How long a server may take to answer after the end of a fault.
const RECOVERY: Duration = Duration::from_secs(30);

/// The retries of the official clients cover about twelve seconds without an answer (`docs/cluster.md`). An error may reach
/// a program that got no answer for longer than this.
const COVERED: Duration = Duration::from_secs(10);

/// An error may reach a program so long after it.
const LAST_RETRY: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of rounds, each with one fault
    #[arg(long, default_value_t = 20)]
    rounds: u64,
    /// Only faults whose names, as the test prints them, contain one of these texts
    #[arg(long, value_name = "TEXT,…", value_delimiter = ',', default_value = "")]
    fault: Vec<String>,
    /// A Ceph as the store instead of a folder; `bench/ceph/setup` fetches it
    #[arg(long)]
    ceph: bool,
    /// End after this time, whatever the number of rounds
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    #[command(flatten)]
    test: SeededTest,
}

/// Runs the test.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.test.server.path()?;
    let minutes = arguments.minutes.unwrap_or(u64::MAX);
    let deadline = Duration::from_secs(minutes.saturating_mul(60));
    eprintln!("cluster: --seed {}", arguments.test.seed());
    arguments.test.in_scratch("cluster", |folder, random| {
        let servers = Cluster::start(&program, folder, arguments.ceph)?;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let programs = servers.programs();
            let stop = &stop;
            let supervisor = scope.spawn(move || cluster::supervise(&programs, stop));
            let mut test = Test::new(&servers, &program, folder, random);
            let outcome = Deck::new(&arguments.fault, arguments.ceph)
                .and_then(|deck| test.rounds(deck, arguments.rounds, deadline));
            stop.store(true, Ordering::Relaxed);
            let supervised = supervisor.join();
            outcome?;
            supervised.map_err(|_| anyhow::anyhow!("the supervisor panicked"))?
        })
    })
}

/// The state of all rounds.
struct Test<'a> {
    cluster: &'a Cluster,
    folder: &'a Path,
    account: Account,
    tables: Vec<SocketAddr>,
    queues: Vec<SocketAddr>,
    random: Random,
    messages: QueueCheckers,
    copies: Copies<'a>,
    report: Report,
    /// When some client last got no answer for longer than retries cover.
    uncovered: Option<Instant>,
}

impl<'a> Test<'a> {
    fn new(cluster: &'a Cluster, program: &Path, folder: &'a Path, mut random: Random) -> Self {
        let account = Account::well_known();
        let servers = cluster.servers.iter();
        Self {
            cluster,
            folder,
            messages: QueueCheckers::new(&account, &mut random),
            account,
            tables: servers.clone().map(|server| server.own.table).collect(),
            queues: servers.map(|server| server.own.queue).collect(),
            random,
            copies: Copies::new(program, cluster),
            report: Report::default(),
            uncovered: None,
        }
    }

    fn rounds(&mut self, mut deck: Deck, rounds: u64, deadline: Duration) -> anyhow::Result<()> {
        self.prepare()?;
        let mut users = Users::start(self.cluster, self.folder)?;
        let began = Instant::now();
        for round in 0..rounds {
            if began.elapsed() > deadline {
                break;
            }
            self.round(round, &mut deck, &mut users)
                .with_context(|| format!("round {round}"))?;
        }
        park_for(CALM);
        let (complaints, counts) = users.finish()?;
        fail_on(&self.without_excused(complaints))?;
        self.report.users = counts;
        self.back_up().context("backing up")?;
        self.messages.drain(self.queues[0])?;
        self.report.messages = self.messages.acknowledged();
        self.report.ended = self
            .cluster
            .servers
            .iter()
            .map(|server| server.own.program.ended())
            .sum();
        self.report.print();
        Ok(())
    }

    /// Creates the table and the queue, and writes the rows that nothing changes. A cluster that has just started may
    /// refuse requests.
    fn prepare(&mut self) -> anyhow::Result<()> {
        let random = Random::new(self.random.next_u64());
        let mut connection = Connection::new(&self.tables, &self.account, random);
        let table = format!(r#"{{"TableName":"{}"}}"#, TABLE.trim_start_matches('/'));
        insert(&mut connection, "/Tables", &table)?;
        for number in 0..STABLE_ROWS {
            let row = json(&stable_partition(number), "r", number);
            insert(&mut connection, TABLE, &row)?;
        }
        self.messages.compare(self.queues[0])
    }

    /// One fault under load, and the checks after it.
    fn round(&mut self, round: u64, deck: &mut Deck, users: &mut Users) -> anyhow::Result<()> {
        let load = Load::new(&self.account, &self.tables, round);
        let (tried, snapshots, mut faults) = self.attack(&load, deck)?;
        let only_delays = tried.fault.only_delays() && tried.second.is_none();
        if tried.others.max(tried.struck) > COVERED && !only_delays {
            self.uncovered = Some(Instant::now());
        }
        let mut connection = load.connect(&mut self.random);
        let restored = self.copies.check(&snapshots, &load, &mut connection);
        faults.extend(restored.err().map(|fault| format!("{fault:#}")));
        let (checked, wrong) = load.check(&mut self.random)?;
        faults.extend(wrong);
        faults.extend(self.messages.take_faults());
        faults.extend(self.without_excused(users.take_complaints()?));
        for program in self.cluster.programs() {
            faults.extend(program.panics()?);
        }
        self.report.snapshots += snapshots.len();
        self.report.add(round, &tried, &checked);
        if !faults.is_empty() {
            let file = self.folder.join("faults.txt");
            std::fs::write(&file, faults.join("\n\n"))?;
        }
        fail_on(&faults)?;
        self.messages.compare(self.queues[0])
    }

    /// What counts of the things that reached the programs: not an error after all servers, or that of the program, were
    /// silent for longer than its retries cover.
    fn without_excused(&mut self, complaints: Vec<Complaint>) -> Vec<String> {
        let since = self.uncovered.map(|uncovered| uncovered.elapsed());
        let is_excused = since.is_some_and(|since| since < LAST_RETRY);
        let mut counted = Vec::new();
        for complaint in complaints {
            match complaint {
                Complaint::Failed(text) if is_excused => {
                    eprintln!("excused: {text}");
                    self.report.excused += 1;
                }
                Complaint::Failed(text) | Complaint::Wrong(text) => counted.push(text),
            }
        }
        counted
    }

    /// Backs up what a snapshot has that is taken while a server is dead.
    fn back_up(&mut self) -> anyhow::Result<()> {
        let random = Random::new(self.random.next_u64());
        let mut connection = Connection::new(&self.tables, &self.account, random);
        let victim = self.cluster.serving().unwrap_or_default();
        self.report.backup_rows =
            self.copies
                .back_up(victim, self.folder, &self.account, &mut connection)?;
        Ok(())
    }

    /// Runs the load during a fault, sometimes during two. Returns also the snapshots, and what the probes found.
    fn attack(
        &mut self,
        load: &Load,
        deck: &mut Deck,
    ) -> anyhow::Result<(Tried, Vec<Snapshot>, Vec<String>)> {
        let cluster = self.cluster;
        let fronts = self.tables.iter().enumerate();
        let probes: Vec<Probe> = fronts
            .map(|(number, front)| probe(*front, number))
            .collect();
        let fault = Fault::random(&mut self.random, deck, cluster);
        let adds = self.random.chance(SECOND_FAULT);
        let second = adds.then(|| fault.second(&mut self.random));
        let serves = cluster.servers[fault.victim].own.serves();
        let mut of_changes = Random::new(self.random.next_u64());
        let changes = std::thread::scope(|scope| {
            load.start(scope, &mut self.random);
            self.messages
                .load_in_outages(scope, &self.queues, &load.stop);
            for probe in &probes {
                scope.spawn(|| probe.run(&self.account, &load.stop));
            }
            let admins: Vec<SocketAddr> = cluster
                .servers
                .iter()
                .map(|server| server.own.admin)
                .collect();
            let prefix = load.prefix();
            let changing =
                scope.spawn(move || changes::run(&admins, &prefix, &mut of_changes, &load.stop));
            let disturbed = disturb(cluster, &fault, second.as_ref(), &probes);
            load.stop.store(true, Ordering::Relaxed);
            disturbed?;
            let changes = changing.join();
            changes.map_err(|_| anyhow::anyhow!("the thread that changes ranges panicked"))
        })
        .with_context(|| format!("{fault}, {second:?}"))?;
        let is_struck = |server: usize| {
            fault.strikes(server) || second.is_some_and(|second| second.strikes(server))
        };
        let longest = |struck: bool| {
            let probes = probes.iter().enumerate();
            let those = probes.filter(|(server, _)| is_struck(*server) == struck);
            those.map(|(_, probe)| probe.longest()).max()
        };
        let tried = Tried {
            fault,
            second,
            serves,
            others: longest(false).unwrap_or_default(),
            struck: longest(true).unwrap_or_default(),
            changes: changes.of_ranges,
        };
        let went_back = probes.iter().filter_map(Probe::went_back).collect();
        Ok((tried, changes.snapshots, went_back))
    }
}

/// A client of a server, which writes its own row.
fn probe(front: SocketAddr, number: usize) -> Probe {
    let row = format!("probe{number}");
    let path = format!("{TABLE}(PartitionKey='{row}',RowKey='r')");
    Probe::new(front, path, json(&row, "r", 0), PROBE_PAUSE)
}

/// Inserts a table or an entity. After an unknown outcome, it may exist.
fn insert(connection: &mut Connection, path: &str, body: &str) -> anyhow::Result<()> {
    let began = Instant::now();
    let request = Request {
        content_type: "application/json",
        body: body.as_bytes(),
        ..Request::new("POST", path)
    };
    let gives_up = || began.elapsed() > RECOVERY;
    let (_, answer) = connection
        .send_until_answered(&request, gives_up)
        .context("the cluster does not answer")?;
    ensure!(matches!(answer.status, 201 | 409), "{}", answer.text());
    Ok(())
}

/// Causes faults under load, and waits until every server answers again.
fn disturb(
    cluster: &Cluster,
    fault: &Fault,
    second: Option<&Fault>,
    probes: &[Probe],
) -> anyhow::Result<()> {
    await_answers(probes, Instant::now())?;
    park_for(CALM);
    for probe in probes {
        probe.reset();
    }
    std::thread::scope(|scope| {
        let also = second.map(|second| {
            scope.spawn(move || {
                park_for(second.lasts);
                second.run(cluster)
            })
        });
        fault.run(cluster)?;
        let also = also.map_or(Ok(Ok(())), std::thread::ScopedJoinHandle::join);
        also.map_err(|_| anyhow::anyhow!("the thread of the second fault panicked"))?
    })?;
    await_answers(probes, Instant::now())?;
    park_for(CALM);
    Ok(())
}

fn await_answers(probes: &[Probe], since: Instant) -> anyhow::Result<()> {
    while !probes.iter().all(|probe| probe.has_answered_since(since)) {
        ensure!(
            since.elapsed() < RECOVERY,
            "server {} does not answer after {RECOVERY:?}",
            1 + probes
                .iter()
                .take_while(|probe| probe.has_answered_since(since))
                .count()
        );
        park_for(Duration::from_millis(10));
    }
    Ok(())
}
