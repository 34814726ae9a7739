//! Three servers and etcd as real processes, over a folder: faults by seed strike them and their links, while clients of all
//! servers record what they asked and were answered.
//!
//! Checked at the end of each round:
//! - the history of each entity is linearizable ([`history`]); a request without an answer may happen at any later time;
//! - so is that of each group of entities that batches change, and no batch is executed in part;
//! - a scan over the failures is in order, and has every row that nothing changes;
//! - the queue, as in [`crate::checkers::queue`];
//! - every server answers again when the fault is over, and none panicked.
//!
//! The seed determines the faults and the requests, but not their timing.

mod faults;
mod history;
mod load;
mod programs;
mod proxy;
mod report;
mod servers;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::{Client, Request};
use partita_bench::{Account, create_table, park_for};
use partita_load::Random;

use self::faults::Fault;
use self::load::{Answer, Connection, Load, Probe, STABLE_ROWS, TABLE, json, stable_partition};
use self::report::Report;
use self::servers::Cluster;
use crate::checkers::fail_on;
use crate::checkers::queue::QueueCheckers;
use crate::setup::SeededTest;

/// The load before a fault and after it.
const CALM: Duration = Duration::from_secs(1);

/// How long a server may take to answer after the end of a fault.
const RECOVERY: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of rounds, each with one fault
    #[arg(long, default_value_t = 20)]
    rounds: u64,
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
        let cluster = Cluster::start(&program, folder)?;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let programs = cluster.programs();
            let stop = &stop;
            let supervisor = scope.spawn(move || programs::supervise(&programs, stop));
            let mut test = Test::new(&cluster, folder, random);
            let outcome = test.rounds(arguments.rounds, deadline);
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
    report: Report,
}

impl<'a> Test<'a> {
    fn new(cluster: &'a Cluster, folder: &'a Path, mut random: Random) -> Self {
        let account = Account::well_known();
        let servers = cluster.servers.iter();
        Self {
            cluster,
            folder,
            messages: QueueCheckers::new(&account, &mut random),
            account,
            tables: servers.clone().map(|server| server.table).collect(),
            queues: servers.map(|server| server.queue).collect(),
            random,
            report: Report::default(),
        }
    }

    fn rounds(&mut self, rounds: u64, deadline: Duration) -> anyhow::Result<()> {
        self.prepare()?;
        let began = Instant::now();
        for round in 0..rounds {
            if began.elapsed() > deadline {
                break;
            }
            self.round(round)
                .with_context(|| format!("round {round}"))?;
        }
        park_for(CALM);
        self.messages.drain(self.queues[0])?;
        self.report.messages = self.messages.acknowledged();
        self.report.ended = self
            .cluster
            .servers
            .iter()
            .map(|server| server.program.ended())
            .sum();
        self.report.print();
        Ok(())
    }

    /// Writes the rows that nothing changes, and creates the queue.
    fn prepare(&mut self) -> anyhow::Result<()> {
        let mut client = Client::connect(self.tables[0], self.account.clone())?;
        create_table(&mut client, TABLE.trim_start_matches('/'))?;
        let random = Random::new(self.random.next_u64());
        let mut connection = Connection::new(&self.tables, &self.account, random);
        for number in 0..STABLE_ROWS {
            let body = json(&stable_partition(number), "r", number);
            let answer = connection.send(&Request {
                content_type: "application/json",
                body: body.as_bytes(),
                ..Request::new("POST", TABLE)
            });
            let Answer::Got(answer) = answer else {
                anyhow::bail!("a row was not written: {answer:?}");
            };
            answer.expect(201)?;
        }
        self.messages.compare(self.queues[0])
    }

    /// One fault under load, and the checks after it.
    fn round(&mut self, round: u64) -> anyhow::Result<()> {
        let load = Load::new(&self.account, &self.tables, round);
        let fronts = self.tables.iter().enumerate();
        let probes: Vec<Probe> = fronts
            .map(|(number, front)| Probe::new(*front, number))
            .collect();
        let fault = Fault::random(&mut self.random, self.cluster.serving());
        let serves = self.cluster.servers[fault.victim].serves();
        std::thread::scope(|scope| {
            load.start(scope, &mut self.random);
            self.messages
                .load_in_outages(scope, &self.queues, &load.stop);
            for probe in &probes {
                scope.spawn(|| probe.run(&self.account, &load.stop));
            }
            let disturbed = disturb(self.cluster, &fault, &probes);
            load.stop.store(true, Ordering::Relaxed);
            disturbed
        })
        .with_context(|| format!("{} of server {}", fault.kind, fault.victim + 1))?;
        let pause = |strikes: bool| {
            let of_all = probes.iter().enumerate();
            let of_some = of_all.filter(|(server, _)| fault.strikes(*server) == strikes);
            of_some
                .map(|(_, probe)| probe.longest())
                .max()
                .unwrap_or_default()
        };
        let (others, victim) = (pause(false), pause(true));
        let (checked, mut faults) = load.check(&mut self.random)?;
        faults.extend(self.messages.take_faults());
        for program in self.cluster.programs() {
            faults.extend(program.panics()?);
        }
        self.report
            .add(round, &fault, serves, others, victim, &checked);
        if !faults.is_empty() {
            let file = self.folder.join("faults.txt");
            std::fs::write(&file, faults.join("\n\n"))?;
        }
        fail_on(&faults)?;
        self.messages.compare(self.queues[0])
    }
}

/// Causes a fault under load, and waits until every server answers again.
fn disturb(cluster: &Cluster, fault: &Fault, probes: &[Probe]) -> anyhow::Result<()> {
    await_answers(probes, Instant::now())?;
    park_for(CALM);
    for probe in probes {
        probe.reset();
    }
    fault.run(cluster)?;
    await_answers(probes, Instant::now())?;
    park_for(CALM);
    Ok(())
}

fn await_answers(probes: &[Probe], since: Instant) -> anyhow::Result<()> {
    while !probes.iter().all(|probe| probe.has_answered_since(since)) {
        ensure!(
            since.elapsed() < RECOVERY,
            "a server does not answer after {RECOVERY:?}"
        );
        park_for(Duration::from_millis(10));
    }
    Ok(())
}
