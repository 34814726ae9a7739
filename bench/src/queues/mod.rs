//! Compares the speed of queues: `cargo xtask bench --queues`.
//!
//! Each connection is a thread with a blocking client, because most workloads need the answer for their next request: a
//! message is deleted with the receipt of its get. So the driver costs more than that of the other workloads, and the
//! rate of durable table inserts is measured with the same driver for comparison.

mod figures;
mod workload;

pub use figures::QueueFigures;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_load::LatencyHistogram;

use self::workload::{QueueWorkload, Queues, Turn, Worker};
use crate::client::Client;
use crate::options::{Options, TargetKind};
use crate::process::cpu_s;
use crate::target::Target;
use crate::{Account, create_table, park_for};

/// The workloads in the order in which they are measured. The first is for comparison.
const WORKLOADS: [QueueWorkload; 8] = [
    QueueWorkload::TableInsert,
    QueueWorkload::Put,
    QueueWorkload::Peek,
    QueueWorkload::Pairs,
    QueueWorkload::PairsMany,
    QueueWorkload::Mixed,
    QueueWorkload::MixedMany,
    QueueWorkload::Mixed32,
];

/// Messages that are put before receives are measured, for each second of the measurement: more than all connections
/// receive, and for each connection more than it alone receives.
const PREPARED_PER_SECOND: u64 = 26_000;
const PREPARED_PER_SECOND_OF_ONE: u64 = 4_000;

/// Runs the comparison. `say` receives a line for each measurement.
///
/// # Errors
/// When a server cannot be started, prepared or driven.
pub fn run(options: &Options, mut say: impl FnMut(&str)) -> anyhow::Result<Vec<QueueFigures>> {
    let mut all = Vec::new();
    for kind in options.targets() {
        if !kind.stores() {
            continue;
        }
        let mut target = match Target::start(kind, options) {
            Ok(target) => target,
            Err(reason) if kind == TargetKind::Azurite => {
                say(&format!("azurite is left out: {reason:#}"));
                continue;
            }
            Err(error) => return Err(error),
        };
        let comparison = Comparison {
            options,
            account: Account::well_known(),
        };
        for workload in WORKLOADS {
            for &connections in options.connections() {
                let one = comparison.measure(&target, workload, connections)?;
                say(&one.line());
                all.push(one);
            }
        }
        if let Some(messages) = options.queue_messages.filter(|_| kind.is_partita()) {
            comparison.pass_through(&target, messages, &mut say)?;
            comparison.wait_and_restart(&mut target, messages, &mut say)?;
        }
    }
    Ok(all)
}

struct Comparison<'o> {
    options: &'o Options,
    account: Account,
}

impl Comparison<'_> {
    fn measure(
        &self,
        target: &Target,
        kind: QueueWorkload,
        connections: usize,
    ) -> anyhow::Result<QueueFigures> {
        let measured = self.options.measured();
        let prepared = match kind {
            QueueWorkload::Peek => 32,
            QueueWorkload::Pairs | QueueWorkload::PairsMany => {
                let share = PREPARED_PER_SECOND / connections as u64;
                share.min(PREPARED_PER_SECOND_OF_ONE) * measured.as_secs().max(1)
            }
            _ => 0,
        };
        let driven = self.drive(target, kind, connections, prepared, Until::Time(measured));
        let load = driven.with_context(|| format!("{kind:?} on {}", target.kind.name()))?;
        let rss_mib = target.process.rss_mib()?;
        Ok(QueueFigures::new(
            target.kind,
            kind,
            connections,
            &load,
            rss_mib,
        ))
    }

    /// Puts a load on fresh queues.
    fn drive(
        &self,
        target: &Target,
        kind: QueueWorkload,
        connections: usize,
        prepared: u64,
        until: Until,
    ) -> anyhow::Result<QueueLoad> {
        let queues = Queues::create(target, &self.account, kind, connections)?;
        let workers = (0..connections).map(|index| queues.worker(index, kind));
        let workers = workers.collect::<anyhow::Result<Vec<_>>>()?;
        let (stop, left) = (AtomicBool::new(false), until.messages());
        std::thread::scope(|scope| {
            let fill: Vec<_> = workers
                .into_iter()
                .map(|mut worker| scope.spawn(move || worker.fill(prepared).map(|()| worker)))
                .collect();
            let filled = fill.into_iter().map(|thread| {
                let ended = thread.join();
                ended.map_err(|_| anyhow::anyhow!("a driver thread panicked"))?
            });
            let workers = filled.collect::<anyhow::Result<Vec<_>>>()?;
            let before = (target.process.cpu_s()?, cpu_s("self")?, Instant::now());
            let (stop, left) = (&stop, &left);
            let threads: Vec<_> = workers
                .into_iter()
                .map(|worker| scope.spawn(move || turns(worker, stop, left)))
                .collect();
            if let Until::Time(time) = until {
                park_for(time);
                stop.store(true, Ordering::Relaxed);
            }
            let mut load = QueueLoad::default();
            for thread in threads {
                let ended = thread.join();
                let (turns, latency) =
                    ended.map_err(|_| anyhow::anyhow!("a driver thread panicked"))??;
                load.turns += turns;
                load.latency.merge(&latency);
            }
            load.elapsed_s = before.2.elapsed().as_secs_f64();
            load.driver_cpu_s = cpu_s("self")? - before.1;
            load.server_cpu_s = target.process.cpu_s()? - before.0;
            Ok(load)
        })
    }

    /// Passes messages through one queue, and prints the rate of each tenth.
    fn pass_through(
        &self,
        target: &Target,
        messages: u64,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<()> {
        const PARTS: u64 = 10;
        for part in 1..=PARTS {
            let until = Until::Messages(messages / PARTS);
            let load = self.drive(target, QueueWorkload::Pass, 64, 0, until)?;
            say(&format!(
                "{}: {} messages passed through one queue, the last tenth at {:.0} a second, p99 of a request {:.1} ms",
                target.kind.name(),
                partita_load::thousands((messages / PARTS * part) as f64),
                load.turns as f64 / load.elapsed_s,
                load.latency.quantile_ms(0.99)
            ));
        }
        Ok(())
    }

    /// Fills a queue, restarts the server, and receives.
    fn wait_and_restart(
        &self,
        target: &mut Target,
        messages: u64,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<()> {
        let waiting = messages / 5;
        let until = Until::Messages(waiting);
        self.drive(target, QueueWorkload::Fill, 64, 0, until)?;
        let rss_before = target.process.rss_mib()?;
        target.restart(self.options)?;
        let ready = target.process.ready_after();
        let addr = target.process.queue_addr()?;
        let mut client = Client::connect_to_queues(addr, self.account.clone())?;
        let asked = Instant::now();
        let got = workload::get(&mut client, &Queues::path(QueueWorkload::Fill, 0), 32)?;
        ensure!(got.len() == 32, "{} of 32 messages", got.len());
        say(&format!(
            "{}: {} messages wait; {rss_before:.0} MiB, after a restart {:.0}; ready after {} ms, first get of 32 after {:.1} ms",
            target.kind.name(),
            partita_load::thousands(waiting as f64),
            target.process.rss_mib()?,
            ready.as_millis(),
            asked.elapsed().as_secs_f64() * 1e3
        ));
        Ok(())
    }
}

/// What a load did.
#[derive(Debug, Default)]
struct QueueLoad {
    /// Complete turns.
    turns: u64,
    /// Of single requests.
    latency: LatencyHistogram,
    elapsed_s: f64,
    driver_cpu_s: f64,
    server_cpu_s: f64,
}

/// When a load ends.
#[derive(Clone, Copy)]
enum Until {
    Time(Duration),
    Messages(u64),
}

impl Until {
    /// The number of turns that are left.
    fn messages(self) -> AtomicU64 {
        AtomicU64::new(match self {
            Self::Time(_) => u64::MAX,
            Self::Messages(count) => count,
        })
    }
}

/// Takes turns until the load ends. Returns their number and the latencies of their requests.
fn turns(
    mut worker: Worker,
    stop: &AtomicBool,
    left: &AtomicU64,
) -> anyhow::Result<(u64, LatencyHistogram)> {
    let (mut turns, mut latency) = (0, LatencyHistogram::default());
    let take = |left: u64| left.checked_sub(1);
    while !stop.load(Ordering::Relaxed) {
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if taken.is_err() {
            break;
        }
        match worker.turn(&mut latency)? {
            Turn::Done(count) => turns += count,
            Turn::NothingThere => {
                left.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    Ok((turns, latency))
}

/// Creates the table of the comparison.
fn create_insert_table(target: &Target, account: &Account) -> anyhow::Result<()> {
    let mut client = Client::connect(target.process.addr(), account.clone())?;
    create_table(&mut client, QueueWorkload::TableInsert.container())
}
